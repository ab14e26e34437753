// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import IdentityClient
import IdentityTesting
import Testing

@testable import identityctl

/// The tokens of the cache and the provider, and what is wrapped around them.
@Suite(.timeLimit(.minutes(1))) struct TokenSourceTests {
    private let provider: TestIdentityProvider
    private let source: ApplicationSource

    init() async throws {
        provider = try TestIdentityProvider()
        let browser = ScriptedBrowser(provider: provider, receiver: InMemoryRedirectReceiver())
        source = ApplicationSource(application: try PublicClientApplication(provider.configuration(browser: browser)))
        _ = try await source.application.acquireTokenInteractively(InteractiveParameters(scopes: ["files.read"]))
    }

    private func wanted(_ options: String...) throws -> WantedToken {
        try WantedToken(.parse(["--scope", "files.read"]), .parse([]), .parse(options), Variables([:]))
    }

    @Test func givesAnotherTokenInPlaceOfARefusedOne() async throws {
        var wanted = try wanted()
        let first = try await source.token(wanted)
        #expect(try await source.token(wanted).text == first.text)
        wanted.refusedToken = first.text
        #expect(try await source.kept(wanted) == nil)
        let second = try await source.token(wanted)
        #expect(second.text != first.text)
        // A late call about the older token changes nothing.
        #expect(try await source.token(wanted).text == second.text)
        #expect(try await source.kept(wanted)?.text == second.text)
    }

    @Test func asksNoProviderForATokenThatIsKept() async throws {
        provider.failAlways(.token, with: .drop)
        #expect(try await source.kept(wanted()) != nil)
        let other = try WantedToken(.parse(["--scope", "files.write"]), .parse([]), .parse([]), Variables([:]))
        #expect(try await source.kept(other) == nil)
        await #expect(throws: AuthenticationError.self) { try await source.token(other) }
    }

    @Test func givesTheIDTokenIfItIsWanted() async throws {
        let tokens = IDTokens(base: source)
        let access = try await tokens.token(wanted())
        #expect(access.idToken == nil && access.text == access.result.accessToken)
        let identity = try await tokens.token(wanted("--id-token"))
        #expect(identity.text == identity.result.idToken && identity.text != access.text)
        #expect(identity.account == access.account)
    }

    @Test(arguments: [("alice@example.test", true), ("bob@example.test", false)])
    func goesOutUnderTheNameOfItsAccountOnly(_ person: String, _ isSignedIn: Bool) async throws {
        var wanted = try wanted()
        wanted.person = person
        guard isSignedIn else {
            await #expect(throws: NoTokenOfPerson.self) { try await source.token(wanted) }
            return
        }
        #expect(try await source.token(wanted).result.account.username == person)
    }

    @Test func refusesATokenThatAFileOrAHeaderCannotHold() async throws {
        func handed(_ text: String, _ username: String? = nil) -> HandedToken {
            let account = Account(id: Account.ID(rawValue: "alice"), environment: "id.test")
            let result = AuthenticationResult(
                accessToken: text,
                expiresOn: .distantFuture,
                scopes: [],
                account: account,
                source: .cache
            )
            return HandedToken(result: result, username: username)
        }
        #expect(try handed("abc").checked().text == "abc")
        for (text, username) in [("", nil), ("a b", nil), ("a\nb", nil), ("é", nil), ("abc", "a\u{7}")] {
            #expect(throws: UsageError.self) { try handed(text, username).checked() }
        }
    }
}
