// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// If a request cannot be pushed, no browser opens, and the request is not sent through the browser instead.
@Suite(.timeLimit(.minutes(1)))
struct RefusedPushTests {
    static let wrong: [(TestIdentityProvider.Fault, AuthenticationError.Code)] = [
        (.html, .malformedResponse),
        (WrongAnswer.blockPage(status: 403), .malformedResponse),
        (.notUTF8, .malformedResponse),
        (.oversized(), .malformedResponse),
        (.endless, .malformedResponse),
        (.redirect(to: "https://evil.example.test/par"), .malformedResponse),
        (.redirect(to: "https://login.example.test/par", status: 308), .malformedResponse),
        (.repeating("request_uri"), .malformedResponse),
        (.changing("request_uri", to: nil), .malformedResponse),
        (.changing("request_uri", to: "7"), .malformedResponse),
        (.changing("request_uri", to: #""urn:a\r\nb""#), .malformedResponse),
        (.changing("expires_in", to: "0"), .malformedResponse),
        (.changing("expires_in", to: nil), .malformedResponse),
        (.answer(status: 201), .malformedResponse),
        (.answer(status: 204), .malformedResponse),
        (.emptyBadRequest, .configuration),
        (.answer(status: 404), .configuration),
        (.answer(status: 413), .configuration),
        (.refusal("invalid_request"), .configuration),
        (.refusal("invalid_client", status: 401), .clientNotRegistered),
        (.refusal("unauthorized_client"), .clientNotRegistered),
        (.refusal("invalid_redirect_uri"), .clientNotRegistered),
        (.refusal("invalid_scope"), .invalidScope),
        (.refusal("invalid_client", status: 200), .clientNotRegistered),
        (.serverError(status: 500), .serverUnavailable),
        (.throttled(retryAfter: .seconds(9)), .throttled),
        (.drop, .connectionFailed),
    ]

    private func parameters(_ shown: Shared<Int>) -> InteractiveParameters {
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.onAuthorizationURL = { _ in shown.withLock { $0 += 1 } }
        return parameters
    }

    @Test(arguments: wrong.indices, [true, false])
    func opensNoBrowser(_ index: Int, isRequired: Bool) async throws {
        let (fault, code) = Self.wrong[index]
        let setup = try TestSetup { $0.pushedAuthorizationRequests = isRequired ? .required : .offered }
        let application = try setup.application { $0.compatibility.pushedAuthorizationRequests = .whenOffered }
        setup.provider.failNext(.pushedAuthorization, with: fault)
        let shown = Shared(0)
        let error = try await expectError(code) { try await application.acquireTokenInteractively(parameters(shown)) }
        #expect(error.correlationID != nil && !error.message.isEmpty)
        #expect(error.retryAfter == (code == .throttled ? .seconds(9) : nil))
        #expect(setup.browser.openedURLs.isEmpty && shown.value == 0)
        #expect(setup.provider.count(of: .pushedAuthorization) == 1, "a request is pushed once")
        #expect(setup.transport.requests.allSatisfy { $0.authority == "login.example.test" })
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        // The next sign-in finds nothing in its way.
        let result = try await application.acquireTokenInteractively(parameters(shown))
        #expect(result.source == .identityProvider && shown.value == 1)
    }

    @Test func saysTheServersWordsOfARefusal() async throws {
        let setup = try TestSetup(clients: [
            TestIdentityProvider.Client(redirectURIs: ["https://elsewhere.example.test/"])
        ]) {
            $0.pushedAuthorizationRequests = .required
        }
        let application = try setup.application()
        let error = try await expectError(.configuration) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.serverError?.error == "invalid_request" && error.serverError?.httpStatus == 400)
        #expect(error.serverError?.errorDescription?.contains("redirect URI") == true)
        #expect(setup.browser.openedURLs.isEmpty)
    }

    @Test func endsAtOnceWhenItIsCancelled() async throws {
        let setup = try TestSetup { $0.pushedAuthorizationRequests = .required }
        let application = try setup.application()
        let gate = TestGate()
        setup.provider.failNext(.pushedAuthorization, with: .held(by: gate))
        let task = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await setup.provider.waitForRequest(.pushedAuthorization)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(setup.browser.openedURLs.isEmpty)
        gate.open()
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }

    @Test func failsInTheFirstOfTwoSteps() async throws {
        let setup = try TestSetup { $0.pushedAuthorizationRequests = .required }
        let application = try setup.application()
        setup.provider.failNext(.pushedAuthorization, with: .serverError(retryAfter: .seconds(7)))
        let error = try await expectError(.serverUnavailable) {
            try await application.prepareAuthorization(InteractiveParameters(scopes: ["api.read"]))
        }
        #expect(error.retryAfter == .seconds(7))
    }
}
