// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import Testing

extension EndToEnd {
    /// A person in front of a real Chromium signs in at providers from other projects. One browser at a time.
    @Suite struct BrowserSignInTests {
        @Test(arguments: Provider.Name.allCases)
        func thePersonSignsInAndStaysSignedIn(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .chromium)

            let first = try await program.signIn()
            #expect(first.source == .identityProvider)
            #expect(first.tokenType == "Bearer")
            #expect(first.scopes.isSuperset(of: Program.scopes))
            #expect(first.declinedScopes.isEmpty)
            #expect(first.expiresOn > .now)
            #expect(first.idToken != nil)
            #expect(first.account.displayName == "Alice Example")
            if case .failed(let error) = first.persistence { Issue.record(error) }
            #expect(try await program.isHonoured(first))
            #expect(try await program.app.allAccounts() == [first.account])
            let subject = try #require(first.account.tenantProfiles.first?.claims?.subject)
            #expect(try await program.app.userInfo(for: first.account).subject == subject)

            let hit = try await program.token(for: first.account)
            #expect(hit.source == .cache)
            #expect(hit.accessToken == first.accessToken)
            #expect(program.wire.tokenRequests.count == 1)

            let page = try await program.person.lastPage()
            #expect(page.title == "Signed in")
            #expect(page.text?.contains("End to End") == true)
            #expect(page.address?.contains("code=") == false, "the code stays in the address bar")
        }

        /// A browser applies the rules of the question's page to its form, and to all redirects that follow.
        @Test func thePersonAgreesToAQuestionFirst() async throws {
            let (provider, directory) = (try Provider(.djangoOAuthToolkit), try TemporaryDirectory())
            let person = try Person(.chromium, at: provider, end: "page", logsTo: directory)
            var launcher = person.launcher
            launcher.question = BrowserQuestion(title: "Sign in there?", sentences: ["A program asks."])
            let program = try Program(at: provider, with: .chromium, directory: directory) { $0.browser = launcher }
            _ = try await program.signIn()
            #expect(try await person.lastPage().title == "Signed in")
            #expect(try person.events("page").contains { $0.title == "Sign in there?" })
        }

        @Test(arguments: [false, true])
        func theAnswerComesAsAFormPost(tls: Bool) async throws {
            let program = try Program(at: Provider(.glewlwyd, tls: tls), with: .chromium)
            let result = try await program.signIn(.formPost)
            #expect(try await program.isHonoured(result))
            #expect(try await program.person.lastPage().title == "Signed in")
        }

        @Test(arguments: Provider.Name.allCases)
        func everythingWorksOverTLSWithAPrivateAuthority(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name, tls: true), with: .chromium)
            let first = try await program.signIn(nil)
            #expect(try await program.person.lastPage().title == "Signed in")

            program.clock.advance(by: try program.provider.accessTokenLifetime)
            let refreshed = try await program.token(for: first.account)
            #expect(refreshed.source == .identityProvider)
            #expect(try await program.isHonoured(refreshed))
        }

        @Test func aPersonWhoDeniesConsentIsNotSignedIn() async throws {
            let program = try Program(at: Provider(.djangoOAuthToolkit), with: .chromium, mode: "deny")
            let error = try await program.signInError()
            #expect(error.code == .accessDenied)
            #expect(error.serverError?.error == "access_denied")
            #expect(program.wire.tokenRequests.isEmpty)
            #expect(try await program.app.allAccounts().isEmpty)
            #expect(try await program.person.lastPage().title == "Not signed in")
        }

        @Test(arguments: Provider.Name.allCases)
        func withoutASessionPromptNoneNeedsThePerson(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .chromium)
            let error = try await program.signInError { $0.prompt = .none }
            #expect(AuthenticationError.Code.interactionRequired ~= error)
            #expect(error.serverError?.error == (name == .glewlwyd ? "interaction_required" : "login_required"))
            #expect(try await program.app.allAccounts().isEmpty)
            #expect(try await program.person.lastPage().title == "Not signed in")
        }

        @Test func theBrowsersSessionAnswersPromptNone() async throws {
            let directory = try TemporaryDirectory()
            let provider = try Provider(.glewlwyd)
            let profile = "\(directory.path)/profile"
            let first = try Program(at: provider, with: .chromium, profile: profile, directory: directory)
            let signedIn = try await first.signIn()
            try await first.person.exitStatus()
            try await first.app.remove(signedIn.account)

            let second = try Program(
                at: provider,
                with: .chromium,
                mode: "badpass",
                profile: profile,
                directory: directory
            )
            let result = try await second.signIn {
                $0.prompt = .none
                $0.extraQueryItems = ["id_token_hint": signedIn.idToken ?? ""]  // glewlwyd insists on it
            }
            #expect(result.account.id == signedIn.account.id)
            #expect(try await second.person.lastPage().title == "Signed in")
        }

        @Test func theFirstFreePortOfARegisteredRangeIsTaken() async throws {
            let provider = try Provider(.glewlwyd)
            let ports = try #require(try provider.ports)
            // Occupies the first free port of the range, so that the sign-in must take another one.
            let occupant = try await LoopbackRedirectReceiver().start(
                for: .loopback(host: .ipv4, ports: ports),
                responseMode: .query
            )
            let taken = try #require(occupant.redirectURI.port.flatMap(UInt16.init(exactly:)))

            let program = try Program(at: provider, with: .chromium)
            let result = try await program.signIn()
            await occupant.close()
            #expect(try await program.isHonoured(result))
            let address = try #require(try await program.person.lastPage().address)
            let port = try #require(URL(string: address)?.port.flatMap(UInt16.init(exactly:)))
            #expect(ports.contains(port))
            #expect(port > taken)
        }

        @Test func theSamePersonSignsInAgainAfterSigningOut() async throws {
            let program = try Program(at: Provider(.djangoOAuthToolkit), with: .chromium)
            let first = try await program.signIn()
            try await program.person.exitStatus()
            let secret = try program.wire.refreshToken
            #expect(try program.directory.contents(of: "tokens").contains(secret))

            try await program.app.remove(first.account)
            #expect(try await program.app.allAccounts().isEmpty)
            #expect(try program.directory.contents(of: "tokens").contains(secret) == false)
            #expect(try await program.tokenError(for: first.account).code == .noTokensFound)

            let again = try await program.signIn()
            #expect(again.account.id == first.account.id)
            #expect(try await program.token(for: again.account).accessToken == again.accessToken)
        }
    }
}
