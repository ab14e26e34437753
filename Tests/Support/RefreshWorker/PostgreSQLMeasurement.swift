// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityPostgreSQL
import IdentityTesting

/// Measures the cache in PostgreSQL, with 10,000 records that `Scripts/bench-postgresql` has stored. Prints a line for each figure.
struct PostgreSQLMeasurement {
    let connection: String

    func run() async throws {
        try await measureHits()
        try await measureClients()
        try await measureRefreshes()
    }

    private func key(_ number: Int) throws -> CacheKey {
        let digits = String(number, radix: 16)
        let name = String(repeating: "0", count: 64 - digits.count) + digits
        return CacheKey(group: try CacheGroup("measured"), kind: .account, name: name)
    }

    private func measureHits() async throws {
        let cache = PostgreSQLTokenCache(connectionString: connection)
        let key = try key(1)
        // A record that has not changed for a second is found in memory.
        for _ in 0..<4 {
            guard try await cache.record(for: key) != nil else { throw Missing() }
            try await Task.sleep(for: .milliseconds(700))
        }
        let (hits, begin) = (100_000, ContinuousClock.now)
        for _ in 0..<hits { _ = try await cache.record(for: key) }
        let time = begin.duration(to: .now) / .microseconds(1) / Double(hits)
        print("a record from memory: \(rounded(time, 2)) µs")
    }

    /// 500 caches with a connection each: each looks for another of 10,000 records once a second.
    private func measureClients() async throws {
        let caches = (0..<500).map { _ in
            PostgreSQLTokenCache(connectionString: connection, timeout: .seconds(30), connections: 1)
        }
        var times = try await withThrowingTaskGroup(of: [Double].self) { group in
            for cache in caches {
                group.addTask {
                    _ = try await cache.record(for: try key(0))  // connects
                    try await Task.sleep(for: .seconds(15))  // until all are connected
                    var times: [Double] = []
                    for _ in 0..<20 {
                        try await Task.sleep(for: .milliseconds(Int.random(in: 0..<2000)))
                        let (key, begin) = (try key(Int.random(in: 1..<10_000)), ContinuousClock.now)
                        guard try await cache.record(for: key) != nil else { throw Missing() }
                        times.append(begin.duration(to: .now) / .milliseconds(1))
                    }
                    return times
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        times.sort()
        print(
            "a lookup by one of 500 clients: median \(rounded(times[times.count / 2], 2)) ms, "
                + "p99 \(rounded(times[times.count * 99 / 100], 2)) ms, longest \(rounded(times[times.count - 1], 1)) ms"
        )
    }

    private func measureRefreshes() async throws {
        let directory = FileManager.default.temporaryDirectory.path + "/identity-measured-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let caches: [any TokenCache] = [
            FileTokenCache(directory: directory), PostgreSQLTokenCache(connectionString: connection),
        ]
        var programs: [(PublicClientApplication, SilentParameters)] = []
        for cache in caches { programs.append(try await program(over: cache)) }
        var times = [[Double]](repeating: [], count: programs.count)
        // In turns, so that other work on the machine counts for both.
        for _ in 0..<201 {
            for (index, (application, parameters)) in programs.enumerated() {
                let begin = ContinuousClock.now
                _ = try await application.acquireTokenSilently(parameters)
                times[index].append(begin.duration(to: .now) / .milliseconds(1))
            }
        }
        let medians = times.map { rounded($0.sorted()[100], 2) }
        print("a refresh: file \(medians[0]) ms, PostgreSQL \(medians[1]) ms")
    }

    /// A program that forces refreshes at a provider in this process.
    private func program(over cache: any TokenCache) async throws -> (PublicClientApplication, SilentParameters) {
        let provider = try TestIdentityProvider(profile: .openIDConnect)
        let receiver = InMemoryRedirectReceiver()
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: provider.authority,
            cache: cache
        )
        configuration.cacheGroup = try CacheGroup("measured-\(UUID().uuidString)")
        configuration.transport = provider.transport
        configuration.redirectReceiver = receiver
        configuration.browser = ScriptedBrowser(provider: provider, receiver: receiver)
        let application = try PublicClientApplication(configuration)
        let account = try await application.acquireTokenInteractively(scopes: ["api.read"]).account
        return (application, SilentParameters(scopes: ["api.read"], account: account, forcesRefresh: true))
    }

    private func rounded(_ number: Double, _ digits: Int) -> Double {
        let factor = (0..<digits).reduce(1.0) { factor, _ in factor * 10 }
        return (number * factor).rounded() / factor
    }

    struct Missing: Error {}
}
