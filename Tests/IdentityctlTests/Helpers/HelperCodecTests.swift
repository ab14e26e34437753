// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

@Suite struct HelperCodecTests {
    @Test(arguments: [
        ("https://git.test", "https://git.test/a/b", true), ("https://git.test", "https://GIT.test:443", true),
        ("https://git.test/a", "https://git.test/a/b", true), ("https://git.test/a", "https://git.test/ab", false),
        ("https://git.test/a", "https://git.test", false), ("https://git.test", "https://git.test.evil.test", false),
        ("https://git.test", "https://git.test:8443", false), ("https://git.test", "http://git.test", false),
        ("https://git.test/a", "https://git.test/a/../b", false),
        ("https://git.test", "https://git.test@evil.test", false),
        ("https://git.test/a", "https://git.test/a%2F..%2Fb", false),
        ("https://git.test", "https://git.test\\.evil.test", false),
        ("http://127.0.0.1:80", "http://127.0.0.1", true), ("http://[::1]:8080", "http://[::1]:8080/x", true),
        ("https://git.test", "https://git.test:", false), ("https://git.test", "https://git.test:0443x", false),
        ("https://git.test", "https://git.test/My%20Project/a%25?b=c", true),
        ("https://git.test", "https://git.test#", false),
        ("https://git.test/a", "https://git.test/a/%C3%A9/b", true), ("https://git.test", "://git.test", false),
        ("https://git.test/a", "https://git.test/%61", false), ("https://git.test", "https://git.test/a/../b", true),
        ("https://git.test/a", "https://git.test/a/%2E%2e/b", false),
        ("https://git.test", "git.test?://git.test", false),
        ("https://git.test/a", "https://git.test/a/..;/b", false),
        ("https://git.test/a", "https://git.test/a/..%09", false),
        ("https://git.test/a", "https://git.test/a/b\\..\\c", false), ("https://git.test", "git.test", false),
    ])
    func servesOnlyItsAddress(served: String, asked: String, isServed: Bool) throws {
        let address = try #require(ServedAddress(served))
        #expect((ServedAddress(asked: asked).map(address.serves) ?? false) == isServed)
        #expect(ServedAddress(address.text) == address)
    }

    @Test(arguments: ["http://git.test", "ftp://git.test", "git.test", "https://", "https://a b", "https://a\u{0}b"])
    func servesNoAddressInTheClear(text: String) {
        #expect(ServedAddress(text) == nil && ServedAddress(asked: text) == nil)
    }

    /// Paths as git decodes them. An agent reads the same from the address's text.
    @Test(arguments: [
        ("org/My Project/r.git", true), ("org/Caf\u{E9}", true), ("org/100%/#1?x", true), ("org", true),
        ("orga", false), ("", false), ("org/../x", false), ("org/.", false), ("org/%2e%2e/x", false), ("org\\x", false),
        ("org/..;/x", false), ("org/.. /x", false), ("org/%c0%ae/x", false), ("org/%252e/x", false), ("org/.git", true),
        ("o rg", false),
    ])
    func servesPathsOfAnyBytes(path: String, isServed: Bool) throws {
        let credential = try GitCredential(parsing: Array("protocol=https\nhost=git.test\npath=\(path)\n".utf8))
        let asked = try #require(credential.address)
        #expect(ServedAddress("https://git.test")?.serves(asked) == true)
        let team = try #require(ServedAddress("https://git.test/org"))
        #expect(team.serves(asked) == isServed && team.serves(ServedAddress(asked.text)) == isServed)
    }

