// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if Metrics
import CoreMetrics
#endif
#if Tracing
import Tracing
#endif

#if Metrics || Tracing
/// Hands everything to the backends that the program chose for swift-metrics and swift-distributed-tracing.
struct SwiftTelemetry: Telemetry {
    func record(_ event: TelemetryEvent) {
        #if Metrics
        for measurement in Measurement.of(event) {
            let labels = measurement.labels.map { ($0.name, $0.value) }
            if let duration = measurement.duration {
                let (seconds, attoseconds) = duration.components
                Timer(label: measurement.name, dimensions: labels)
                    .recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
            } else {
                Counter(label: measurement.name, dimensions: labels).increment()
            }
        }
        #endif
    }

    func begin(_ activity: Activity, correlationID: String?) -> (any OpenSpan)? {
        #if Tracing
        let kind: SpanKind = activity == .request ? .client : .internal
        let span = startSpan(activity.spanName, ofKind: kind, at: DefaultTracerClock.now)
        if activity.isAcquisition { span.attributes["identity.kind"] = activity.rawValue }
        if let correlationID { span.attributes["identity.correlation_id"] = correlationID }
        return TracedSpan(span: span)
        #else
        nil
        #endif
    }
}
#endif

#if Tracing
private struct TracedSpan: OpenSpan {
    let span: any Span

    func asParent<Value>(_ work: () async throws -> Value) async throws -> Value {
        try await ServiceContext.withValue(span.context) { try await work() }
    }

    /// The error itself is not recorded: its text may name the person.
    func end(_ completion: Completion) {
        span.attributes["identity.outcome"] = completion.outcome.rawValue
        if let source = completion.source { span.attributes["identity.source"] = source }
        if let error = completion.error {
            span.attributes["error.type"] = error
            span.setStatus(SpanStatus(code: .error))
        }
        span.end()
    }
}
#endif
