// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Logging
import Synchronization

/// A store that is open.
struct DesktopStore: Sendable {
    let opened: OpenedStore
    let cache: any TokenCache
    /// The marker's entry for the store, if there was one.
    let mark: StoreMark?

    var store: TokenStore { opened.store }

    /// Whether `other` is the same store, and the tokens were never away from it.
    func isStill(_ other: DesktopStore) -> Bool {
        store == other.store && mark?.moves ?? 0 == other.mark?.moves ?? 0
    }
}

/// Which store each group uses: chosen by the policy, remembered by the marker, followed when the tokens are moved.
final class StoresInUse: Sendable {
    let policy: StorePolicy
    let marker: StoreMarker
    let listeners = HintListeners()
    private let stores: DesktopStores
    private let logger: Logger?
    private let opened = Mutex<[CacheGroup: DesktopStore]>([:])
    /// The groups in which the leftovers of an interrupted move, and a missing keyring, were looked for.
    private let settled = Mutex<Set<CacheGroup>>([])

    init(_ stores: DesktopStores, policy: StorePolicy, logger: Logger?) {
        self.stores = stores
        self.policy = policy
        self.logger = logger
        marker = StoreMarker(stores.plain)
    }

    /// The store that is open already, if any.
    func known(for group: CacheGroup) -> DesktopStore? {
        opened.withLock { $0[group] }
    }

    /// The store that is open, or the one to open.
    func store(for group: CacheGroup) async throws -> DesktopStore {
        if let known = known(for: group) { return known }
        let mark = try await marker.mark(of: group)
        var remembered = if let mark { mark.store } else { try await stores.foundInFiles(group) }
        var problem: AuthenticationError?
        if StoreChoice.asksKeyring(policy, remembered: remembered) {
            do { try await stores.requireKeyring() } catch let error as AuthenticationError { problem = error }
            if problem == nil, StoreChoice.looksIntoKeyring(policy), try await stores.isInKeyring(group) {
                remembered = .keyring
            }
        }
        let (store, reason) = try StoreChoice.decide(policy, remembered: remembered, problem: problem)
        let choice = OpenedStore(group: group, store: store, reason: reason)
        let new = DesktopStore(opened: choice, cache: try stores.cache(store, for: group), mark: mark)
        let (known, isFirst) = opened.withLock { opened in
            if let known = opened[group] { return (known, false) }
            opened[group] = new
            return (new, true)
        }
        if isFirst { tell(choice) }
        return known
    }

    /// The store that the marker names now, where there is one.
    func current(for group: CacheGroup) async throws -> DesktopStore {
        let known = try await store(for: group)
        guard let mark = try await marker.mark(of: group) else { return known }
        return try adopt(mark, instead: known)
    }

    /// The store in which the tokens rest, accepted or not; `nil` when none was chosen.
    func remembered(for group: CacheGroup) async throws -> TokenStore? {
        if let mark = try await marker.mark(of: group) { return mark.store }
        return try await stores.foundInFiles(group)
    }

    /// The same; where there is no marker, the keyring is looked into as well, as before a choice.
    ///
    /// - Throws: Also what the keyring throws that is locked or does not answer.
    func rememberedOrFound(for group: CacheGroup) async throws -> TokenStore? {
        if let store = try await remembered(for: group) { return store }
        guard policy.accepts(.keyring), StoreChoice.asksKeyring(policy, remembered: nil),
            known(for: group)?.store != .memory
        else { return nil }
        do {
            try await stores.requireKeyring()
        } catch let error as AuthenticationError where StoreChoice.isAbsence(error) {
            return nil
        }
        return try await stores.isInKeyring(group) ? .keyring : nil
    }

    /// Remembers that the tokens rest in `known`, or gives the store that another process has remembered.
    func remember(_ known: DesktopStore) async throws -> DesktopStore {
        guard known.mark == nil, known.store != .memory else { return known }
        let group = known.opened.group
        var isFallback = false
        if case .fallback = known.opened.reason { isFallback = true }
        // The keyring is asked again when the next program starts.
        if isFallback { _ = isFirstToSettle(group) }
        return try adopt(try await marker.remember(known.store, for: group, isFallback: isFallback), instead: known)
    }

    /// Whether this is the first call for the group.
    func isFirstToSettle(_ group: CacheGroup) -> Bool {
        settled.withLock { $0.insert(group).inserted }
    }

    /// Has the store looked for anew.
    func forget(_ group: CacheGroup) {
        opened.withLock { $0[group] = nil }
        listeners.end(group)
    }

    private func adopt(_ mark: StoreMark, instead known: DesktopStore) throws -> DesktopStore {
        if let old = known.mark, old.store == mark.store, old.moves == mark.moves { return known }
        let group = known.opened.group
        // Tokens that went away and came back may have another key.
        let isSame = known.store == mark.store && known.mark?.moves ?? 0 == mark.moves
        let reason = try StoreChoice.decide(policy, remembered: mark.store, problem: nil).reason
        let choice = isSame ? known.opened : OpenedStore(group: group, store: mark.store, reason: reason)
        let cache = isSame ? known.cache : try stores.cache(mark.store, for: group)
        let new = DesktopStore(opened: choice, cache: cache, mark: mark)
        opened.withLock { $0[group] = new }
        if !isSame {
            tell(choice)
            listeners.end(group)
        }
        return new
    }

    private func tell(_ choice: OpenedStore) {
        (logger ?? Logger.current).notice(
            "token store chosen",
            metadata: ["store": "\(choice.store)", "reason": "\(choice.explanation)", "group": "\(choice.group.name)"]
        )
    }
}
