// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization
import Testing

extension EndToEnd {
    /// Answers from a real provider that were changed on their way, and sign-ins that cannot succeed.
    @Suite struct HostileAnswerTests {
        struct Case: Sendable, CustomTestStringConvertible {
            let name: Provider.Name
            let mode: String
            var testDescription: String { "\(mode) at \(name.testDescription)" }

            static func each(_ modes: String...) -> [Case] {
                Provider.Name.allCases.flatMap { name in modes.map { Case(name: name, mode: $0) } }
            }
        }

        @Test(arguments: Case.each("tamper-state", "drop-state", "repeat-state"))
        func anAnswerWithoutTheRightStateIsRefusedAndTheRightOneStillCounts(_ test: Case) async throws {
            let provider = try Provider(test.name)
            let program = try Program(at: provider, with: .form, mode: test.mode)
            let honest = try Person(.form, at: provider, logsTo: program.directory)
            let address = Mutex<URL?>(nil)
            async let result = program.signIn { $0.onAuthorizationURL = { url in address.withLock { $0 = url } } }

            try await program.person.exitStatus()
            let refusal = try #require(try program.person.events("delivered").first)
            #expect(refusal.http == 400)
            #expect(program.wire.tokenRequests.isEmpty)

            try await honest.launcher.open(try #require(address.withLock { $0 }))
            #expect(try await program.isHonoured(await result))
            #expect(program.wire.tokenRequests.count == 1)
        }

        @Test func withoutTheRightStateTheSignInEndsAtItsDeadline() async throws {
            let program = try Program(at: Provider(.djangoOAuthToolkit), with: .form, mode: "drop-state")
            let error = try await program.signInError { $0.timeout = .seconds(8) }
            #expect(error.code == .interactionTimedOut)
            #expect(try program.person.events("delivered").map(\.http) == [400])
            #expect(program.wire.tokenRequests.isEmpty)
        }

        @Test(arguments: Provider.Name.allCases)
        func anotherIssuersAnswerIsNotRedeemed(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form, mode: "tamper-iss")
            #expect(try await program.signInError().code == .invalidResponse)
            #expect(program.wire.tokenRequests.isEmpty)
            #expect(try await program.app.allAccounts().isEmpty)
        }

        @Test func aMissingIssuerIsRefusedWhereItWasAnnounced() async throws {
            let program = try Program(at: Provider(.djangoOAuthToolkit), with: .form, mode: "drop-iss")
            #expect(try await program.signInError().code == .invalidResponse)
            #expect(program.wire.tokenRequests.isEmpty)
        }

        /// glewlwyd names its issuer without having announced it (RFC 9207 §3), so no client can rely on it.
        @Test func aMissingIssuerIsAcceptedWhereItWasNotAnnounced() async throws {
            let program = try Program(at: Provider(.glewlwyd), with: .form, mode: "drop-iss")
            #expect(try await program.isHonoured(program.signIn()))
        }

        /// glewlwyd refuses with 403 and its own error; django-oauth-toolkit refuses as RFC 6749 §5.2 demands.
        @Test(arguments: Provider.Name.allCases)
        func aCodeTheProviderDoesNotKnowIsATypedError(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form, mode: "tamper-code")
            let error = try await program.signInError()
            #expect(error.code == .loginRequired)
            #expect(error.serverError?.httpStatus == (name == .glewlwyd ? 403 : 400))
            #expect(error.serverError?.error == (name == .glewlwyd ? "invalid_code" : "invalid_grant"))
            #expect(program.wire.tokenRequests.count == 1, "a code is sent once")
            #expect(try await program.app.allAccounts().isEmpty)
            try await program.person.exitStatus()
            #expect(try program.person.events("page").last?.text?.contains("Not signed in") == true)
        }

        @Test(arguments: Provider.Name.allCases)
        func anAnswerThatComesTwiceIsRedeemedOnce(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form, mode: "double")
            let result = try await program.signIn()
            try await program.person.exitStatus()
            #expect(try await program.isHonoured(result))
            #expect(program.wire.tokenRequests.count == 1)
        }

        @Test(arguments: Provider.Name.allCases)
        func strangersAtThePortDoNotEndTheSignIn(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form, mode: "stranger")
            let result = try await program.signIn()
            try await program.person.exitStatus()
            #expect(try await program.isHonoured(result))
            let port = try #require(URL(string: program.person.events("redirected").first?.address ?? "")?.port)
            let visits = try program.person.events("response").filter {
                $0.address?.contains("127.0.0.1:\(port)/?") == true
            }
            #expect(visits.prefix(2).allSatisfy { $0.http == 400 })
        }

        @Test(arguments: Provider.Name.allCases)
        func anUnknownClientEndsAtTheProvidersPage(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form) { $0.clientID = "nobody-knows-me" }
            let error = try await program.signInError { $0.timeout = .seconds(2) }
            #expect(error.code == .interactionTimedOut)
            try await program.person.exitStatus()
            #expect(try program.person.events("refused").count == 1)
            #expect(try program.person.events("redirected").isEmpty)
        }

        @Test(arguments: Provider.Name.allCases)
        func aRedirectURIThatIsNotRegisteredEndsAtTheProvidersPage(name: Provider.Name) async throws {
            let provider = try Provider(name)
            let program = try Program(at: provider, with: .form) {
                $0.redirectURI = try .loopback(ports: provider.ports, path: "/elsewhere")
            }
            let error = try await program.signInError { $0.timeout = .seconds(2) }
            #expect(error.code == .interactionTimedOut)
            try await program.person.exitStatus()
            #expect(try program.person.events("refused").count == 1)
            #expect(try program.person.events("redirected").isEmpty)
        }

        @Test func aCancelledSignInFreesItsPort() async throws {
            let program = try Program(at: Provider(.djangoOAuthToolkit), with: .form, mode: "abandon")
            let (addresses, shown) = AsyncStream.makeStream(of: URL.self)
            let signIn = Task { try await program.signIn { $0.onAuthorizationURL = { shown.yield($0) } } }
            let address = try #require(await addresses.first { _ in true })
            try await program.person.exitStatus()
            signIn.cancel()
            await #expect(throws: CancellationError.self) { try await signIn.value }

            let items = URLComponents(string: address.absoluteString)?.queryItems ?? []
            let redirectURI = try #require(items.first { $0.name == "redirect_uri" }?.value)
            let port = try #require(URL(string: redirectURI)?.port.flatMap(UInt16.init(exactly:)))
            let next = try await LoopbackRedirectReceiver().start(
                for: .loopback(host: .ipv4, ports: port...port),
                responseMode: .query
            )
            await next.close()
        }
    }
}
