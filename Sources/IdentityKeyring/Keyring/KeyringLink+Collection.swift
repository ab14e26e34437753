// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

extension KeyringLink {
    /// Looks into the default collection.
    ///
    /// The first look assumes that the default collection is still the last known one and is open: an item that it finds
    /// proves both. Only if it finds nothing certain, the keyring is asked, and `look` is repeated. That counts if the keyring
    /// has told of no lock meanwhile: it may have been locked between two questions, and open at both.
    ///
    /// - Parameter look: Receives the collection's path, and whether the keyring has just said that it is open. Returns
    ///   `nil` if nothing certain was found in a collection that may be locked.
    /// - Throws: ``Obstacle`` if the collection is locked or missing, or its lock changed during three looks; the errors of
    ///   `look`.
    func look<Value: Sendable>(
        within timeout: Duration,
        _ look: (_ collection: String, _ isSeenOpen: Bool) async throws -> Value?
    ) async throws -> Value {
        let known = collection.withLock { $0 }
        if let known, let value = try await look(known, false) { return value }
        for isLast in [false, false, true] {
            let before = lockChanges
            let (path, isLocked) = try await defaultCollection(probably: known, within: timeout)
            collection.withLock { $0 = isLocked ? nil : path }
            if isLocked { throw Obstacle.locked(path) }
            do {
                guard let value = try await look(path, true) else { break }
                if lockChanges == before { return value }
                if isLast { throw Obstacle.locked(path) }
            } catch let failure as GLibFailure where failure.isWithheld && !isLast {
                // A lock in the middle of a read has the same effect.
            }
        }
        throw AuthenticationError.keyring(.cache)
    }

    /// Asks for the default collection and its lock. Both questions are sent at once, because the default collection
    /// rarely changes.
    private func defaultCollection(
        probably known: String?,
        within timeout: Duration
    ) async throws -> (path: String, isLocked: Bool) {
        guard let known else {
            let path = try await defaultCollection(within: timeout)
            return (path, try await isLocked(path, within: timeout))
        }
        let answer = ScopedTask { try await self.isLocked(known, within: timeout) }
        let path = try await defaultCollection(within: timeout)
        return (path, path == known ? try await answer.value() : try await isLocked(path, within: timeout))
    }

    /// The collection that new items go to: the default, or the one that is opened at the login. GNOME Keyring's collection of
    /// the session does not count, because it ends with the session.
    /// - Throws: ``Obstacle/noCollection`` if there is none.
    func defaultCollection(within timeout: Duration) async throws -> String {
        try await Self.defaultCollection(on: bus, within: timeout)
    }

    static func defaultCollection(on bus: BusConnection, within timeout: Duration) async throws -> String {
        for alias in ["default", "login"] {
            guard let path = try await collection(named: alias, on: bus, within: timeout) else { continue }
            // Another keyring may have a lasting collection of that name.
            guard path.hasSuffix("/session"),
                try await collection(named: "session", on: bus, within: timeout) == path
            else { return path }
        }
        throw Obstacle.noCollection
    }

    private static func collection(
        named alias: String,
        on bus: BusConnection,
        within timeout: Duration
    ) async throws -> String? {
        let reply = try await call(
            "ReadAlias",
            of: "Service",
            at: root,
            "('\(alias)',)",
            "(o)",
            on: bus,
            within: timeout
        )
        guard let path = reply[0]?.text, path != "/", BusConnection.isPath(path) else { return nil }
        return path
    }

    /// Whether a collection is locked.
    func isLocked(_ collection: String, within timeout: Duration) async throws -> Bool {
        let value = try await property("Locked", of: "Collection", at: collection, within: timeout)
        return value.bool ?? true
    }

    /// Returns the first collection of these items that is locked, with its name; `nil` if the items are locked one by one.
    func lockedCollection(of items: [String], within timeout: Duration) async throws -> (path: String, label: String)? {
        for path in Set(items.map { String($0[..<($0.lastIndex(of: "/") ?? $0.startIndex)]) }).sorted() {
            do {
                guard try await isLocked(path, within: timeout) else { continue }
                let label = try await property("Label", of: "Collection", at: path, within: timeout).text
                return (path, label ?? "")
            } catch let failure as GLibFailure where KeyringProblem(failure) == .noSuchObject {
                continue
            }
        }
        return nil
    }
}
