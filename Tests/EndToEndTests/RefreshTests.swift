// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import Testing

extension EndToEnd {
    /// Expired tokens at real providers, which rotate refresh tokens and revoke all of them if an old token comes back.
    @Suite struct RefreshTests {
        @Test(arguments: Provider.Name.allCases)
        func anExpiredTokenIsRefreshedAndTheRefreshTokenRotates(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form)
            let first = try await program.signIn()
            var secrets = [try program.wire.refreshToken]

            for _ in 1...2 {
                program.clock.advance(by: try program.provider.accessTokenLifetime)
                let refreshed = try await program.token(for: first.account)
                #expect(refreshed.source == .identityProvider)
                #expect(refreshed.accessToken != first.accessToken)
                #expect(refreshed.account.id == first.account.id)
                #expect(try await program.isHonoured(refreshed))
                #expect(try await program.token(for: first.account).accessToken == refreshed.accessToken)
                #expect(program.wire.tokenRequests.last?.form["refresh_token"] == secrets.last)
                secrets.append(try program.wire.refreshToken)
            }
            #expect(Set(secrets).count == 3)
            #expect(program.wire.tokenRequests.count == 3)
            let files = try program.directory.contents(of: "tokens")
            #expect(secrets.map(files.contains) == [false, false, true])
        }

        /// A thief's attempt makes the provider end the sign-in. The program learns of it with its next refresh.
        @Test(arguments: Provider.Name.allCases)
        func anOldRefreshTokenIsDeadAndItsUseEndsTheSignIn(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form)
            let account = try await program.signIn().account
            try await program.sufferTheft(from: account)
            program.clock.advance(by: try program.provider.accessTokenLifetime)
            let error = try await program.tokenError(for: account)
            #expect(error.code == .signInExpired)
            #expect(AuthenticationError.Code.interactionRequired ~= error)
            #expect(try await program.app.allAccounts().map(\.id) == [account.id], "whom to ask to sign in again")

            let again = try await program.signIn { $0.account = account }
            #expect(again.account.id == account.id)
            program.clock.advance(by: try program.provider.accessTokenLifetime)
            #expect(try await program.token(for: account).source == .identityProvider)
        }

        @Test func aRevokedRefreshTokenNeedsThePerson() async throws {
            let program = try Program(at: Provider(.djangoOAuthToolkit), with: .form)
            let account = try await program.signIn().account
            let revocation = try await program.wire.post(
                ["client_id": program.provider.clientID.rawValue, "token": program.wire.refreshToken],
                to: program.provider.issuer + "/revoke_token/"
            )
            #expect(revocation.status == 200)

            program.clock.advance(by: try program.provider.accessTokenLifetime)
            let error = try await program.tokenError(for: account)
            #expect(error.code == .signInExpired)
            #expect(error.serverError?.error == "invalid_grant")
        }

        /// To the provider, a second request would look like theft and end the sign-in.
        @Test(arguments: Provider.Name.allCases)
        func manyCallersShareOneRefresh(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form)
            let first = try await program.signIn()
            program.clock.advance(by: try program.provider.accessTokenLifetime)

            let tokens = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 1...20 {
                    group.addTask { try await program.token(for: first.account).accessToken }
                }
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
            #expect(tokens.count == 20)
            #expect(Set(tokens).count == 1)
            #expect(tokens.first != first.accessToken)
            #expect(program.wire.tokenRequests.filter { $0.form["grant_type"] == "refresh_token" }.count == 1)

            program.clock.advance(by: try program.provider.accessTokenLifetime)
            #expect(try await program.token(for: first.account).source == .identityProvider)
        }

        @Test func aRefusedScopeIsForThePersonToAgreeTo() async throws {
            let program = try Program(at: Provider(.djangoOAuthToolkit), with: .form)
            let account = try await program.signIn().account
            let error = try await #require(throws: AuthenticationError.self) {
                try await program.app.acquireTokenSilently(scopes: ["api.write"], account: account)
            }
            #expect(error.code == .consentRequired)

            let more = try await program.signIn { $0.scopes = ["api.read", "api.write"] }
            #expect(more.scopes.isSuperset(of: ["api.read", "api.write"]))
            #expect(try await program.token(for: account).source == .cache)
        }

        @Test(arguments: Provider.Name.allCases)
        func anotherProcessFindsTheSession(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form)
            let first = try await program.signIn()
            let tokens = "\(program.directory.path)/tokens"

            await #expect(processExitsWith: .success) {
                [name = name as Provider.Name, tokens = tokens as String, expected = first.accessToken as String] in
                let provider = try Provider(name)
                var configuration = ClientConfiguration(
                    clientID: try provider.clientID,
                    authority: try provider.authority,
                    cache: FileTokenCache(directory: tokens)
                )
                let hits = try PublicClientApplication(configuration)
                let account = try #require(try await hits.allAccounts().first)
                let hit = try await hits.acquireTokenSilently(scopes: Program.scopes, account: account)
                #expect(hit.source == .cache)
                #expect(hit.accessToken == expected)

                let clock = AheadClock()
                clock.advance(by: try provider.accessTokenLifetime)
                configuration.clock = clock
                let refreshes = try PublicClientApplication(configuration)
                let refreshed = try await refreshes.acquireTokenSilently(scopes: Program.scopes, account: account)
                #expect(refreshed.source == .identityProvider)
            }
            // The token stored by the other process is found here, without a request.
            let found = try await program.token(for: first.account)
            #expect(found.source == .cache)
            #expect(found.accessToken != first.accessToken)
            #expect(try await program.isHonoured(found))
            #expect(program.wire.tokenRequests.count == 1)
        }
    }
}
