// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import IdentityTelemetry
import InMemoryTracing
import MetricsTestKit
import Testing
import Tracing

/// The traits `Metrics` and `Tracing`, with backends in memory. `Scripts/test-telemetry` builds them.
@Suite struct SwiftTelemetryTests {
    private struct Failed: Error {}

    private func observe(_ activity: Activity, _ completion: Completion, _ work: () async throws -> Void) async throws {
        try await TelemetryBackend.current.observe(
            activity,
            correlationID: "0f8f",
            completion: { _ in completion },
            work
        )
    }

    @Test func countsAndTimesInTheProgramsMetrics() async throws {
        let metrics = TestMetrics()
        try await withMetricsFactory(metrics) {
            try await observe(.acquireSilently, .success(source: "cache")) {}
            await #expect(throws: Failed.self) {
                try await observe(.acquireSilently, .failure("network")) { throw Failed() }
            }
            try await observe(.cacheRead, .success()) {}
            TelemetryBackend.current?.record(.refresh(.led))
            TelemetryBackend.current?.record(.refresh(.led))
        }
        #expect(metrics.counterTotal(label: "identity_acquisitions") == 2)
        let failed = [("kind", "silent"), ("outcome", "error"), ("source", "none"), ("error", "network")]
        #expect(metrics.counterTotal(label: "identity_acquisitions", dimensions: failed) == 1)
        #expect(metrics.counterTotal(label: "identity_refreshes", dimensions: [("part", "led")]) == 2)
        let read = try metrics.expectTimer(
            "identity_phase_duration",
            [("phase", "cache_read"), ("outcome", "success")]
        )
        #expect(read.values.count == 1)
    }

    @Test func nestsTheSpansAndMarksErrorsWithoutTheirText() async throws {
        let tracer = InMemoryTracer()
        await withTracer(tracer) {
            _ = await #expect(throws: Failed.self) {
                try await observe(.acquireInteractively, .failure("network")) {
                    try await observe(.person, .success()) {}
                    try await observe(.request, .failure("network")) { throw Failed() }
                }
            }
        }
        let spans = tracer.finishedSpans
        #expect(spans.map(\.operationName) == ["identity.person", "identity.request", "identity.acquire"])
        let acquisition = try #require(spans.last)
        #expect(spans.dropLast().allSatisfy { $0.parentSpanID == acquisition.spanID })
        #expect(spans.map { $0.status?.code } == [nil, .error, .error])
        #expect(spans.map { $0.kind } == [.internal, .client, .internal])
        #expect(spans.allSatisfy { $0.errors.isEmpty && $0.events.isEmpty && $0.status?.message == nil })
        var attributes: [String: String] = [:]
        acquisition.attributes.forEach { attributes[$0] = "\($1)" }
        #expect(
            Set(attributes.keys)
                == ["identity.kind", "identity.correlation_id", "identity.outcome", "error.type"]
        )
    }
}
