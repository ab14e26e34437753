// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Benchmark
import BenchmarkSetup
import IdentityClient
import Synchronization

/// Registers the benchmarks of calls that change or list the cache.
func changes() {
    Benchmark("Refresh, memory", configuration: .longCalls) { benchmark, home in
        try await benchmark.calls { try await home.refresh() }
    } setup: {
        try await Home(InMemoryTokenCache(), accounts: 1)
    }
    Benchmark("Refresh with an ID token verified, memory", configuration: .longCalls) { benchmark, home in
        try await benchmark.calls { try await home.refresh() }
    } setup: {
        let home = try await Home(InMemoryTokenCache(), accounts: 1)
        home.setup.transport.givesIDTokens(true)
        return home
    }
    for (count, name) in [(1, "1 account"), (1_000, "1,000 accounts")] {
        Benchmark("Refresh saved, file, \(name)", configuration: .longCalls) { benchmark, home in
            try await benchmark.calls { try await home.refresh() }
        } setup: {
            let directory = ScratchDirectory()
            return try await Home(FileTokenCache(directory: directory.path), accounts: count, directory)
        }
    }
    Benchmark("Remove, file, 1,000 accounts", configuration: .longCalls) { benchmark, home in
        try await benchmark.calls { try await home.removeNext() }
    } setup: {
        let directory = ScratchDirectory()
        return try await Home(FileTokenCache(directory: directory.path), accounts: 1_000, directory)
    }
    Benchmark("allAccounts, memory, 1,000 accounts", configuration: .longCalls) { benchmark, home in
        try await benchmark.calls { blackHole(try await home.app.allAccounts()) }
    } setup: {
        try await Home(InMemoryTokenCache(), accounts: 1_000)
    }
    Benchmark("allAccounts after a change, memory, 1,000 accounts", configuration: .longCalls) { benchmark, home in
        try await home.refresh()
        try await benchmark.calls { blackHole(try await home.app.allAccounts()) }
    } setup: {
        try await Home(InMemoryTokenCache(), accounts: 1_000)
    }
    // More records than the file cache remembers, so that a part of them is read anew each time.
    Benchmark("allAccounts, files, 3,000 accounts of 13 MiB", configuration: .longCalls) { benchmark, home in
        try await benchmark.calls { blackHole(try await home.app.allAccounts()) }
    } setup: {
        let directory = ScratchDirectory()
        return try await Home(FileTokenCache(directory: directory.path), accounts: 3_000, directory)
    }
    Benchmark("allAccounts, encrypted files, 3,000 accounts of 13 MiB", configuration: .longCalls) { benchmark, home in
        try await benchmark.calls { blackHole(try await home.app.allAccounts()) }
    } setup: {
        let directory = ScratchDirectory()
        let cache = EncryptedTokenCache(FileTokenCache(directory: directory.path), key: .random())
        return try await Home(cache, accounts: 3_000, directory)
    }
}

private final class Home: Sendable {
    let setup: BenchmarkSetup
    let app: PublicClientApplication
    let directory: ScratchDirectory?
    private let account: Account
    private let removed = Mutex(0)

    init(_ cache: any TokenCache, accounts count: Int, _ directory: ScratchDirectory? = nil) async throws {
        setup = try await BenchmarkSetup()
        app = try await setup.app(cache, accounts: count)
        account = setup.account(count / 2)
        self.directory = directory
    }

    func refresh() async throws {
        let result = try await app.acquireTokenSilently(BenchmarkSetup.forced(account))
        guard result.source == .identityProvider, case .persisted = result.persistence else {
            throw BenchmarkSetup.Missing()
        }
    }

    func removeNext() async throws {
        let number = removed.withLock { next in
            defer { next += 1 }
            return next
        }
        try await app.remove(setup.account(number))
    }
}
