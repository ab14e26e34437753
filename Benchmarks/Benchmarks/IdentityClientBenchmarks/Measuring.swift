// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Benchmark
import BenchmarkSetup

extension BenchmarkMetric {
    /// The processor time of one call. Unlike the time on the clock, it does not depend on other running programs.
    static let processor = BenchmarkMetric.custom("CPU per call (ns)", useScalingFactor: false)
    static let requests = BenchmarkMetric.custom("Token requests", useScalingFactor: false)
    static let resident = BenchmarkMetric.custom("Resident growth (KiB)", useScalingFactor: false)
}

extension Benchmark.Configuration {
    /// The configuration for short calls: rounds of a thousand calls each.
    static var calls: Benchmark.Configuration {
        .init(
            metrics: [.processor, .wallClock],
            warmupIterations: 3,
            scalingFactor: .kilo,
            maxDuration: .seconds(1)
        )
    }
    /// The configuration for calls that are long enough to be measured one by one.
    static var longCalls: Benchmark.Configuration {
        .init(
            metrics: [.processor, .wallClock],
            warmupIterations: 3,
            maxDuration: .seconds(1),
            maxIterations: 500
        )
    }
}

extension Benchmark {
    /// Makes the calls of a round and measures only the calls.
    func calls(_ call: () async throws -> Void) async rethrows {
        let count = scaledIterations.count
        startMeasurement()
        let start = processorTime()
        for _ in 0..<count { try await call() }
        let spent = processorTime() - start
        stopMeasurement()
        measurement(.processor, spent / count)
    }
}
