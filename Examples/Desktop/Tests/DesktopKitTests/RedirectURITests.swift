// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient
import Testing

@Suite struct RedirectURITests {
    @Test(arguments: PageChoice.allCases)
    func readsLoopbackAddresses(page: PageChoice) throws {
        #expect(try RedirectURI.receivable("http://localhost", page: page) == .loopback(host: .localhost))
        let withPort = try RedirectURI.loopback(host: .ipv4, ports: 8400...8400, path: "/back")
        #expect(try RedirectURI.receivable("http://127.0.0.1:8400/back", page: page) == withPort)
    }

    @Test(arguments: ["com.example.app://auth", "COM.example.app:/auth", "msal7d1f0f5c://auth"])
    func readsASchemeOfTheProgramsOwn(address: String) throws {
        let url = try #require(URL(string: address))
        #expect(try RedirectURI.receivable(address, page: .browser) == .custom(url))
    }

    @Test(arguments: ["urn:ietf:wg:oauth:2.0:oob", "https://example.com/back"])
    func readsAnyButPlainHTTPForAPageInAWindow(address: String) throws {
        let url = try #require(URL(string: address))
        #expect(try RedirectURI.receivable(address, page: .embedded) == .custom(url))
    }

    @Test func readsTheAddressOfOldSettingsFilesAsLoopback() throws {
        #expect(try RedirectURI.receivable("urn:ietf:wg:oauth:2.0:oob", page: .browser) == .loopback)
        #expect(try RedirectURI.receivable("https://example.com/back", page: .browser) == nil)
    }

    @Test(arguments: [
        "back", "http://example.com/", "http://localhost:99999", "http://localhost/?a=b", "http://user@localhost",
    ])
    func readsNoAddressThatNeverComesBack(address: String) throws {
        for page in PageChoice.allCases { #expect(try RedirectURI.receivable(address, page: page) == nil) }
    }
}
