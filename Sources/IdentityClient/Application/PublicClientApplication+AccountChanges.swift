// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging

extension PublicClientApplication {
    /// Returns the sign-ins and sign-outs at this provider from now on, in this program and in programs that share its
    /// records.
    ///
    /// ```swift
    /// let changes = try await app.accountChanges()
    /// show(try await app.allAccounts())
    /// for await change in changes { … }
    /// ```
    ///
    /// No change is lost between the two calls. Changes between two elements of the sequence are summed up: an account
    /// that signed in and out again in between does not appear. A refresh is a change only if the provider sends new
    /// data about the person.
    ///
    /// A change is reported at once if the cache gives hints, as files and memory do, otherwise within 1.5 s. While the
    /// cache cannot be read, nothing is reported, and no account counts as signed out. The sequence ends when its task
    /// is cancelled; everything that it uses is freed with it.
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
