// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The receiver of metrics and spans.
package protocol Telemetry: Sendable {
    func record(_ event: TelemetryEvent)

    /// Begins a span below the task's current span; `nil` if there are no spans.
    ///
    /// - Parameter correlationID: The name of the request at the provider, a random identifier.
    func begin(_ activity: Activity, correlationID: String?) -> (any OpenSpan)?
}

/// A span that has begun.
package protocol OpenSpan: Sendable {
    /// Runs `work` with this span as the task's current span.
    func asParent<Value>(_ work: () async throws -> Value) async throws -> Value

    func end(_ completion: Completion)
}

/// The receiver that the package's traits ask for.
package enum TelemetryBackend {
    /// swift-metrics with the trait `Metrics`, swift-distributed-tracing with the trait `Tracing`; `nil` without both.
    package static var current: (any Telemetry)? {
        #if Metrics || Tracing
        SwiftTelemetry()
        #else
        nil
        #endif
    }
}

extension (any Telemetry)? {
    /// Runs `work`, in a span, and measures its time.
    package func observe<Value>(
        _ activity: Activity,
        correlationID: String? = nil,
        completion: (Result<Value, any Error>) -> Completion,
        _ work: () async throws -> Value
    ) async throws -> Value {
        guard let self else { return try await work() }
        let begin = ContinuousClock.now
        let span = self.begin(activity, correlationID: correlationID)
        let outcome: Result<Value, any Error>
        do {
            let value = if let span { try await span.asParent(work) } else { try await work() }
            outcome = .success(value)
        } catch {
            outcome = .failure(error)
        }
        let end = completion(outcome)
        span?.end(end)
        self.record(.finished(activity, end, begin.duration(to: .now)))
        return try outcome.get()
    }
}
