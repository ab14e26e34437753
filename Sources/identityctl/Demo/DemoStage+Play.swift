// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting

extension DemoStage {
    /// All steps, one after the other.
    func play() async throws {
        let start = ContinuousClock.now
        let alice = TestIdentityProvider.Person.alice
        try say("An identity provider of its own runs at \(issuer); nothing leaves this computer.")
        if isHeadless {
            try say("A scripted browser signs in there as \(alice.username).")
        } else {
            try say("In the browser, sign in as \(alice.username) with the password: \(alice.password)")
        }
        let account = try await signIn("1. Sign in through the browser").account
        try await takeFromCache(account)
        try await outliveToken(account)
        try await askSecondProcess(account)
        try await loseSession(account)
        let again = try await signIn("6. Sign in again").account
        try await signOut(again)
        try say()
        try say("That was all, in \((ContinuousClock.now - start).shortText). Nothing is left behind.")
        try say("To sign in at your own provider: identityctl login --client-id ID --issuer URL --scope SCOPE")
    }

    private func signIn(_ title: String) async throws -> AuthenticationResult {
        try heading(title)
        var parameters = InteractiveParameters(scopes: Self.scopes)
        parameters.loginHint = TestIdentityProvider.Person.alice.username
        if !isHeadless { parameters.onAuthorizationURL = { session.console.line("   The page: \($0.absoluteString)") } }
        let asked = parameters
        let (result, time) = try await timed {
            try await application.acquireTokenInteractively(
                asked,
                showingProgressOn: session.console,
                indentation: "   "
            )
        }
        try say("   Signed in as \(result.account.shortLabel) in \(time).")
        try say(
            "   The access token is good until \(result.expiresOn.utcText); the tokens rest in files of yours alone."
        )
        return result
    }

    private func takeFromCache(_ account: Account) async throws {
        try heading("2. The token again, without asking anyone")
        let before = provider.requests.count
        let (result, time) = try await timed { try await silent(account) }
        try expect(result.source == .cache, "the token comes from the cache")
        try say("   From the cache in \(time), with \(provider.requests.count - before) requests to the provider.")
    }

    private func outliveToken(_ account: Account) async throws {
        try heading("3. The token expires, and is renewed without anyone noticing")
        let seconds = Self.lifetime.components.seconds
        try say("   Here it is good for \(seconds) seconds instead of the usual hour. Waiting for its end…")
        try await session.console.showingProgress {
            "   \(max(0, seconds - $0.components.seconds)) s"
        } while: {
            try await Task.sleep(for: Self.lifetime)
        }
        // From here on tokens live as long as they usually do.
        provider.settings.accessTokenLifetime = .seconds(3600)
        let before = provider.requests.count
        let (result, time) = try await timed { try await silent(account) }
        try expect(result.source == .identityProvider, "the expired token is renewed")
        try say("   Renewed in \(time), with \(requests(since: before)) to the provider. Nobody had to sign in.")
    }

    private func askSecondProcess(_ account: Account) async throws {
        try heading("4. Another process finds the session in the files")
        let before = provider.requests.count
        let (outcome, time) = try await timed { try await secondProcess("token") }
        let expected = try await silent(account).accessToken
        try expect(
            outcome.status == 0 && outcome.output == expected + "\n",
            "'identityctl token' prints the same token (it ended with status \(outcome.status))"
        )
        try say("   'identityctl token' printed the same token, \(time) from start to end,")
        try say("   with \(requests(since: before)) to the provider.")
    }

    private func loseSession(_ account: Account) async throws {
        try heading("5. The provider ends the session: a person is needed")
        if let name = account.username, let person = Self.people.first(where: { $0.username == name }) {
            provider.revokeSessions(of: person)
        }
        do {
            _ = try await silent(account, forcesRefresh: true)
            try expect(false, "the refresh is refused")
        } catch let error as AuthenticationError where .interactionRequired ~= error.code {
            try say("   The program is told so (\(error.code)): \(error.message.printable)")
        }
        let outcome = try await secondProcess("token", "--force-refresh", "--json")
        try expect(outcome.status == 2, "'identityctl token' ends with status 2 (it was \(outcome.status))")
        try say("   'identityctl token --force-refresh' ends with status \(outcome.status), which a script can act on.")
    }

    private func signOut(_ account: Account) async throws {
        try heading("7. Sign out")
        let (_, time) = try await timed { try await application.remove(account) }
        try expect(try await application.allAccounts().isEmpty, "nobody is signed in any more")
        try say("   The tokens are gone from this computer, in \(time).")
    }
}
