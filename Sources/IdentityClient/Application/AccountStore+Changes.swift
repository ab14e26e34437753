// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization

extension AccountStore {
    typealias Watch = CacheWatch<AccountStoreView, AccountStoreChange>

    /// The watches that receive failed acquisitions.
    final class Watches: Sendable {
        private struct WeakWatch {
            weak var watch: Watch?
        }

        private let watches = Mutex<[WeakWatch]>([])

        func add(_ watch: Watch) {
            watches.withLock { watches in
                watches.removeAll { $0.watch == nil }
                watches.append(WeakWatch(watch: watch))
            }
        }

        func post(_ change: AccountStoreChange) {
            for watch in watches.withLock({ $0.compactMap(\.watch) }) { watch.post(change) }
        }
    }

    /// Returns the changes from now on: changes of accounts of all types, their tokens and the program's data of them,
    /// in this process and others, and this object's failed acquisitions.
    ///
    /// Every caller receives all changes. Changes between two elements of the sequence are summed up; of failures, the
    /// last hundred are kept. A change is reported at once if the caches give hints, as memory and existing files do,
    /// otherwise within 1.5 s. A type whose cache cannot be read reports no changes meanwhile. The sequence ends when
    /// its task is cancelled; everything that it uses is freed with it.
    ///
    /// - Throws: `AuthenticationError` of the family `.cache` when a cache cannot be read now; `CancellationError`.
    public func changes() async throws -> AsyncStream<AccountStoreChange> {
        try await changes(pace: CachePace())
    }

    func changes(pace: CachePace) async throws -> AsyncStream<AccountStoreChange> {
        let entries = entries
        let watch = Watch(
            entries.map {
                Watch.Source(
                    cache: $0.application.environment.store.cache,
                    group: $0.application.environment.store.group
                )
            },
            kinds: [.account, .application],
            pace: pace,
            logger: entries.lazy.compactMap(\.type.configuration.logger).first ?? Logger.current,
            read: { before in try await AccountStoreView(of: entries, before: before) },
            changes: { $0.changes(to: $1) }
        )
        try await watch.begin()
        watches.add(watch)
        return AsyncStream { await watch.next() }
    }
}

/// The state from which a store's changes are found.
struct AccountStoreView: Sendable {
    /// The accounts of one type and their records.
    struct Part: Sendable {
        var type: AccountType.Name
        var accounts: [Account]
        var signIns: AccountChange.SignIns
        var accessTokens: [Account.Key: Set<String>]
        var userData: [Account.Key: CacheRecord]
    }

    var parts: [Part]

    /// Reads all types. A type that cannot be read keeps its previous state.
    ///
    /// - Throws: The error of reading a type that has no previous state.
    init(of entries: [AccountStore.Entry], before: AccountStoreView?) async throws {
        parts = []
        for (index, entry) in entries.enumerated() {
            do {
                parts.append(try await Part(entry))
            } catch let error as AuthenticationError {
                guard let before else { throw error }
                parts.append(before.parts[index])
            }
        }
    }

    func changes(to next: AccountStoreView) -> [AccountStoreChange] {
        zip(parts, next.parts).flatMap { $0.changes(to: $1) }
    }
}

extension AccountStoreView.Part {
    fileprivate init(_ entry: AccountStore.Entry) async throws {
        let environment = entry.application.environment
        let listing = try await environment.store.allSnapshots()
        type = entry.type.name
        accounts = listing.accounts(in: environment.clouds)
        signIns = listing.signIns(of: environment.clientID, in: environment.clouds)
        accessTokens = [:]
        for snapshot in listing.snapshots.values
        where snapshot.credentials.clientID == environment.clientID
            && environment.clouds.contain(partition: snapshot.credentials.partition)
        {
            accessTokens[snapshot.account.key, default: []].formUnion(snapshot.credentials.accessTokens.map(\.secret))
        }
        let records = try await environment.store.applicationRecords()
        userData = [:]
        for account in accounts {
            userData[account.key] = records[environment.userData(of: account).key(for: account.id)]
        }
    }

