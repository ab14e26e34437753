// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Benchmark
import BenchmarkSetup
import IdentityClient
import IdentityTesting

/// Registers the benchmarks of cached tokens: from memory, from an unchanged file, and in a program that has just
/// started.
func silentHits() {
    for (count, name) in [(1, "1 account"), (1_000, "1,000 accounts"), (10_000, "10,000 accounts")] {
        Benchmark("Silent hit, memory, \(name)", configuration: .calls) { benchmark, hit in
            try await benchmark.calls { try await hit.run() }
        } setup: {
            try await Hit(InMemoryTokenCache(), accounts: count)
        }
    }
    Benchmark("Silent hit, memory, main actor", configuration: .calls) { benchmark, hit in
        nonisolated(unsafe) let benchmark = benchmark  // The runner waits until the round is over.
        try await Task { @MainActor in
            try await benchmark.calls { try await hit.run() }
        }.value
    } setup: {
        try await Hit(InMemoryTokenCache(), accounts: 1)
    }
    Benchmark("Silent hit, unchanged file", configuration: .calls) { benchmark, hit in
        try await benchmark.calls { try await hit.run() }
    } setup: {
        let directory = ScratchDirectory()
        let hit = try await Hit(FileTokenCache(directory: directory.path), accounts: 1, directory)
        try await Task.sleep(for: .milliseconds(50))  // Until the file is old enough to be known by its stamps.
        return hit
    }
    Benchmark("Silent hit, unchanged file of other programs", configuration: .calls) { benchmark, hit in
        try await benchmark.calls { try await hit.run() }
    } setup: {
        let directory = ScratchDirectory()
        // Accounts of other providers are beside the file.
        let profile = TestIdentityProvider.Profile.entra(tenantID: "72f988bf-86f1-41af-91ab-2d7cd011db47")
        return try await Hit(directory.shared(), accounts: 1, directory, profile)
    }
    Benchmark("First silent hit, record decoded", configuration: .longCalls) { benchmark, hit in
        try await benchmark.calls { try await hit.renewed().run() }
    } setup: {
        try await Hit(InMemoryTokenCache(), accounts: 1)
    }
}

private struct Hit: Sendable {
    let app: PublicClientApplication
    let account: Account
    let directory: ScratchDirectory?

    init(
        _ cache: any TokenCache,
        accounts count: Int,
        _ directory: ScratchDirectory? = nil,
        _ profile: TestIdentityProvider.Profile = .openIDConnect
    ) async throws {
        let setup = try await BenchmarkSetup(profile)
        app = try await setup.app(cache, accounts: count)
        account = setup.account(count / 2)
        self.directory = directory
    }

    private init(app: PublicClientApplication, account: Account) {
        self.app = app
        self.account = account
        directory = nil
    }

    /// Returns the same hit in a program that has read nothing yet.
    func renewed() throws -> Hit {
        Hit(app: try PublicClientApplication(app.configuration), account: account)
    }

    func run() async throws {
        let result = try await app.acquireTokenSilently(scopes: BenchmarkSetup.subset, account: account)
        precondition(result.source == .cache)
        blackHole(result)
    }
}
