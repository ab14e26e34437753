// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import OAuthWire
import Testing

@Suite struct WebAddressTests {
    @Test(arguments: [
        ("https://login.example.org", "https://login.example.org"),
        ("https://login.example.org/", "https://login.example.org/"),
        (
            "HTTPS://LOGIN.Example.ORG/Path?Query=Ä".replacing("Ä", with: "%C3%84"),
            "https://login.example.org/Path?Query=%C3%84"
        ),
        ("https://h:443/p", "https://h/p"),
        ("https://h:8443?q", "https://h:8443?q"),
        ("https://h?", "https://h?"),
        ("http://localhost:80/x", "http://localhost/x"),
        ("http://localhost:443/x", "http://localhost:443/x"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/"),
        ("http://127.255.1.2/", "http://127.255.1.2/"),
        ("http://[::1]:9/", "http://[::1]:9/"),
        ("https://[2001:DB8::1]/x", "https://[2001:db8::1]/x"),
        ("https://h/a//b/?p=a&p=b?c", "https://h/a//b/?p=a&p=b?c"),
    ])
    func acceptsAndNormalises(text: String, canonical: String) throws {
        #expect(try #require(WebAddress(text)).text == canonical)
    }

    @Test(arguments: [
        "", "https", "https:", "https:/h", "https://", "https:///p", "https://?q", "//h/p", "/p", "h", "ftp://h/",
        "file:///etc",
        "http://h/", "http://example.org", "http://127.0.0.1.example.org/", "http://localhost.example.org/",
        "http://128.0.0.1/", "http://127.1/", "http://127.0.0.256/", "http://[::2]/", "http://0.0.0.0/",
        "https://user@h/", "https://user:pass@h/", "https://h@evil/", "https://h/#f", "https://h#f", "https://h\\evil/",
        "https://h\\@evil/", "https://h /", " https://h/", "https://h/ ", "https://h/\t", "https://h/\n", "https://h/ä",
        "https://ä.example/", "https://h%2eevil/", "https://h:/", "https://h:0/", "https://h:65536/", "https://h:+80/",
        "https://h:-1/", "https://h:8o/", "https://h:80:80/", "https://[::1/", "https://::1/", "https://[]/",
        "https://[g]/",
        "https://[abc]/", "https://[::1]x/", "https://h,i/", "https://h;i/", "https://.h/", "https://a..b/",
        "https://../",
        "https://" + String(repeating: "a", count: 254) + "/", "https://h/" + String(repeating: "a", count: 2048),
    ])
    func refuses(text: String) {
        #expect(WebAddress(text) == nil)
    }

    @Test(arguments: [
        ("https://h", "/"), ("https://h?q=1", "/?q=1"), ("https://h/a/?", "/a/?"), ("https://h//a", "//a"),
    ])
    func aRequestNamesPathAndQuery(text: String, target: String) throws {
        #expect(try #require(WebAddress(text)).target == target)
    }

    @Test func leavesOutEmptySegments() throws {
        #expect(try #require(WebAddress("https://h//a///b/")).segments == ["a", "b"])
        #expect(try #require(WebAddress("https://h")).segments.isEmpty)
    }

    /// Spellings of this computer's address that one resolver or another understands.
    @Test(arguments: [
        "localhost", "LOCALHOST", "localhost.", "foo.localhost", "foo.localhost.", "localhost.localdomain",
        "ip6-localhost",
        "ip6-loopback", "127.0.0.1", "127.255.255.254", "127.0.0.1.", "127.1", "127.1.", "127.0.1", "127.00.0.1",
        "127.0.0.001",
        "0177.0.0.1", "0x7f.1", "0x7F.0.0.0x1", "0x7f000001", "2130706433", "017700000001", "0", "0.0.0.0", "0.1.2.3",
        "00.0.0.0",
        "1.2.3", "1.2.3.4.5", "1.2.3.256", "a.1", "a.0x1", "[::1]", "[::]", "[0::1]", "[0:0:0:0:0:0:0:1]",
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]", "[::ffff:0:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "[2001:db8:0:0::1]",
        "[2001:0db8::1]", "[2001:db8::1.2.3.4]", "[1:2:3]",
    ])
    func mayBeThisComputer(host: String) throws {
        #expect(try #require(WebAddress("https://\(host):8443/x")).mayBeLoopback)
    }

    @Test(arguments: [
        "h", "example.org", "example.org.", "128.0.0.1", "10.0.0.1", "169.254.169.254", "1.2.3.4", "1.2.3.4.",
        "2130706433.example",
        "127.0.0.1.example.org", "1a.2b", "a.1b", "a.b1", "[2001:db8::1]", "[2001:DB8::1]", "[fd00::1]",
        "[fe80::1:0:0:1]",
    ])
    func isAnotherComputer(host: String) throws {
        #expect(try !#require(WebAddress("https://\(host):8443/x")).mayBeLoopback)
    }

    /// An accepted address is stable: its text means the same address again, without user, fragment or white space.
    @Test(arguments: [1, 2, 3] as [UInt64]) func roundTripsWhateverItAccepts(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "https://", "http://", "HTTPS://", "h", "localhost", "127.0.0.1", "[::1]", "[", "]", ":", "/", "//", "?",
            "&", "=",
            "@", "#", "%", "%2F", ".", "..", "-", "_", "443", "80", "65535", "65536", "0", "é", " ", "\\", "\u{0}", "|",
            "A",
        ]
        var accepted = 0
        for _ in 0..<4_000 {
            var text = Bool.random(using: &generator) ? "https://" : ""
            for _ in 0..<Int.random(in: 0...7, using: &generator) {
                text += pieces[Int.random(in: 0..<pieces.count, using: &generator)]
            }
            guard let address = WebAddress(text) else { continue }
            accepted += 1
            let again = try #require(WebAddress(address.text), "\(text)")
            #expect(again == address, "\(text)")
            #expect(again.text == address.text)
            #expect(address.scheme == "https" || address.isLoopback, "\(text)")
            #expect(!address.text.contains { "#@\\ ".contains($0) } || !address.origin.contains("@"), "\(text)")
            #expect(!address.host.isEmpty && address.port != 0)
        }
        #expect(accepted > 100)
    }
}
