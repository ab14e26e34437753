// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

/// The knowledge that a link has of the default collection.
enum KnownCollection: Sendable {
    case unknown
    /// The keyring named it when the link was opened, and it has not been used since.
    case told(String)
    /// It was open when it was last seen.
    case open(String)
}

extension KeyringLink {
    /// The outcome of a look into the default collection.
    enum Look<Value: Sendable>: Sendable {
        case found(Value)
        case stopped(by: Obstacle)
    }

    /// Looks into the default collection.
    ///
    /// First as if it were the one it was and open, since what is found there says that it is. Only where that leads to
    /// nothing certain, the keyring is asked.
    ///
    /// - Parameter look: Is given the collection, and whether it was seen open just before. `nil`, where it was not, means
    ///   that nothing certain was found.
    func look<Value: Sendable>(
        within timeout: Duration,
        _ look: (String, _ isSeenOpen: Bool) async throws -> Value?
    ) async throws -> Look<Value> {
        do {
            return .found(try await find(within: timeout, look))
        } catch let obstacle as Obstacle {
            return .stopped(by: obstacle)
        } catch AuthenticationError.Code.keyringNoDefaultCollection {
            return .stopped(by: .noCollection)
        }
    }

    private func find<Value: Sendable>(
        within timeout: Duration,
        _ look: (String, _ isSeenOpen: Bool) async throws -> Value?
    ) async throws -> Value {
        let known = collection.withLock { known in
            defer { if case .told = known { known = .unknown } }
            return known
        }
        let (path, isLocked): (String, Bool)
        switch known {
        case .open(let collection):
            if let value = try await look(collection, false) { return value }
            (path, isLocked) = try await defaultCollection(probably: collection, within: timeout)
        case .told(let collection):
            let answer = ScopedTask { try await self.isLocked(collection, within: timeout) }
            if let value = try await look(collection, false) {
                note(.open(collection))
                return value
            }
            (path, isLocked) = (collection, try await answer.value())
        case .unknown:
            path = try await defaultCollection(within: timeout)
            isLocked = try await self.isLocked(path, within: timeout)
        }
        note(isLocked ? .unknown : .open(path))
        if isLocked { throw Obstacle.locked(path) }
        guard let value = try await look(path, true) else { throw AuthenticationError.keyring(.cache) }
        return value
    }

    /// The same for a collection that was open a while ago.
    /// - Throws: ``Obstacle`` where it is not any more.
    func look<Value>(
        into collection: String,
        within timeout: Duration,
        _ look: (_ isSeenOpen: Bool) async throws -> Value?
    ) async throws -> Value {
        if let value = try await look(false) { return value }
        guard try await !isLocked(collection, within: timeout) else {
            throw Obstacle.locked(collection)
        }
        guard let value = try await look(true) else { throw AuthenticationError.keyring(.cache) }
        return value
    }

    private func note(_ known: KnownCollection) {
        collection.withLock { $0 = known }
    }

    /// The default collection and whether it is locked, both asked at once as it is seldom another one than before.
    private func defaultCollection(
        probably known: String,
        within timeout: Duration
    ) async throws -> (path: String, isLocked: Bool) {
        let answer = ScopedTask { try await self.isLocked(known, within: timeout) }
        let path = try await defaultCollection(within: timeout)
        return (path, path == known ? try await answer.value() : try await isLocked(path, within: timeout))
    }

    /// The collection that new items go to.
    /// - Throws: `.keyringNoDefaultCollection` where there is none.
    func defaultCollection(within timeout: Duration) async throws -> String {
        try await Self.defaultCollection(on: bus, within: timeout)
    }

    static func defaultCollection(on bus: BusConnection, within timeout: Duration) async throws -> String {
        for alias in ["default", "login"] {
            let reply = try await call(
                "ReadAlias",
                of: "Service",
                at: root,
                "('\(alias)',)",
                "(o)",
                on: bus,
                within: timeout
            )
            if let path = reply[0]?.text, path != "/", BusConnection.isPath(path) { return path }
        }
        throw AuthenticationError.keyring(.keyringNoDefaultCollection)
    }

    /// Whether a collection is locked.
    func isLocked(_ collection: String, within timeout: Duration) async throws -> Bool {
        let value = try await property("Locked", of: "Collection", at: collection, within: timeout)
        return value.bool ?? true
    }
}
