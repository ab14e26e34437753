// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

extension EndToEnd {
    /// Signing in on another device (RFC 8628). Both providers publish S256, and get a challenge with the request.
    @Suite struct DeviceCodeTests {
        /// Signs in with a device code; a scripted person completes it in a browser elsewhere.
        private func signIn(_ program: Program) async throws -> AuthenticationResult {
            let elsewhere = try Person(.form, at: program.provider, end: "page", logsTo: program.directory)
            let (prompts, shown) = AsyncStream.makeStream(of: DeviceCodePrompt.self)
            let signIn = Task {
                defer { shown.finish() }
                return try await program.app.acquireTokenWithDeviceCode(
                    DeviceCodeParameters(scopes: Program.scopes)
                ) { shown.yield($0) }
            }
            for await prompt in prompts {
                try await elsewhere.launcher.open(try #require(prompt.verificationURIComplete))
            }
            let result = try await signIn.value
            #expect(try await elsewhere.exitStatus() == 0)
            return result
        }

        @Test func thePersonSignsInElsewhere() async throws {
            let provider = try Provider(.glewlwyd)
            let program = try Program(at: provider, with: .form) { configuration in
                configuration.clientID = ClientID(rawValue: try provider.setting("DEVICE_CLIENT_ID"))
            }
            let result = try await signIn(program)
            #expect(try await program.isHonoured(result))
            #expect(try await program.token(for: result.account).source == .cache)
        }

        /// django-oauth-toolkit does not publish its endpoint. It gives a device tokens but no ID token, so the sign-in
        /// fails at the last answer.
        @Test func anEndpointThatIsNotPublishedIsAskedWhereTheProgramNamesIt() async throws {
            let provider = try Provider(.djangoOAuthToolkit)
            let program = try Program(at: provider, with: .form) { configuration in
                configuration.clientID = ClientID(rawValue: try provider.setting("DEVICE_CLIENT_ID"))
                configuration.authority = try .openIDConnect(
                    issuer: provider.issuer,
                    deviceAuthorization: provider.setting("DEVICE_ENDPOINT")
                )
            }
            let error = try await #require(throws: AuthenticationError.self) { try await signIn(program) }
            #expect(error.code == .unsupported)
            let last = try #require(program.wire.tokenRequests.last)
            #expect(last.status == 200 && last.answer.accessToken != nil && last.form["code_verifier"] != nil)
        }
    }
}
