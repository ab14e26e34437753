// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Benchmark
import Household
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
        home.household.transport.givesIDTokens(true)
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
}

private final class Home: Sendable {
    let household: Household
    let app: PublicClientApplication
    let directory: ScratchDirectory?
    private let account: Account
    private let removed = Mutex(0)

    init(_ cache: any TokenCache, accounts count: Int, _ directory: ScratchDirectory? = nil) async throws {
        household = try await Household()
        app = try await household.app(cache, accounts: count)
        account = household.account(count / 2)
        self.directory = directory
    }

    func refresh() async throws {
        let result = try await app.acquireTokenSilently(Household.forced(account))
        guard result.source == .identityProvider, case .persisted = result.persistence else {
            throw Household.Missing()
        }
    }

    func removeNext() async throws {
        let number = removed.withLock { next in
            defer { next += 1 }
            return next
        }
        try await app.remove(household.account(number))
    }
}
