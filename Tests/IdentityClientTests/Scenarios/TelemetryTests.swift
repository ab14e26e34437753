// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTelemetry
import IdentityTestSupport
import IdentityTesting
import Synchronization
import SystemSupport
import Testing

@testable import IdentityClient

/// The events behind the metrics and the spans, without the packages that the traits bring.
@Suite(.timeLimit(.minutes(1)))
struct TelemetryTests {
    /// Keeps the events, and the spans with the activity that they stand below.
    final class Recorder: Telemetry {
        @TaskLocal static var current: Activity?

        struct Span: OpenSpan {
            let recorder: Recorder
            let activity: Activity
            let parent = Recorder.current

            func asParent<Value>(_ work: () async throws -> Value) async throws -> Value {
                try await Recorder.$current.withValue(activity) { try await work() }
            }

            func end(_ completion: Completion) {
                recorder.spans.withLock { $0.append((activity, parent, completion)) }
            }
        }

        /// Finished when a wait for a lease begins.
        let waits = Promise<Void>()
        let events = Mutex<[TelemetryEvent]>([])
        let spans = Mutex<[(activity: Activity, parent: Activity?, completion: Completion)]>([])

        func record(_ event: TelemetryEvent) { events.withLock { $0.append(event) } }

        func begin(_ activity: Activity, correlationID: String?) -> (any OpenSpan)? {
            if activity == .lease { waits.finish(.success(())) }
            return Span(recorder: self, activity: activity)
        }

        /// The ends of an activity.
        func ends(of activity: Activity) -> [Completion] {
            events.withLock { events in
                events.compactMap { event in
                    if case .finished(activity, let completion, _) = event { completion } else { nil }
                }
            }
        }

        func count(of part: TelemetryEvent.RefreshPart) -> Int {
            events.withLock { $0.count { $0 == .refresh(part) } }
        }

        func clear() {
            events.withLock { $0 = [] }
            spans.withLock { $0 = [] }
        }
    }

    private let recorder = Recorder()

    @Test func tellsASignInWithItsParts() async throws {
        let setup = try TestSetup()
        _ = try await setup.signedIn { $0.telemetry = recorder }
        #expect(recorder.ends(of: .acquireInteractively) == [.success(source: "identityProvider")])
        #expect(recorder.ends(of: .person) == [.success()])
        #expect(recorder.ends(of: .request).count == setup.transport.requests.count)
        let spans = recorder.spans.withLock { $0 }
        #expect(spans.last?.activity == .acquireInteractively && spans.last?.parent == nil)
        #expect(spans.dropLast().allSatisfy { $0.parent == .acquireInteractively })
        #expect(Set(spans.map(\.activity)).isSuperset(of: [.request, .person, .cacheWrite]))
    }

    @Test func tellsAHitAndARefresh() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn { $0.telemetry = recorder }
        recorder.clear()
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(recorder.ends(of: .acquireSilently) == [.success(source: "cache")])
        #expect(recorder.ends(of: .request).isEmpty && recorder.ends(of: .cacheRead) == [.success()])

