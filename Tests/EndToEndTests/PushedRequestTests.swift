// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization
import Testing

extension EndToEnd {
    /// Signing in at a provider that accepts only pushed authorization requests (RFC 9126).
    @Suite struct PushedRequestTests {
        /// The address that a sign-in opened.
        private final class Shown: Sendable {
            let address = Mutex<URL?>(nil)

            func watch(_ parameters: inout InteractiveParameters) {
                parameters.onAuthorizationURL = { [self] url in address.withLock { $0 = url } }
            }

            var items: [String: String] {
                Form.decode(Array((address.withLock { $0 }?.query(percentEncoded: true) ?? "").utf8))
            }
        }

        @Test(arguments: [false, true])
        func thePersonSignsInAndStaysSignedIn(tls: Bool) async throws {
            let provider = try Provider(.glewlwyd, tls: tls, requiresPushing: true)
            let (program, shown) = (try Program(at: provider, with: .chromium), Shown())
            let first = try await program.signIn { shown.watch(&$0) }
            #expect(try await program.isHonoured(first))
            #expect(try await program.person.lastPage().title == "Signed in")
            #expect(Set(shown.items.keys) == ["client_id", "request_uri"])

            program.clock.advance(by: try provider.accessTokenLifetime)
            let refreshed = try await program.token(for: first.account)
            #expect(refreshed.source == .identityProvider)
            #expect(try await program.isHonoured(refreshed))
        }

        /// glewlwyd announces form posts, but answers a pushed request in the query all the same.
        @Test func theAnswerIsTakenFromTheQueryThoughAFormWasAskedFor() async throws {
            let program = try Program(at: Provider(.glewlwyd, requiresPushing: true), with: .chromium)
            #expect(try await program.isHonoured(program.signIn(nil)))
            let page = try await program.person.lastPage()
            #expect(page.title == "Signed in" && page.address?.hasSuffix("/?done") == true)
        }

        @Test func theAddressIsGoodForOneSignIn() async throws {
            let provider = try Provider(.glewlwyd, requiresPushing: true)
            let (program, shown) = (try Program(at: provider, with: .form), Shown())
            _ = try await program.signIn { shown.watch(&$0) }
            let late = try Person(.form, at: provider, logsTo: program.directory)
            try await late.launcher.open(try #require(shown.address.withLock { $0 }))
            try await late.exitStatus()
            #expect(try late.events("refused").count == 1)
            #expect(try late.events("redirected").isEmpty)
        }

        @Test(arguments: ["client", "redirect URI"])
        func whatTheProviderDoesNotKnowOpensNoBrowser(unknown: String) async throws {
            let provider = try Provider(.glewlwyd, requiresPushing: true)
            let program = try Program(at: provider, with: .form) { configuration in
                if unknown == "client" {
                    configuration.clientID = "nobody-knows-me"
                } else {
                    configuration.redirectURI = try .loopback(ports: provider.ports, path: "/elsewhere")
                }
            }
            let shown = Shown()
            let error = try await program.signInError { shown.watch(&$0) }
            #expect(error.code == .configuration)
            #expect(error.serverError?.httpStatus == 403)
            #expect(shown.address.withLock { $0 } == nil)
        }
    }
}
