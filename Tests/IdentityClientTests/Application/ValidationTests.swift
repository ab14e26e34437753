// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import IdentityClient

@Suite struct ValidationTests {
    @Test(arguments: ["", "/", "/callback", "/a/b.c~d_e-f%20g"]) func acceptsAPath(path: String) throws {
        #expect(try RedirectURI.loopback(path: path).kind == .loopback(host: nil, ports: nil, path: path))
    }

    @Test(arguments: [
        "callback", "/a b", "/a?b", "/a#b", "/ä", "/a\n", "/a\"", "/a<", "/a\\b", "/a\u{0}", "/a|b", "/{a}",
        "//evil.example", "//",
    ])
    func refusesAPath(path: String) {
        let error = #expect(throws: AuthenticationError.self) { try RedirectURI.loopback(path: path) }
        #expect(error?.code == .invalidArgument)
    }

    /// The message has the address that is wrong, but for one that may have a password in it.
    @Test func showsTheAddressThatIsNoAuthoritys() {
        let error = #expect(throws: AuthenticationError.self) { try Authority.openIDConnect(issuer: "id.example.com") }
        #expect(error?.message.contains("'id.example.com'") == true)
        let other = #expect(throws: AuthenticationError.self) { try Authority.openIDConnect(issuer: "https://a:b@h") }
        #expect(other?.message.contains("a:b") == false)
        let tenant = #expect(throws: AuthenticationError.self) { try Authority.entra(.tenant("my tenant")) }
        #expect(tenant?.message.contains("'my tenant'") == true)
    }

    /// The address of a configuration in place of the issuer.
    @Test(arguments: [
        ("https://h/o/.well-known/openid-configuration", "'https://h/o', without"),
        ("https://h/.well-known/oauth-authorization-server/o", "'https://h', without"),
    ])
    func saysThatAConfigurationIsNoIssuer(_ address: String, _ words: String) {
        for make in [{ try Authority.openIDConnect(issuer: address) }, { try Authority.oauth2(issuer: address) }] {
            let error = #expect(throws: AuthenticationError.self) { _ = try make() }
            #expect(error?.code == .invalidArgument && error?.message.contains(words) == true)
        }
    }

    @Test(arguments: ["s\n", "s\u{7F}", String(repeating: "s", count: 1025)])
    func refusesASecretThatCannotBeSent(_ secret: String) throws {
        var configuration = ClientConfiguration(
            clientID: "c",
            authority: try .openIDConnect(issuer: "https://h"),
            cache: InMemoryTokenCache()
        )
        configuration.clientSecret = ClientSecret(rawValue: secret)
        let error = #expect(throws: AuthenticationError.self) { try PublicClientApplication(configuration) }
        #expect(error?.code == .invalidArgument && error?.message.contains(secret) == false)
    }

    @Test func checksPorts() {
        #expect(throws: AuthenticationError.self) { try RedirectURI.loopback(ports: 0...9) }
        #expect(throws: Never.self) { try RedirectURI.loopback(host: .ipv6, ports: 1...65535) }
    }

    @Test(arguments: [
        ("com.example.app:/callback", true), ("https://h/x?y", true), ("/relative", false), ("https://h/x#f", false),
    ])
    func checksCustomAddresses(text: String, isAccepted: Bool) throws {
        let url = try #require(URL(string: text))
        #expect(((try? RedirectURI.custom(url)) != nil) == isAccepted)
    }

    /// Microsoft's providers expect `localhost`, the others the address that RFC 8252 §7.3 prefers. A named host stays.
    @Test func spellsTheLoopbackHostAsTheProviderExpects() throws {
        let entra = try Authority.entra()
        let other = try Authority.openIDConnect(issuer: "https://h")
        #expect(RedirectURI.loopback.resolved(for: entra).kind == .loopback(host: .localhost, ports: nil, path: ""))
        #expect(RedirectURI.loopback.resolved(for: other).kind == .loopback(host: .ipv4, ports: nil, path: ""))
        let named = try RedirectURI.loopback(host: .ipv6, ports: 5000...5001, path: "/x")
        #expect(named.resolved(for: entra) == named && named.resolved(for: other) == named)
        #expect(try named.addressWithoutListener().absoluteString == "http://[::1]:5000/x")
    }

    @Test(arguments: [
        ("a", "a"), ("Com.Example.Suite", "com.example.suite"), ("a-b_c.9", "a-b_c.9"),
        (String(repeating: "x", count: 64), String(repeating: "x", count: 64)),
    ])
    func acceptsAGroup(name: String, expected: String) throws {
        #expect(try CacheGroup(name).name == expected)
    }

