// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging

/// Takes an account out of the cache, for all programs of the group and all B2C policies.
struct AccountRemoval: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// What was taken out.
    struct Removed: Sendable {
        /// Whether there was anything, readable or not.
        var wasThere = false
        /// What was held for the account, as it was when it was removed.
        var credentials: [AccountCredentials] = []
        /// What kept records of other programs or policies from being removed.
        var failure: AuthenticationError?
    }

    /// Removes `account` and the program's data of it, and remembers that it signed out.
    ///
    /// Once it has begun it is done to its end: nobody could repeat it. A caller that is cancelled waits no longer.
    /// - Throws: What kept it from being removed here. What kept the account's records of others is in the result.
    func run(_ account: Account) async throws -> Removed {
        try await prepare(account)
        return try await regardlessOfCancellation { [self] in try await remove(account) }
    }

    private func key(_ account: Account) -> CacheKey {
        environment.store.key(for: RecordID(partition: environment.partition, accountID: account.id.rawValue))
    }

    /// Has unlocked or waited for what has to be, while the caller can still give up.
    func prepare(_ account: Account) async throws {
        let key = key(account)
        _ = try await environment.store.wrapping { try await environment.store.cache.record(for: key) }
        try Task.checkCancellation()
    }

    /// The same as ``run(_:)`` in a task that is not cancelled, once it is prepared.
    func remove(_ account: Account) async throws -> Removed {
        var removed = Removed()
        // One's own record goes first, by its key: no record of others, whatever state it is in, keeps it.
        try await take(key(account), &removed)
        do {
            try await sweep(account.id, &removed)
        } catch let error as AuthenticationError where removed.wasThere {
            removed.failure = removed.failure ?? error
        }
        guard removed.wasThere else {
            if let failure = removed.failure { throw failure }
            return removed
        }
        try await trying { try await environment.accountsInUse.update { $0.signOut(account) } }
        try await trying { try await environment.userData.remove(of: account.id) }
        return removed
    }

    /// Does what does not keep the account signed in where it fails.
    private func trying(_ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch let error as AuthenticationError {
            context.logger.info(
                "The account is signed out; what is remembered beside it could not be changed",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
        }
    }

    /// Removes what other programs of the group and other policies hold.
    private func sweep(_ id: Account.ID, _ removed: inout Removed) async throws {
        let configuration = environment.configuration
        guard configuration.cacheGroup != nil || configuration.authority.policy != nil else { return }
        let scope = configuration.authority.accountScope
        let (listing, failure) = try await environment.store.readableSnapshots()
        removed.failure = failure
        for snapshot in listing.snapshots.values
        where snapshot.account.id == id
            && Authority.accountScope(ofPartition: snapshot.credentials.partition) == scope
        {
            try await take(snapshot.key, &removed)
        }
    }

    private func take(_ key: CacheKey, _ removed: inout Removed) async throws {
        let (wasThere, credentials) = try await environment.store.take(key)
        removed.wasThere = removed.wasThere || wasThere
        removed.credentials += credentials
    }
}
