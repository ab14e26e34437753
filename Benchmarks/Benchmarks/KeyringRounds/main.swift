// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import BenchmarkSetup
import FoundationEssentials
import Glibc
import IdentityClient
import IdentityKeyring

// Measures the keyring on the session bus; Scripts/bench-keyring starts it. "first" measures the first read of this
// process, including loading. "problem" measures how soon a locked or absent keyring is known: including loading, and
// then for a further cache of the same process. Without an argument, the program measures the rest.

func medianMilliseconds(_ rounds: Int, _ work: () async throws -> Void) async throws -> Double {
    var times: [Duration] = []
    for _ in 0..<rounds {
        let start = ContinuousClock.now
        try await work()
        times.append(start.duration(to: .now))
    }
    return times.sorted()[rounds / 2] / .milliseconds(1)
}

/// Returns the resident memory of the process, in KiB.
func residentMemory() throws -> Int {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")[1]
    return (Int(pages) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1024
}

let group = try CacheGroup("keyring-bench")
func key(_ number: Int) -> CacheKey {
    let digits = String(number, radix: 16)
    return CacheKey(group: group, kind: .account, name: String(repeating: "0", count: 64 - digits.count) + digits)
}

func record(_ number: Int) -> CacheRecord {
    CacheRecord(bytes: Array("\(number) ".utf8) + [UInt8](repeating: 120, count: 2048))
}

let cache = KeyringTokenCache(applicationName: "Benchmark")
switch CommandLine.arguments.dropFirst().first {
case "first":
    print(try await medianMilliseconds(1) { _ = try await cache.record(for: key(1)) })
case "problem":
    func problem() async throws {
        do {
            _ = try await KeyringTokenCache(applicationName: "Benchmark").record(for: key(1))
        } catch let error as AuthenticationError where error.family == .cache {
            return
        }
        throw BenchmarkSetup.Missing()
    }
    print(try await medianMilliseconds(1, problem), try await medianMilliseconds(21, problem))
default:
    for number in 0..<100 where try await cache.record(for: key(number)) == nil {
        guard try await cache.replace(nil, with: record(number), for: key(number)) else {
            throw BenchmarkSetup.Missing()
        }
    }
    let hits = 10_000
    let one = key(1)
    let hit = try await medianMilliseconds(9) { for _ in 0..<hits { _ = try await cache.record(for: one) } }
    print("a record from memory: \(hit * 1000 / Double(hits)) µs")

    let setup = try await BenchmarkSetup()
    let app = try await setup.app(KeyringTokenCache(applicationName: "Benchmark"), accounts: 1)
    let silent = SilentParameters(scopes: BenchmarkSetup.scopes, account: setup.account(0))
    _ = try await app.acquireTokenSilently(silent)
    let calls = try await medianMilliseconds(9) { for _ in 0..<hits { _ = try await app.acquireTokenSilently(silent) } }
    print("silent hit, warm process: \(calls * 1000 / Double(hits)) µs")

    let first = try await medianMilliseconds(21) {
        _ = try await KeyringTokenCache(applicationName: "Benchmark").record(for: key(1))
    }
    print("first read of a cache: \(first) ms")
    var number = 0
    var stored = try await cache.record(for: key(7))
    let save = try await medianMilliseconds(41) {
        number += 1
        guard try await cache.replace(stored, with: record(number), for: key(7)) else { throw BenchmarkSetup.Missing() }
        stored = record(number)
    }
    print("save: \(save) ms")

    // Measures writes, and reads that ask the keyring because each cache is new to it.
    func operations(_ count: Int) async throws {
        for number in 0..<count {
            if number % 50 == 0 {
                guard try await cache.replace(stored, with: record(number), for: key(7)) else {
                    throw BenchmarkSetup.Missing()
                }
                stored = record(number)
            }
            _ = try await cache.record(for: key(1000 + number % 64))
        }
    }
    try await operations(2_000)
    for _ in 0..<3 {
        let before = try residentMemory()
        try await operations(10_000)
        print("growth over 10,000 operations: \(try residentMemory() - before) KiB")
    }
}
