// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

/// Published holes of other helpers: each made a program read other lines, or another host, than git had written.
@Suite struct GitProtocolTests {
    private static func address(_ text: String) throws -> ServedAddress? {
        try GitCredential(parsing: Array(text.utf8)).address
    }

    /// git wrote a line end of the address as a line end of its protocol, so that a host of the attacker's choice came last.
    @Test(arguments: [
        "protocol=https\nhost=evil.test\n\nhost=git.test\n", "protocol=https\nhost=evil.test\n\n\nhost=git.test\n\n",
        "protocol=https\nhost=evil.test%0ahost=git.test\n\n", "protocol=https\nhost=evil.test%0Ahost%3Dgit.test\n\n",
        "url=https://evil.test%0ahost=git.test\n\n", "host=git.test\n\nprotocol=https\n",
    ])
    func cve_2020_5260_aLineEndMakesNoOtherHost(request: String) throws {
        #expect(try Self.address(request)?.text.hasSuffix("git.test") != true)
    }

    /// The manager took a carriage return for a line end.
    @Test(arguments: [
        "protocol=https\nhost=evil.test\rhost=git.test\n\n", "protocol=https\rhost=git.test\r\r",
        "protocol=https\nhost=git.test\r\n\r\n", "protocol=https\nhost=evil.test\npath=a\rhost=git.test\n\n",
        "protocol=https\nusername=a\rhost=git.test\nhost=evil.test\n\n",
    ])
    func cve_2024_50338_aCarriageReturnEndsNoLine(request: String) {
        #expect(throws: UsageError.self) { try Self.address(request) }
    }

    /// Git LFS passed on line ends and other controls that an address has in percent-encoding.
    @Test(arguments: [
        "evil.test%0D%0Ahost=git.test", "evil.test%0dhost=git.test", "evil.test%00git.test", "git.test%0a",
        "git.test%0D",
        "git.test%00",
    ])
    func cve_2024_53263_noEncodedControlIsDecoded(host: String) throws {
        let served = try #require(ServedAddress("https://git.test"))
        let asked = [
            try Self.address("protocol=https\nhost=\(host)\n\n"), ServedAddress("https://\(host)"),
            try Self.address("protocol=https\nhost=evil.test\npath=%0D%0Ahost=git.test\n\n"),
        ]
        #expect(asked.allSatisfy { $0.map(served.serves) != true }, "\(asked)")
    }

    /// A host is nothing but a name and a port.
    @Test(arguments: [
        "git.test/", "git.test/a", "git.test?a", "git.test#a", "a@git.test", "git.test\\a", "git.test:443/", "",
    ])
    func takesNoPartOfAnAddressForAHost(host: String) throws {
        #expect(try Self.address("protocol=https\nhost=\(host)\n\n") == nil)
    }

    @Test(arguments: [
        "host=git.test\u{0}", "host=\u{0}git.test", "pa\u{0}th=a", "\u{0}", "username=a\u{0}\rhost=git.test",
    ])
    func readsNoZeroByte(line: String) {
        #expect(throws: UsageError.self) { try Self.address("protocol=https\n\(line)\n\n") }
    }
}
