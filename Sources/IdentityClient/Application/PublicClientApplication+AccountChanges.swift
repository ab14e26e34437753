// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging

extension PublicClientApplication {
    /// Who signs in and out at this provider from now on, in this program and in others that share its records.
    ///
    /// ```swift
    /// let changes = try await app.accountChanges()
    /// show(try await app.allAccounts())
    /// for await change in changes { … }
    /// ```
    ///
    /// Nothing falls between the two calls. What changes while nobody asks is told in sum: whoever signed in and out
    /// again meanwhile does not appear. A refresh is no change unless the provider tells something new of the person.
    ///
    /// A change is told at once where the cache gives hints, as files and memory do, else within 1.5 s. While the cache
    /// cannot be read, nothing is told and nobody taken for signed out. The sequence ends when its task is cancelled; all
    /// it uses is freed with it.
    ///
    /// - Throws: `AuthenticationError.cache` when the cache cannot be read now; `CancellationError`.
    public func accountChanges() async throws -> AsyncStream<AccountChange> {
        try await accountChanges(pace: CachePace())
    }

    func accountChanges(pace: CachePace) async throws -> AsyncStream<AccountChange> {
        let store = environment.store
        let scope = configuration.authority.accountScope
        let watch = CacheWatch<CredentialStore.Listing, AccountChange>(
            [.init(cache: store.cache, group: store.group)],
            kinds: [.account],
            pace: pace,
            logger: configuration.logger ?? Logger.current,
            read: { _ in try await store.allSnapshots() },
            changes: { old, new in
                old === new
                    ? [] : AccountChange.changes(from: old.accounts(inScope: scope), to: new.accounts(inScope: scope))
            }
        )
        try await watch.begin()
        return AsyncStream { await watch.next() }
    }
}
