// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Logging
import Testing

/// A hostile provider that sends the person on to an honest one, to be brought that one's code.
///
/// - SeeAlso: [RFC 9700 §4.4](https://www.rfc-editor.org/rfc/rfc9700#section-4.4)
@Suite(.timeLimit(.minutes(1)))
struct MixUpTests {
    /// Sends the browser to the honest provider with the client identifier, the redirect address and the `state` of the
    /// request, and a challenge of the attacker's own: what the hostile provider's redirect would do.
    private struct Relay: BrowserLauncher {
        let browser: ScriptedBrowser

        func open(_ url: URL) async throws {
            var address = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
            address.host = "honest.example.test"
            address.queryItems = address.queryItems?.map { item in
                item.name == "code_challenge"
                    ? URLQueryItem(name: item.name, value: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM") : item
            }
            try await browser.open(try #require(address.url))
        }
    }

    private let receiver = InMemoryRedirectReceiver()
    private let hostile: TestIdentityProvider
    private let honest: TestIdentityProvider
    private let warnings = Shared<[String]>([])

    init() throws {
        hostile = try TestIdentityProvider(issuer: "https://hostile.example.test")
        hostile.settings.namesIssuerInResponse = false
        honest = try TestIdentityProvider(issuer: "https://honest.example.test")
        honest.settings.namesIssuerInResponse = false
    }

    private func type(
        _ name: AccountType.Name,
        _ provider: TestIdentityProvider,
        path: String,
        authority: Authority? = nil
    ) throws -> AccountType {
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: authority ?? provider.authority,
            cache: InMemoryTokenCache()
        )
        configuration.redirectURI = try .loopback(path: path)
        configuration.redirectReceiver = receiver
        configuration.transport = provider.transport
        let browser = ScriptedBrowser(provider: honest, receiver: receiver)
        configuration.browser = provider === honest ? browser : Relay(browser: browser)
        configuration.logger = .keeping(warnings, from: .warning)
        return AccountType(name, configuration: configuration, scopes: ["api.read"])
    }

    /// A server of plain OAuth 2.0, of which nothing says that it names itself.
    private func unnamed(_ provider: TestIdentityProvider, issuer: String? = nil) throws -> Authority {
        let origin = provider.authority.url
        return try .oauth2(.init(authorization: "\(origin)/authorize", token: "\(origin)/token", issuer: issuer))
    }

    /// Whether the hostile provider was brought a code of the honest one's.
    private var isBroughtACode: Bool { hostile.requests.contains { $0.endpoint == .token && $0["code"] != nil } }

    /// The warning to the program describes a real attack.
    @Test func bringsTheCodeWhereBothShareAPathAndTheHonestOneHasNoName() async throws {
        let types = [
            try type("honest", honest, path: "/", authority: unnamed(honest)), try type("hostile", hostile, path: ""),
        ]
        let store = try AccountStore(types)
        #expect(warnings.value.count == 1)
        #expect(warnings.value.allSatisfy { $0.contains("honest") && $0.contains("hostile") && $0.contains("path") })
        await #expect(throws: AuthenticationError.self) {
            try await store.acquireTokenInteractively(ofType: "hostile") { $0.timeout = .seconds(5) }
        }
        #expect(isBroughtACode)
    }

    /// The honest provider knows one redirect address, and that is not the hostile one's.
    @Test func failsWithAPathOfItsOwn() async throws {
        honest.add(.init(id: "test-client", redirectURIs: ["http://127.0.0.1/honest"]))
        let types = [
            try type("honest", honest, path: "/honest", authority: unnamed(honest)),
            try type("hostile", hostile, path: "/hostile"),
        ]
        let store = try AccountStore(types)
        #expect(warnings.value.isEmpty)
        await #expect(throws: AuthenticationError.self) {
            try await store.acquireTokenInteractively(ofType: "hostile") { $0.timeout = .seconds(5) }
        }
        #expect(honest.count(of: .authorization) == 1 && !isBroughtACode)
        // And the honest one's own sign-in is as it was.
        try await store.acquireTokenInteractively(ofType: "honest")
    }

    /// With one path for both: the name in the answer gives the honest provider away.
    @Test func failsWhereTheHonestOneNamesItself() async throws {
        honest.settings.namesIssuerInResponse = true
        let store = try AccountStore([
            type("honest", honest, path: "", authority: unnamed(honest, issuer: "https://honest.example.test")),
            type("hostile", hostile, path: ""),
        ])
        #expect(warnings.value.isEmpty)
        try await expectError(.invalidResponse) { try await store.acquireTokenInteractively(ofType: "hostile") }
        #expect(hostile.count(of: .token) == 0)
    }

    /// Before the first request, nothing shows whether a provider of OpenID Connect names itself.
    @Test(arguments: [false, true])
    func warnsAfterTheFirstSignInWhereTheProviderAnnouncesNoName(announces: Bool) async throws {
        honest.settings.namesIssuerInResponse = announces
        let store = try AccountStore([type("honest", honest, path: "/"), type("hostile", hostile, path: "")])
        #expect(warnings.value.isEmpty)
        for _ in 0..<2 { try await store.acquireTokenInteractively(ofType: "honest") }
        #expect(warnings.value.count == (announces ? 0 : 1))
        #expect(warnings.value.allSatisfy { $0.contains("'honest' does not announce") && $0.contains("'hostile'") })
    }

    /// One provider's answers cannot be mixed up with its own.
    @Test func warnsOfNothingAtOneProvider() throws {
        let (first, second) = (try type("one", honest, path: "", authority: unnamed(honest)), "test-client-2")
        var other = first
        other.name = "two"
        other.configuration.clientID = ClientID(rawValue: second)
        _ = try AccountStore([first, other])
        #expect(warnings.value.isEmpty)
        _ = try AccountStore([type("work", honest, path: "", authority: .entra()), type("shop", hostile, path: "")])
        #expect(warnings.value.count == 1 && warnings.value.allSatisfy { $0.contains("work") })
    }
}
