// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Benchmark
import Household

extension BenchmarkMetric {
    /// What one call costs the processor: unlike the time on the clock, it does not depend on what else runs.
    static let processor = BenchmarkMetric.custom("CPU per call (ns)", useScalingFactor: false)
    static let requests = BenchmarkMetric.custom("Token requests", useScalingFactor: false)
    static let resident = BenchmarkMetric.custom("Resident growth (KiB)", useScalingFactor: false)
}

extension Benchmark.Configuration {
    /// Rounds of a thousand calls each.
    static var calls: Benchmark.Configuration {
        .init(
            metrics: [.processor, .wallClock],
            warmupIterations: 3,
            scalingFactor: .kilo,
            maxDuration: .seconds(1)
        )
    }
    /// Calls that are long enough to be measured one by one.
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
    /// Makes the calls of a round and measures them alone.
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
