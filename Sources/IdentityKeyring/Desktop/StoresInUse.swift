// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Logging
import Synchronization
import SystemSupport

/// A store that is open.
struct DesktopStore: Sendable {
    let opened: OpenedLocation
    let cache: any TokenCache
    /// The content of the marker, or `nil` if there was no marker.
    let mark: StoreMark?

    var store: TokenLocation { opened.location }

    /// Whether the store was chosen before, so that it holds tokens.
    var isRemembered: Bool {
        if mark != nil { return true }
        return if case .remembered = opened.reason { true } else { false }
    }

    /// Whether `other` is the same store, and the tokens were not moved meanwhile.
    func isStill(_ other: DesktopStore) -> Bool {
        store == other.store && mark?.moves ?? 0 == other.mark?.moves ?? 0
    }
}

/// The store of each group: chosen by the policy, recorded by the marker, followed when the tokens are moved.
final class StoresInUse: Sendable {
    let policy: LocationPolicy
    let marker: StoreMarker
    private let stores: DesktopStores
    private let logger: Logger?
    private let opened = Mutex<[CacheGroup: DesktopStore]>([:])
    /// For each group, a promise that is kept when this object finds that the tokens were moved.
    private let moves = Mutex<[CacheGroup: Promise<Void>]>([:])
    /// The groups for which ``isFirstToSettle(_:)`` was called.
    private let settled = Mutex<Set<CacheGroup>>([])

    init(_ stores: DesktopStores, policy: LocationPolicy, logger: Logger?) {
        self.stores = stores
        self.policy = policy
        self.logger = logger
        marker = StoreMarker(stores.plain)
    }

    /// Returns the store that is open already, or `nil`.
    func known(for group: CacheGroup) -> DesktopStore? {
        opened.withLock { $0[group] }
    }

    /// Returns the open store. Opens the recorded store, or chooses one, if none is open.
    func store(for group: CacheGroup) async throws -> DesktopStore {
        if let known = known(for: group) { return known }
        let mark = try await marker.mark(of: group)
        var remembered = if let mark { mark.store } else { try await stores.foundInFiles(group, policy) }
        var problem: AuthenticationError?
        if StoreChoice.asksKeyring(policy, remembered: remembered) {
            do { try await stores.requireKeyring() } catch let error as AuthenticationError { problem = error }
            if problem == nil, StoreChoice.searchesKeyring(policy), try await stores.isInKeyring(group) {
                remembered = .keyring
            }
        }
        let (store, reason) = try StoreChoice.decide(policy, remembered: remembered, problem: problem)
        let choice = OpenedLocation(group: group, location: store, reason: reason)
        let new = DesktopStore(opened: choice, cache: try stores.cache(store, for: group), mark: mark)
        let (known, isFirst) = opened.withLock { opened in
            if let known = opened[group] { return (known, false) }
            opened[group] = new
            return (new, true)
        }
        if isFirst { log(choice) }
        return known
    }

    /// Returns the store that the marker names now. Without a marker, this is the open store.
    func current(for group: CacheGroup) async throws -> DesktopStore {
        let known = try await store(for: group)
        guard let mark = try await marker.mark(of: group) else { return known }
        return try adopt(mark, instead: known)
    }

    /// Returns the store that holds the tokens, even if the policy does not accept it, or `nil` if none was chosen.
    func remembered(for group: CacheGroup) async throws -> TokenLocation? {
        if let mark = try await marker.mark(of: group) { return mark.store }
        return try await stores.foundInFiles(group, policy)
    }

    /// Returns the same as ``remembered(for:)``. Without a marker, searches the keyring as well, as before a choice.
    ///
    /// - Throws: Also the errors of a keyring that is locked or does not answer.
    func rememberedOrFound(for group: CacheGroup) async throws -> TokenLocation? {
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

    /// Returns an error for a keyring that is absent although the policy lists a store without one: earlier tokens hold the program
    /// to their store.
    func explained(_ error: any Error, for group: CacheGroup) -> any Error {
        guard let problem = error as? AuthenticationError, StoreChoice.isAbsence(problem),
            let known = known(for: group), known.store.needsKeyring, known.isRemembered,
            let other = policy.locations.first(where: { !$0.needsKeyring })
        else { return error }
        return AuthenticationError(
            problem.code,
            """
            The sign-ins are in the store '\(known.store)' since an earlier run, and their keyring cannot be reached here \
            (\(problem.code.rawValue)). The program does not begin the store '\(other)' beside them, because they would not be \
            found there. Run it where the keyring is, for example in the desktop session. There it can also move the sign-ins, \
            so that they need no keyring: DesktopTokenCache.move(to:in:).
            """,
            underlyingError: problem
        )
    }

    /// Records that `known` holds the tokens, or returns the store that another process has recorded.
    func remember(_ known: DesktopStore) async throws -> DesktopStore {
        guard known.mark == nil, known.store != .memory else { return known }
        let group = known.opened.group
        var isFallback = false
        if case .fallback = known.opened.reason { isFallback = true }
        // The next program that starts asks the keyring again, not this one.
        if isFallback { _ = isFirstToSettle(group) }
        return try adopt(try await marker.remember(known.store, for: group, isFallback: isFallback), instead: known)
    }

    /// Whether this is the first call for the group. Only then a write removes the copies of an interrupted move, and looks for
    /// a keyring that was missing.
    func isFirstToSettle(_ group: CacheGroup) -> Bool {
        settled.withLock { $0.insert(group).inserted }
    }

    /// Forgets the open store after a move, so that the next call reads the marker.
    func forget(_ group: CacheGroup) {
        opened.withLock { $0[group] = nil }
        noteMove(of: group)
    }

    /// Returns a promise that is kept when this object finds that the tokens of `group` were moved.
    func nextMove(of group: CacheGroup) -> Promise<Void> {
        moves.withLock { moves in
            let move = moves[group] ?? Promise()
            moves[group] = move
            return move
        }
    }

    private func noteMove(of group: CacheGroup) {
        _ = moves.withLock { $0.removeValue(forKey: group) }?.finish(.success(()))
    }

    private func adopt(_ mark: StoreMark, instead known: DesktopStore) throws -> DesktopStore {
        if let old = known.mark, old.store == mark.store, old.moves == mark.moves { return known }
        let group = known.opened.group
        // Tokens that were moved away and back may have another key.
        let isSame = known.store == mark.store && known.mark?.moves ?? 0 == mark.moves
        let reason = try StoreChoice.decide(policy, remembered: mark.store, problem: nil).reason
        let choice = isSame ? known.opened : OpenedLocation(group: group, location: mark.store, reason: reason)
        let cache = isSame ? known.cache : try stores.cache(mark.store, for: group)
        let new = DesktopStore(opened: choice, cache: cache, mark: mark)
        opened.withLock { $0[group] = new }
        if !isSame {
            log(choice)
            noteMove(of: group)
        }
        return new
    }

    private func log(_ choice: OpenedLocation) {
        (logger ?? Logger.current).debug(
            "token store chosen",
            metadata: [
                "store": "\(choice.location)", "reason": "\(choice.explanation)", "group": "\(choice.group.name)",
            ]
        )
    }
}
