// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

extension EndToEnd {
    /// Sign-in in two steps: the person is elsewhere, no program listens, and the final address is handed back by hand.
    @Suite struct ManualSignInTests {
        private func program(at name: Provider.Name) throws -> Program {
            let provider = try Provider(name)
            return try Program(at: provider, with: .form) { $0.redirectURI = try provider.redirectURIWithoutListener }
        }

        /// Returns the final address in the person's browser. The provider has redirected to it, and no program answers
        /// there.
        private func answer(to request: AuthorizationRequest, _ program: Program) async throws -> URL {
            let person = try Person(.form, at: program.provider, logsTo: program.directory)
            try await person.launcher.open(request.url)
            let address = try await person.redirect()
            #expect(address.absoluteString.hasPrefix(request.redirectURI.absoluteString))
            return address
        }

        private func item(_ name: String, of url: URL) throws -> String {
            let items = URLComponents(string: url.absoluteString)?.queryItems ?? []
            return try #require(items.first { $0.name == name }?.value)
        }

        @Test(arguments: Provider.Name.allCases)
        func theAddressIsHandedBack(name: Provider.Name) async throws {
            let program = try program(at: name)
            let request = try await program.app.prepareAuthorization(InteractiveParameters(scopes: Program.scopes))
            let address = try await answer(to: request, program)

            let result = try await program.app.completeAuthorization(request, with: address)
            #expect(try await program.isHonoured(result))
            #expect(try await program.token(for: result.account).source == .cache)

            let error = try await #require(throws: AuthenticationError.self) {
                try await program.app.completeAuthorization(request, with: address)
            }
            #expect(error.code == .invalidArgument)
            #expect(program.wire.tokenRequests.count == 1, "an answer is good for one sign-in")
        }

        /// An attacker gives the person an answer from the attacker's own sign-in. The state does not match.
        @Test(arguments: Provider.Name.allCases)
        func theAnswerToAnotherRequestIsRefused(name: Provider.Name) async throws {
            let program = try program(at: name)
            let parameters = InteractiveParameters(scopes: Program.scopes)
            let other = try await program.app.prepareAuthorization(parameters)
            let request = try await program.app.prepareAuthorization(parameters)
            let address = try await answer(to: other, program)

            let error = try await #require(throws: AuthenticationError.self) {
                try await program.app.completeAuthorization(request, with: address)
            }
            #expect(error.code == .stateMismatch)
            #expect(program.wire.tokenRequests.isEmpty)
            let result = try await program.app.completeAuthorization(other, with: address)
            #expect(try await program.isHonoured(result))
        }

        /// A stolen code with the right state. The provider compares the verifier, which the thief's request lacks.
        @Test(arguments: Provider.Name.allCases)
        func aCodeIsWorthNothingWithTheWrongVerifier(name: Provider.Name) async throws {
            let program = try program(at: name)
            let parameters = InteractiveParameters(scopes: Program.scopes)
            let request = try await program.app.prepareAuthorization(parameters)
            let victim = try await program.app.prepareAuthorization(parameters)
            #expect(try item("code_challenge_method", of: victim.url) == "S256")
            #expect(try item("code_challenge", of: victim.url) != item("code_challenge", of: request.url))
            let stolen = try await answer(to: victim, program).absoluteString
            let injected = try stolen.replacing(item("state", of: victim.url), with: item("state", of: request.url))

            // The thief's request, sent to the provider directly.
            let theft = try await program.redeem([
                "grant_type": "authorization_code", "code": item("code", of: #require(URL(string: stolen))),
                "redirect_uri": victim.redirectURI.absoluteString,
                "code_verifier": String(repeating: "x", count: 43),
            ])
            #expect(theft.status == (name == .glewlwyd ? 403 : 400))
            #expect(theft.answer.accessToken == nil)

            // The library, with the code of one request and the verifier of another.
            let error = try await #require(throws: AuthenticationError.self) {
                try await program.app.completeAuthorization(request, with: try #require(URL(string: injected)))
            }
            #expect(error.code == .loginRequired)
            #expect(try await program.app.allAccounts().isEmpty)
        }
    }
}