    /// A protocol and a host that are not exactly that make no address.
    @Test(arguments: [
        ("https://git.test/", "evil.test"), ("https://git.test", "evil.test"), ("HTTPS", "git.test"), ("", "git.test"),
        ("https:", "git.test"), ("ftp", "git.test"), ("http", "git.test"), ("https", "git.test/evil.test"),
        ("https", "git.test?evil.test"), ("https", "git.test#evil.test"), ("https", "git.test@evil.test"),
        ("https", "git.test\\evil.test"), ("https", "git.test:443:1"), ("https", ""), ("https", "b\u{FC}cher.test"),
    ])
    func servesNoAddressThatIsPutTogether(scheme: String, host: String) throws {
        let credential = try GitCredential(parsing: Array("protocol=\(scheme)\nhost=\(host)\npath=a\n".utf8))
        #expect(credential.address == nil && (credential.problem != nil) == (scheme == "https"))
    }

    @Test(arguments: [
        "host", "host=a\u{0}b", "host=a\rb", "host=\u{7F}", "wwwauth[]=" + String(repeating: "a", count: 65_536),
    ])
    func refusesLinesThatGitDoesNotWrite(line: String) {
        #expect(throws: UsageError.self) { try GitCredential(parsing: Array("\(line)\n\n".utf8)) }
    }

    @Test func readsGitsLastValueUpToTheEmptyLine() throws {
        let text = "protocol=https\nhost=a.test\nhost=b.test\npassword=p=q\n\nhost=c.test\n"
        let credential = try GitCredential(parsing: Array(text.utf8))
        #expect(credential.address == ServedAddress("https://b.test") && credential.secret == "p=q")
        #expect(try GitCredential(parsing: Array("protocol=https\nhost=a.test/b\n".utf8)).address == nil)
    }

    @Test(arguments: [
        ("", "username=u\npassword=t\n"), ("capability[]=authtype\n", "username=u\npassword=t\n"),
        ("wwwauth[]=Bearer realm=\"x\"\n", "username=u\npassword=t\n"),
        (
            "capability[]=authtype\nwwwauth[]=Bearer realm=\"x\"\n",
            "capability[]=authtype\nauthtype=Bearer\ncredential=t\n"
        ),
        ("capability[]=authtype\nwwwauth[]=Bearer\nwwwauth[]=Basic realm=\"x\"\n", "username=u\npassword=t\n"),
    ])
    func answersGitInTheFormItKnows(request: String, answer: String) throws {
        let credential = try GitCredential(parsing: Array(request.utf8))
        #expect(credential.answer(username: "u", token: "t", expiresOn: 9) == answer + "password_expiry_utc=9\n")
    }

    @Test func readsDockersServer() throws {
        #expect(try DockerCredential.server(parsing: Array("r.test:5000\n".utf8)) == "r.test:5000")
        #expect(DockerCredential.addresses("r.test:5000") == [try #require(ServedAddress("https://r.test:5000"))])
        let here = ["https://127.0.0.1:5000", "http://127.0.0.1:5000"]
        #expect(DockerCredential.addresses("127.0.0.1:5000").map(\.text) == here)
        #expect(DockerCredential.addresses("r.test\u{0}").isEmpty)
        #expect(DockerCredential.addresses("http://r.test").isEmpty)
        #expect(try DockerCredential.server(parsing: Array(" https://r.test/v1/ \r\n".utf8)) == "https://r.test/v1/")
        for text in ["", " \n", "r.test\rx", "r.test\nx", "r.test x", "r.test\u{0}", "r.test\u{1}", "ü.test"] {
            #expect(throws: UsageError.self) { try DockerCredential.server(parsing: Array(text.utf8)) }
        }
        #expect(throws: UsageError.self) { try DockerCredential.server(parsing: [0xFF]) }
    }

    /// A helper without options of its own names none.
    @Test func saysWhichOptionsAHelperTakes() {
        let git = #expect(throws: UsageError.self) { try HelperCall(.git, ["--bogus", "x"]) }
        #expect(git?.message.hasPrefix("This helper takes --serves, --username and the options of 'token' ") == true)
        let own = #expect(throws: UsageError.self) { try HelperCall(.headers, ["--bogus", "x"]) }
        #expect(own?.message.hasPrefix("This helper takes the options of 'token' ") == true)
    }
}
