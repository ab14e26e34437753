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
    }

    /// Removes `account` and the program's data of it, and remembers that it signed out.
    func run(_ account: Account) async throws -> Removed {
        let removed = try await remove(account.id)
        guard removed.wasThere else { return removed }
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

    private func remove(_ id: Account.ID) async throws -> Removed {
        let store = environment.store
        let configuration = environment.configuration
        if configuration.cacheGroup == nil, configuration.authority.policy == nil {
            let record = RecordID(partition: environment.partition, accountID: id.rawValue)
            let (wasThere, credentials) = try await store.take(store.key(for: record))
            return Removed(wasThere: wasThere, credentials: credentials)
        }
        let scope = configuration.authority.accountScope
        var removed = Removed()
        for snapshot in try await store.allSnapshots().snapshots.values
        where snapshot.account.id == id
            && Authority.accountScope(ofPartition: snapshot.credentials.partition) == scope
        {
            let (wasThere, credentials) = try await store.take(snapshot.key)
            removed.wasThere = removed.wasThere || wasThere
            removed.credentials += credentials
        }
        return removed
    }
}
