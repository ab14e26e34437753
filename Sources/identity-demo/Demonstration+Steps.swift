// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting

extension Demonstration {
    /// Runs all steps, one after the other.
    func run() async throws {
        let start = ContinuousClock.now
        say("An identity provider of its own runs at \(issuer); nothing leaves this computer.")
        if isHeadless {
            say("A scripted browser signs in there as \(Self.person.username).")
        } else {
            say("In the browser, sign in as \(Self.person.username) with the password: \(Self.person.password)")
        }
        let account = try await signIn("1. Sign in through the browser").account
        try await takeFromCache(account)
        try await outliveToken(account)
        try await askSecondProcess(account)
        try await loseSession(account)
        let again = try await signIn("6. Sign in again").account
        try await signOut(again)
        say()
        say("That was all, in \((ContinuousClock.now - start).shortText). Nothing is left behind.")
        say("To sign in at your own provider: identityctl login --client-id ID --issuer URL --scope SCOPE")
    }

    private func heading(_ text: String) {
        say()
        say(text)
    }

    private func signIn(_ title: String) async throws -> AuthenticationResult {
        heading(title)
        var parameters = InteractiveParameters(scopes: Self.scopes)
        parameters.loginHint = Self.person.username
        if !isHeadless {
            parameters.onAuthorizationURL = { say("   The page: \($0.absoluteString)") }
            parameters.onProgress = { phase in
                if case .waitingForPerson = phase { say("   Waiting until you have signed in. Ctrl-C gives up.") }
            }
        }
        let asked = parameters
        let (result, time) = try await timed { try await application.acquireTokenInteractively(asked) }
        say("   Signed in as \(result.account.username ?? result.account.id.rawValue) in \(time).")
        say("   The access token is good until \(result.expiresOn.utcText); the tokens rest in files of yours alone.")
        return result
    }

    private func takeFromCache(_ account: Account) async throws {
        heading("2. The token again, without asking anyone")
        let before = provider.requests.count
        let (result, time) = try await timed { try await silent(account) }
        try expect(result.source == .cache, "the token comes from the cache")
        say("   From the cache in \(time), with \(requests(since: before)) to the provider.")
    }

    private func outliveToken(_ account: Account) async throws {
        heading("3. The token expires, and is renewed without anyone noticing")
        say("   Here it is good for \(Self.lifetime.components.seconds) seconds instead of the usual hour. Waiting…")
        try await Task.sleep(for: Self.lifetime)
        // From here on, tokens have their usual lifetime.
        provider.settings.accessTokenLifetime = .seconds(3600)
        let before = provider.requests.count
        let (result, time) = try await timed { try await silent(account) }
        try expect(result.source == .identityProvider, "the expired token is renewed")
        say("   Renewed in \(time), with \(requests(since: before)) to the provider. No sign-in was needed.")
    }

    private func askSecondProcess(_ account: Account) async throws {
        heading("4. Another process finds the session in the files")
        let before = provider.requests.count
        let (outcome, time) = try await timed { try await tokenCommand() }
        let expected = try await silent(account).accessToken
        try expect(
            outcome.status == 0 && outcome.output == expected + "\n",
            "'identityctl token' prints the same token (it ended with status \(outcome.status))"
        )
        say("   'identityctl token' printed the same token, \(time) from start to end,")
        say("   with \(requests(since: before)) to the provider.")
    }

    private func loseSession(_ account: Account) async throws {
        heading("5. The provider ends the session: a person is needed")
        // In a real browser, the other person of the provider may have signed in.
        for person in [Self.person, .bob] where person.username == account.username {
            provider.revokeSessions(of: person)
        }
        do {
            _ = try await silent(account, forcesRefresh: true)
            try expect(false, "the refresh is refused")
        } catch let error as AuthenticationError where .interactionRequired ~= error.code {
            say("   The program is told so (\(error.code)): \(error.message)")
        }
        let outcome = try await tokenCommand("--force-refresh", "--json")
        try expect(outcome.status == 2, "'identityctl token' ends with status 2 (it was \(outcome.status))")
        say("   'identityctl token --force-refresh' ends with status \(outcome.status), which a script can act on.")
    }

    private func signOut(_ account: Account) async throws {
        heading("7. Sign out")
        let (_, time) = try await timed { try await application.remove(account) }
        try expect(try await application.allAccounts().isEmpty, "no account is signed in any more")
        say("   The tokens are gone from this computer, in \(time).")
    }
}