    @Test(arguments: [
        "", ".", "..", ".hidden", "a/b", "a b", "a\u{0}", "ä", "a:b", "a\n", String(repeating: "x", count: 65),
    ])
    func refusesAGroup(name: String) {
        let error = #expect(throws: AuthenticationError.self) { try CacheGroup(name) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func everyClientHasAGroupOfItsOwn() throws {
        let groups = ["a", "b", "../../x", String(repeating: "long", count: 500)].map {
            CacheGroup.application(ClientID(rawValue: $0))
        }
        #expect(Set(groups).count == 4)
        for group in groups { #expect(try CacheGroup(group.name) == group) }
    }

    /// RFC 6749 §3.3
    @Test(arguments: ["read", "https://graph.microsoft.com/.default", "a:b!#[]~", "x'y"]) func acceptsAScope(
        scope: String
    ) throws {
        #expect(try Set([Scope(rawValue: scope)]).checked() == [scope])
    }

    @Test(arguments: ["", " ", "a b", "a\"b", "a\\b", "ä", "a\n", "a\u{7F}"]) func refusesAScope(scope: String) {
        let error = #expect(throws: AuthenticationError.self) { try Set(["good", Scope(rawValue: scope)]).checked() }
        #expect(error?.code == .invalidArgument)
    }

    @Test func ordersScopes() throws {
        #expect(try Set<Scope>(["c", "a", "B"]).checked() == ["B", "a", "c"])
        #expect(["a"].appendingMissing(["b", "a", "openid"]) == ["a", "b", "openid"])
    }

    /// OpenID Connect Core §5.5; `xms_cc` tells Microsoft which challenges the program can handle.
    @Test(
        arguments: [
            (nil, [], nil), ("", [], nil), (#"{ "a" : 1 }"#, [], #"{ "a" : 1 }"#),
            (nil, ["cp1"], #"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#),
            (
                #"{"access_token":{"nbf":{"essential":true}}}"#, ["cp1"],
                #"{"access_token":{"nbf":{"essential":true},"xms_cc":{"values":["cp1"]}}}"#
            ),
            (
                #"{"access_token":{"xms_cc":{"values":["x"]}}}"#, ["cp1", "x"],
                #"{"access_token":{"xms_cc":{"values":["x","cp1"]}}}"#
            ),
        ] as [(String?, [String], String?)]
    )
    func mergesClaims(claims: String?, capabilities: [String], expected: String?) throws {
        #expect(try ClaimsParameter.merged(claims, capabilities) == expected)
    }

    @Test(arguments: ["x", "[]", "{", #"{"access_token":1}"#, #"{"a":1,"a":2}"#]) func refusesClaims(claims: String) {
        let error = #expect(throws: AuthenticationError.self) { try ClaimsParameter.merged(claims, ["cp1"]) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("\"") == false)
    }

    @Test(arguments: ["", "ä", "a\nb", "a ", " a", String(repeating: "c", count: 4097)]) func refusesAClientID(
        id: String
    ) throws {
        let configuration = ClientConfiguration(
            clientID: ClientID(rawValue: id),
            authority: try .entra(),
            cache: InMemoryTokenCache()
        )
        #expect(throws: AuthenticationError.self) { try PublicClientApplication(configuration) }
    }

    /// A server without a database gives what it registered, signed, as the client id.
    @Test func takesALongClientID() throws {
        let id = ClientID(rawValue: String(repeating: "c", count: 4096))
        _ = try PublicClientApplication(
            ClientConfiguration(clientID: id, authority: try .entra(), cache: InMemoryTokenCache())
        )
    }

    @Test(arguments: [
        (0, 300, 300, false), (-1, 300, 300, false), (61, 300, 300, false), (60, 0, 0, true), (1, -1, 300, false),
        (1, 300, -1, false),
    ])
    func checksDurations(timeout: Int, leeway: Int, tolerance: Int, isAccepted: Bool) throws {
        var configuration = ClientConfiguration(
            clientID: "c",
            authority: try .entra(),
            cache: InMemoryTokenCache()
        )
        configuration.requestTimeout = .seconds(timeout)
        configuration.expirationLeeway = .seconds(leeway)
        configuration.compatibility.clockTolerance = .seconds(tolerance)
        #expect(((try? PublicClientApplication(configuration)) != nil) == isAccepted)
    }
}
