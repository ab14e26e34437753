// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import Testing

@testable import identityctl

@Suite struct ProfileTests {
    private func profile(_ text: String, _ name: String = "work") throws -> Profile {
        try Profile(try #require(ProfileName(name)), path: "/p/\(name).conf", parsing: Array(text.utf8))
    }

    private func refusal(_ bytes: [UInt8]) throws -> String {
        let name = try #require(ProfileName("work"))
        return try #require(throws: UsageError.self) { try Profile(name, path: "/p/work.conf", parsing: bytes) }.message
    }

    @Test func readsALineForEachOption() throws {
        let profile = try profile("# mine\n\n client-id\t=  a = b \r\nscope = one\nscope=two three\ndefault-scopes =")
        #expect(profile.given("client-id") == Given(text: "a = b", origin: "/p/work.conf:3"))
        #expect(profile.given("scope") == Given(text: "one two three", origin: "/p/work.conf:4"))
        #expect(profile.given("default-scopes")?.text == "")
        #expect(profile.given("issuer") == nil)
    }

    @Test(arguments: [
        ("client-id = a\nclient-id = b", "/p/work.conf:2: "), ("x\n", "/p/work.conf:1: "),
        ("# c\n\nprofile = a", "/p/work.conf:3: "),
        ("issuer =", "/p/work.conf:1: "), ("issuer = a\u{0}b", "/p/work.conf:1: "),
        ("Client-ID = a", "/p/work.conf:1: "),
        ("a\u{1B}[2J = 1", "/p/work.conf:1: "), ("--issuer = x", "/p/work.conf:1: "), ("to = x", "/p/work.conf:1: "),
    ])
    func namesTheLineOfAMistake(text: String, place: String) throws {
        let message = try refusal(Array(text.utf8))
        #expect(message.hasPrefix(place))
        #expect(message.unicodeScalars.allSatisfy { $0.value >= 0x20 })
    }

    /// Editors of Windows write it.
    @Test func readsPastAByteOrderMark() throws {
        let profile = try profile("\u{FEFF}issuer = https://id.test\r\nclient-id = c\r\n")
        #expect(profile.given("issuer")?.text == "https://id.test" && profile.given("client-id")?.text == "c")
        #expect(try refusal(Array("issuer = a\n\u{FEFF}scope = b".utf8)).hasPrefix("/p/work.conf:2: "))
    }

    @Test(arguments: ["Client-ID", "client_id", "CLIENT_ID"]) func namesTheLineThatWasMeant(_ name: String) throws {
        #expect(try refusal(Array("\(name) = a".utf8)).hasSuffix(" Write: client-id"))
        let set = #expect(throws: UsageError.self) { try ProfileChange.assignment("\(name)=a") }
        #expect(set?.message.hasSuffix(" Write: client-id") == true)
    }

    @Test func refusesBytesThatAreNoText() throws {
        #expect(try refusal(Array("issuer = a\nscope = ".utf8) + [0xC3, 0x28]).hasPrefix("/p/work.conf:2: "))
    }

    @Test(arguments: ["", ".x", "-x", "a/b", "a b", "ä", "none", String(repeating: "a", count: 65)])
    func refusesANameThatIsNoFileName(name: String) {
        #expect(ProfileName(name) == nil)
    }

    @Test func yieldsToTheEnvironmentAndThatToTheCommandLine() throws {
        let profile = try profile("group = p\nscope = p\njson = on\ntimeout = 9")
        let environment = Variables(["IDENTITYCTL_GROUP": "v", "IDENTITYCTL_JSON": "off"]).above(profile)
        #expect(try environment.given("group", "l")?.text == "l")
        #expect(try environment.given("group", nil)?.text == "v")
        #expect(try environment.words("scope", ["l"]) == ["l"])
        #expect(try environment.words("scope", []) == ["p"])
        #expect(try !environment.isOn("json", false))
        #expect(try environment.given("timeout", nil)?.seconds(from: 1) == .seconds(9))
    }

    @Test func namesTheLineOfAWrongValue() throws {
        let environment = Variables([:]).above(try profile("client-id = c\nissuer = nonsense"))
        let refusal = #expect(throws: UsageError.self) { try ProviderOptions.parse([]).configuration(environment) }
        #expect(refusal?.message.hasPrefix("/p/work.conf:2: ") == true)
    }

    /// A secret belongs to one client at one provider.
    @Test(
        arguments: [
            ([], [:], "profile's"), (["--client-id", "d"], [:], nil), (["--issuer", "https://b.test"], [:], nil),
            ([], ["IDENTITYCTL_CLIENT_ID": "d"], nil), ([], ["IDENTITYCTL_ISSUER": "https://b.test"], nil),
            ([], ["IDENTITYCTL_CLIENT_SECRET": "variable's"], "profile's"),
            (
                [], ["IDENTITYCTL_CLIENT_ID": "d", "IDENTITYCTL_CLIENT_SECRET": "variable's"],
                "variable's"
            ),
        ] as [([String], [String: String], String?)]
    )
    func keepsTheSecretToItsOwnClient(_ arguments: [String], _ variables: [String: String], _ secret: String?) throws {
        let profile = try profile("client-id = c\nissuer = https://a.test\nclient-secret = profile's")
        let made = try ProviderOptions.parse(arguments).configuration(Variables(variables).above(profile))
        #expect(made.clientSecret == secret.map { ClientSecret(rawValue: $0) })
    }

    @Test func takesNoHalfOfAProvider() throws {
        let profile = try profile(
            "client-id = c\nauthorization-endpoint = https://a.test/a\ntoken-endpoint = https://a.test/t"
        )
        let environment = Variables(["IDENTITYCTL_ISSUER": "https://b.test"]).above(profile)
        let authority = try ProviderOptions.parse([]).configuration(environment).authority
        #expect(authority.description == "https://b.test")
    }

    @Test(
        arguments: [
            ("https://git.test", 0), ("https://git.test/x", 0), ("https://git.test/team/repo", 1),
            ("https://GIT.test:443/", 0),
            ("https://git.test.evil.test", nil), ("https://xgit.test", nil), ("https://git.test:444", nil),
            ("http://git.test", nil), ("https://other.test/teams", nil), ("https://other.test/team/", 1),
            ("https://other.test/team/../x", nil), ("https://other.test/x/../team", nil),
            ("https://other.test/%74eam", nil), ("https://other.test/Team", nil), ("https://other.test", nil),
            ("https://git.test.", nil), ("https://git.test@evil.test", nil), ("https://git%2Etest", nil),
            ("https://gıt.test", nil), ("https://xn--gt-mia.test", nil), ("https://git.test:8443/team", nil),
        ] as [(String, Int?)]
    )
    func servesItsAddressesAlone(_ address: String, _ depth: Int?) throws {
        let profile = try profile("serves = https://git.test https://git.test/team\nserves = https://other.test/team")
        #expect(try ServedAddress(address).flatMap(TokenReach(of: profile).depth) == depth)
    }

    @Test func givesEachPresetAProviderThatIsUnderstood() throws {
        for preset in Preset.all {
            let lines = try preset.lines(domain: preset.needsDomain ? "id.example.com" : nil)
            let text = "client-id = c\n" + lines.map { "\($0.name) = \($0.value)\n" }.joined()
            #expect(throws: Never.self, "\(preset.name)") {
                try ProfileCheck.check(profile(text, preset.name), Variables([:]))
            }
            // What is sent is what a person is told to register.
            let redirect = lines.first { $0.name == "redirect-uri" }?.value
            #expect(redirect.map { preset.registration.contains($0) } != false, "\(preset.name)")
        }
        #expect(throws: UsageError.self) { try Preset.named("okta").lines(domain: nil) }
        #expect(throws: UsageError.self) { try Preset.named("google").lines(domain: "x.test") }
        #expect(throws: UsageError.self) { try Preset.named("okta").lines(domain: "https://x.test") }
        #expect(throws: UsageError.self) { try Preset.named("okta").lines(domain: "x.test\nclient-id = y") }
    }
}
