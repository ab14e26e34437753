// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

@Suite struct RedirectURITests {
    @Test(arguments: ["com.example.app:/signed-in", "msauth.com.example.App://auth", "urn:ietf:wg:oauth:2.0:oob"])
    func givesAnAddressOfTheProgramsOwnAsItIs(_ address: String) throws {
        let uri = try RedirectURI.custom(#require(URL(string: address)))
        #expect(try uri.addressWithoutListener().absoluteString == address)
    }

    @Test func givesLoopbackAddressesAPort() throws {
        #expect(
            try RedirectURI.loopback(host: .ipv4, ports: 4001...4009, path: "/done").addressWithoutListener()
                .absoluteString == "http://127.0.0.1:4001/done"
        )
        let address = try RedirectURI.loopback.addressWithoutListener()
        #expect(address.host() == "localhost")
        #expect((49_152...65_535).contains(try #require(address.port)))
    }
}
