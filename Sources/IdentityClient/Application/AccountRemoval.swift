// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import SystemSupport

/// The removal of an account from the cache, for all programs of the group and all B2C policies.
struct AccountRemoval: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// The result of a removal.
    struct Removed: Sendable {
        /// Whether the account had any record, readable or not.
        var wasThere = false
        /// The account's credentials at the time of the removal.
        var credentials: [AccountCredentials] = []
        /// The error that prevented the removal of other programs' or other policies' records, if any.
        var failure: AuthenticationError?
    }

    /// Removes `account` and the program's data of it, and records its sign-out.
    ///
    /// Once begun, it runs to its end, because no later call could repeat it. A cancelled caller stops waiting.
    /// - Throws: The error that prevented the removal of this program's records. An error about other programs' records
    ///   is in the result.
    func run(_ account: Account) async throws -> Removed {
        try await prepare(account)
        return try await regardlessOfCancellation { [self] in try await remove(account) }
    }

    private func key(_ account: Account) -> CacheKey {
        environment.store.key(for: RecordID(authority: environment.clouds.authority(of: account), account: account.id))
    }

    /// Does the unlocking and waiting that the removal needs, while the caller can still give up.
    func prepare(_ account: Account) async throws {
        let key = key(account)
        _ = try await environment.store.wrapping { try await environment.store.cache.record(for: key) }
        try Task.checkCancellation()
    }

    /// Does the same as ``run(_:)``, after ``prepare(_:)``, in a task that is not cancelled.
    func remove(_ account: Account) async throws -> Removed {
        var removed = Removed()
        // The program's own record is removed first, by its key, so that other records, whatever their state, cannot
        // prevent it.
        try await take(key(account), &removed)
        do {
            try await sweep(account, &removed)
        } catch let error as AuthenticationError where removed.wasThere {
            removed.failure = removed.failure ?? error
        }
        guard removed.wasThere else {
            if let failure = removed.failure { throw failure }
            try await removeFromBroker(account)
            return removed
        }
        try await loggingFailure { try await environment.accountsInUse.update { $0.signOut(account) } }
        try await loggingFailure { try await environment.userData(of: account).remove(of: account.id) }
        try await removeFromBroker(account)
        return removed
    }

    /// Does work whose failure does not keep the account signed in.
    private func loggingFailure(_ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch let error as AuthenticationError {
            context.logger.debug(
                "The account is signed out; what is remembered beside it could not be changed",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
        }
    }

    /// Removes the records of the group's other programs and of other policies.
    private func sweep(_ account: Account, _ removed: inout Removed) async throws {
        let configuration = environment.configuration
        guard configuration.cacheGroup != nil || configuration.authority.policy != nil else { return }
        let scope = environment.clouds.authority(of: account).accountScope
        let (listing, failure) = try await environment.store.readableSnapshots()
        removed.failure = failure
        for snapshot in listing.snapshots.values
        where snapshot.account.id == account.id
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

extension AccountRemoval {
    /// Asks the broker to remove the account for this program. Not every broker can: the account is signed out here all
    /// the same.
    func removeFromBroker(_ account: Account) async throws {
        guard let broker = environment.configuration.broker.broker else { return }
        do {
            try await AuthenticationError.ofBroker(context) {
                try await broker.remove(account, for: environment.configuration.clientID)
            }
        } catch let error as AuthenticationError {
            context.logger.notice(
                "The account is signed out here; the identity broker still has it",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
        }
    }
}
