// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Benchmark
import BenchmarkSetup
import FoundationEssentials
import Glibc
import IdentityClient
import IdentityTesting

/// Registers the benchmarks that do not depend on the machine: the number of requests, and the memory.
func counts() {
    let once = Benchmark.Configuration(metrics: [.requests], maxDuration: .seconds(1), maxIterations: 20)
    Benchmark("100 callers, expired token", configuration: once) { benchmark, setup in
        let transport = setup.transport
        let app = try await setup.app(InMemoryTokenCache(), accounts: 1, clock: setup.later)
        let before = transport.grants
        try await withThrowingTaskGroup { group in
            for _ in 0..<100 {
                group.addTask {
                    try await app.acquireTokenSilently(scopes: BenchmarkSetup.subset, account: setup.account(0))
                }
            }
            try await group.waitForAll()
        }
        benchmark.measurement(.requests, transport.grants - before)
    } setup: {
        try await BenchmarkSetup()
    }

    let memory = Benchmark.Configuration(metrics: [.resident], warmupIterations: 0, maxIterations: 1)
    Benchmark("10,000 accounts with a token of 2 KB, memory", configuration: memory) { benchmark, setup in
        giveBackFreedMemory()
        let before = residentKiB()
        let cache = InMemoryTokenCache()
        let app = try await setup.app(cache, accounts: 10_000)
        let result = try await app.acquireTokenSilently(scopes: BenchmarkSetup.subset, account: setup.account(9_999))
        precondition(result.source == .cache && result.accessToken.utf8.count > 2_000)
        giveBackFreedMemory()  // What making the records needed is no part of keeping them.
        benchmark.measurement(.resident, residentKiB() - before)
        blackHole((cache, app))
    } setup: {
        try await BenchmarkSetup()
    }
}

private func residentKiB() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return Int(line.filter(\.isNumber)) ?? 0
}

/// Calls `malloc_trim`, whose header the Glibc module leaves out.
private func giveBackFreedMemory() {
    guard let address = dlsym(nil, "malloc_trim") else { return }
    _ = unsafeBitCast(address, to: (@convention(c) (Int) -> CInt).self)(0)
}