    fileprivate func changes(to next: AccountStoreView.Part) -> [AccountStoreChange] {
        let before = Dictionary(accounts.map { ($0.key, $0) }) { first, _ in first }
        let stored = { (account: Account) in StoredAccount(type: type, account: account) }
        let accountChanges = AccountChange.changes(
            from: accounts,
            to: next.accounts,
            signIns: (signIns, next.signIns)
        )
        var changes = accountChanges.map { change in
            let kind: AccountStoreChange.Kind =
                switch change.kind {
                case .added: .added
                case .updated: .updated
                case .signedIn: .signedIn
                case .removed: .removed
                }
            return AccountStoreChange(kind: kind, type: type, old: change.old.map(stored), new: change.new.map(stored))
        }
        for account in next.accounts {
            guard let old = before[account.key] else { continue }
            func note(_ kind: AccountStoreChange.Kind) {
                changes.append(AccountStoreChange(kind: kind, type: type, old: stored(old), new: stored(account)))
            }
            // The removal of an expired token is no news.
            let known = accessTokens[account.key] ?? []
            if !(next.accessTokens[account.key] ?? []).isSubset(of: known) { note(.tokenChanged) }
            if next.userData[account.key] != userData[account.key] { note(.userDataChanged) }
        }
        return changes
    }
}

// A program's data of an account: the folder that is shown, a color, the time of the last synchronization.
extension AccountStore {
    /// Returns the program's data of an account, or `nil` if there is none.
    ///
    /// - Throws: `AuthenticationError` of the family `.configuration` when the data was written in another form than `Value`, or there
    ///   is no such type of account; `.cache` when it cannot be read; `CancellationError`.
    public func userData<Value: Decodable & Sendable>(
        _: Value.Type = Value.self,
        of account: StoredAccount
    ) async throws -> Value? {
        try await entry(account.type).application.environment.userData(of: account.account)
            .value(of: account.account.id)
    }

    /// Stores the program's data of an account with its tokens; `nil` removes the data.
    ///
    /// It is protected like the tokens, visible to other processes, and removed when the account is signed out. In a
    /// group that several programs share, they also share this data.
    ///
    /// - Throws: `AuthenticationError` of the family `.configuration` when it is larger than 64 KiB as JSON, or cannot be encoded;
    ///   `.noTokensFound` when the account is not signed in; `.cache` when it cannot be written; `CancellationError`.
    public func setUserData<Value: Encodable & Sendable>(_ value: Value?, of account: StoredAccount) async throws {
        try await changingUserData(of: account) { try await $0.set(value, of: account.account.id) }
    }

    /// Changes the program's data of an account without losing what another process writes meanwhile.
    ///
    /// - Parameters:
    ///   - type: The type of the data, if it does not follow from the closure.
    ///   - account: The account of the data.
    ///   - change: Changes the data. It is called again if another process wrote first.
    /// - Throws: The errors of ``setUserData(_:of:)`` and ``userData(_:of:)``, and the errors of `change`.
    public func updateUserData<Value: Codable & Sendable>(
        _ type: Value.Type = Value.self,
        of account: StoredAccount,
        _ change: (inout Value?) throws -> Void
    ) async throws {
        try await changingUserData(of: account) { try await $0.update(of: account.account.id, change) }
    }

    /// Checks again after the change: data that a concurrent sign-out could not see must not stay until the next
    /// sign-in.
    private func changingUserData(
        of account: StoredAccount,
        _ change: (UserDataRecords) async throws -> Void
    ) async throws {
        let application = try entry(account.type).application
        let (records, id) = (application.environment.userData(of: account.account), account.account.id)
        guard try await application.signedIn(account.account) != nil else { throw Self.notSignedIn }
        try await change(records)
        guard try await application.signedIn(account.account) != nil else {
            try await records.remove(of: id)
            throw Self.notSignedIn
        }
    }

    private static var notSignedIn: AuthenticationError {
        AuthenticationError(.noTokensFound, "This account is not signed in here.")
    }
}