        recorder.clear()
        setup.clock.advance(by: .seconds(3600))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(recorder.ends(of: .acquireSilently) == [.success(source: "identityProvider")])
        #expect(recorder.count(of: .led) == 1 && recorder.count(of: .shared) == 0)
        let request = recorder.spans.withLock { $0.first { $0.activity == .request } }
        #expect(request?.parent == .acquireSilently)
    }

    @Test func tellsWhoLedARefreshAndWhoSharedIt() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn { $0.telemetry = recorder }
        let (one, gate) = try await setup.heldRefresh(by: application, for: first.account)
        let other = Task.immediate {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        gate.open()
        _ = try await (one.value, other.value)
        #expect(recorder.count(of: .led) == 1 && recorder.count(of: .shared) == 1)
    }

    @Test func tellsTheWaitForAnotherProgramsRefreshOnce() async throws {
        let setup = try TestSetup()
        let (first, result) = try await setup.signedIn()
        let second = try setup.application { $0.telemetry = recorder }
        let (one, gate) = try await setup.heldRefresh(by: first, for: result.account)
        let other = Task {
            try await second.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        }
        try await recorder.waits.value()
        gate.open()
        _ = try await one.value
        #expect(try await other.value.source == .cache)
        #expect(recorder.ends(of: .lease) == [.success()])
        #expect(recorder.spans.withLock { $0.count { $0.activity == .lease } } == 1)
    }

    /// Calls that acquire a token to use it. The sign-ins are in `SignInBindingTests`.
    @Test func tellsWhatUsesAToken() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn { $0.telemetry = recorder }
        recorder.clear()
        let subject = TokenExchangeParameters.Subject.accessToken(of: first.account, scopes: ["api.read"])
        _ = try await application.exchangeToken(TokenExchangeParameters(subject))
        _ = try await application.userInfo(for: first.account)
        _ = try await application.introspectToken(of: first.account, scopes: ["api.read"])
        for activity in [Activity.exchangeToken, .userInfo, .introspectToken] {
            #expect(recorder.ends(of: activity) == [.success()], "\(activity)")
        }
        let requests = recorder.spans.withLock { $0.filter { $0.activity == .request }.map(\.parent) }
        #expect(Set(requests) == [.exchangeToken, .userInfo, .introspectToken])
    }

    @Test func tellsAnErrorByItsFamilyAlone() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn { $0.telemetry = recorder }
        recorder.clear()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .refusal("invalid_grant", description: "alice@example.test"))
        await #expect(throws: AuthenticationError.self) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(recorder.ends(of: .acquireSilently) == [.failure("interaction_required")])
        #expect(recorder.ends(of: .request) == [.success()])
        setup.provider.failNext(.token, with: .serverError())
        await #expect(throws: AuthenticationError.self) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(recorder.ends(of: .acquireInteractively).map(\.error) == ["server_unavailable"])
    }

    @Test func tellsACancellationFromAFailure() {
        #expect(Completion.of(Result<Void, any Error>.failure(CancellationError())) == .cancelled)
    }

    /// A label has one of a few values: nothing from the outside can make a new one.
    @Test func boundsTheLabels() {
        let sources = [AuthenticationResult.Source.cache, .identityProvider, .broker].map(\.rawValue) + ["none"]
        let families = AuthenticationError.Family.allCases.map(\.rawValue) + ["other", "none"]
        let allowed: [String: [String]] = [
            "kind": Activity.allCases.map(\.rawValue), "phase": Activity.allCases.map(\.rawValue),
            "outcome": Completion.Outcome.allCases.map(\.rawValue), "source": sources, "error": families,
            "part": TelemetryEvent.RefreshPart.allCases.map(\.rawValue),
        ]
        struct Foreign: Error {}
        let hostile = AuthenticationError(AuthenticationError.Code(rawValue: "alice@example.test"), "m")
        let outcomes: [Result<Int, any Error>] = [
            .success(1), .failure(hostile), .failure(Foreign()), .failure(CancellationError()),
            .failure(AuthenticationError(.networkTimedOut, "m")),
        ]
        var names: [String: Set<[String]>] = [:]
        for activity in Activity.allCases {
            for outcome in outcomes {
                for measurement in Measurement.of(.finished(activity, Completion.of(outcome), .seconds(1))) {
                    names[measurement.name, default: []].insert(measurement.labels.map(\.name))
                    for label in measurement.labels {
                        #expect(allowed[label.name]?.contains(label.value) == true, "\(label)")
                    }
                }
            }
        }
        #expect(
            names.keys.sorted() == [
                "identity_acquisition_duration", "identity_acquisitions", "identity_phase_duration",
            ]
        )
        #expect(names.values.allSatisfy { $0.count == 1 }, "A metric has the same labels in every value.")
    }

    @Test func isOffWithoutATrait() throws {
        #expect(TelemetryBackend.current == nil)
        let setup = try TestSetup()
        let application = try setup.application()
        #expect(!application.environment.isMeasured && application.environment.store.cache is InMemoryTokenCache)
    }
}
