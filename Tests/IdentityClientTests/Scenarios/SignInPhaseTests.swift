// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// The phases of a sign-in that a program can show, and when each is reported.
@Suite(.timeLimit(.minutes(1)))
struct SignInPhaseTests {
    /// The reported phases in order, with the state at each report.
    private struct Diary: Sendable {
        let entries = Shared<[String]>([])
        let setup: TestSetup

        func parameters(timeout: Duration = .seconds(300)) -> InteractiveParameters {
            var parameters = InteractiveParameters(scopes: ["api.read"])
            parameters.timeout = timeout
            parameters.onAuthorizationURL = { _ in write("address") }
            parameters.onProgress = { phase in
                switch phase {
                case .waitingForPerson: write("waiting")
                case .browserUnavailable(let message), .brokerUnavailable(let message): write(message)
                case .redirectReceived: write("received")
                }
            }
            return parameters
        }

        private func write(_ word: String) {
            let refused = setup.browser.pages.count { $0.status == 400 }
            let (opened, redeemed) = (setup.browser.openedURLs.count, setup.provider.count(of: .token))
            entries.withLock { $0.append("\(word) opened=\(opened) refused=\(refused) redeemed=\(redeemed)") }
        }
    }

    private static let begun = ["waiting opened=0 refused=0 redeemed=0", "address opened=0 refused=0 redeemed=0"]
    private static let complete = begun + ["received opened=1 refused=0 redeemed=0"]

    @Test func comeInOrder() async throws {
        let setup = try TestSetup()
        let diary = Diary(setup: setup)
        _ = try await setup.application().acquireTokenInteractively(diary.parameters())
        #expect(diary.entries.value == Self.complete)
    }

    /// Over SSH, for example: the program offers another way at once, instead of after the time-out.
    @Test func tellThatNoBrowserCouldBeOpened() async throws {
        struct NoBrowser: BrowserLauncher {
            func open(_ url: URL) async throws { throw AuthenticationError(.browserUnavailable, "No browser here.") }
        }
        let setup = try TestSetup()
        let (told, address) = (Shared<[String]>([]), Shared<URL?>(nil))
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.onAuthorizationURL = { url in address.withLock { $0 = url } }
        parameters.onProgress = { phase in
            guard case .browserUnavailable(let message) = phase else { return }
            told.withLock { $0.append(message) }
            // The person opens it by hand.
            Task { if let url = address.value { try await setup.browser.open(url) } }
        }
        let application = try setup.application { $0.browser = NoBrowser() }
        #expect(try await application.acquireTokenInteractively(parameters).source == .identityProvider)
        #expect(told.value == ["No browser here."])
        parameters.requiresBrowser = true
        try await expectError(.browserUnavailable) { try await application.acquireTokenInteractively(parameters) }
        #expect(told.value.count == 1)
    }

    @Test func tellHowLongThePersonHas() async throws {
        let setup = try TestSetup()
        let end = Shared<ContinuousClock.Instant?>(nil)
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.timeout = .seconds(90)
        parameters.onProgress = { phase in
            if case .waitingForPerson(let until) = phase { end.withLock { $0 = until } }
        }
        let start = ContinuousClock.now
        _ = try await setup.application().acquireTokenInteractively(parameters)
        let until = try #require(end.value)
        #expect((start + .seconds(90)...ContinuousClock.now + .seconds(90)).contains(until))
    }

    /// Any program may send a request to the port, which must not bring a window to the front.
    @Test func doNotChangeForAForgery() async throws {
        let setup = try TestSetup()
        let diary = Diary(setup: setup)
        setup.browser.redirectFaults = [.forgedFirst("state", value: "other")]
        _ = try await setup.application().acquireTokenInteractively(diary.parameters())
        #expect(diary.entries.value == Self.begun + ["received opened=1 refused=1 redeemed=0"])
    }

    @Test func areToldWhenTheProviderRefuses() async throws {
        let setup = try TestSetup { $0.consentScopes = ["api.read"] }
        let diary = Diary(setup: setup)
        setup.browser.behaviour = .deny
        try await expectError(.accessDenied) {
            try await setup.application().acquireTokenInteractively(diary.parameters())
        }
        #expect(diary.entries.value == Self.complete)
    }

    @Test func areToldWhenTheExchangeFails() async throws {
        let setup = try TestSetup()
        let diary = Diary(setup: setup)
        setup.provider.failNext(.token, with: .refusal("invalid_client", status: 401))
        try await expectError(.clientNotRegistered) {
            try await setup.application().acquireTokenInteractively(diary.parameters())
        }
        #expect(diary.entries.value == Self.complete)
    }

    @Test func endWithTheTask() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        setup.browser.behaviour = .abandon
        let waiting = Diary(setup: setup)
        let first = Task { try await application.acquireTokenInteractively(waiting.parameters()) }
        try await setup.provider.waitForRequest(.authorization)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(waiting.entries.value == Self.begun)

        // Also while the program itself is busy.
        setup.browser.behaviour = .approve
        let gate = TestGate()
        defer { gate.open() }
        setup.provider.failNext(.token, with: .held(by: gate))
        let busy = Diary(setup: setup)
        let second = Task { try await application.acquireTokenInteractively(busy.parameters()) }
        try await setup.provider.waitForRequest(.token)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(busy.entries.value.map { $0.prefix { $0 != " " } } == ["waiting", "address", "received"])
    }

    @Test func endWithTheTime() async throws {
        let setup = try TestSetup()
        setup.browser.behaviour = .abandon
        let diary = Diary(setup: setup)
        try await expectError(.interactionTimedOut) {
            try await setup.application().acquireTokenInteractively(diary.parameters(timeout: .milliseconds(100)))
        }
        #expect(diary.entries.value == Self.begun)
    }

    @Test func endBeforeAnotherSignInsBegin() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        setup.browser.behaviour = .abandon
        let diary = Diary(setup: setup)
        let first = Task { try await application.acquireTokenInteractively(diary.parameters()) }
        try await setup.provider.waitForRequest(.authorization)
        setup.browser.behaviour = .approve
        var parameters = diary.parameters()
        parameters.whenPending = .supersede
        _ = try await application.acquireTokenInteractively(parameters)
        try await expectError(.interactionSuperseded) { try await first.value }
        let opened = ["waiting opened=1 refused=0 redeemed=0", "address opened=1 refused=0 redeemed=0"]
        #expect(diary.entries.value == Self.begun + opened + ["received opened=2 refused=0 redeemed=0"])
    }

    @Test func doNotBeginWhereNoPageCanBeShown() async throws {
        let setup = try TestSetup()
        let diary = Diary(setup: setup)
        var parameters = diary.parameters()
        parameters.extraQueryItems = ["state": "mine"]
        try await expectError(.invalidArgument) {
            try await setup.application().acquireTokenInteractively(parameters)
        }
        #expect(diary.entries.value.isEmpty)
    }
}
