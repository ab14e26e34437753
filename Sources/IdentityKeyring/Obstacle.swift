// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient

/// An obstacle before the secrets that only the person can remove.
enum Obstacle: Error, Sendable {
    /// The collection is locked.
    case locked(String)
    /// The collection is open, and these items are locked: KeePassXC opens an item to the connection alone that the person
    /// allowed it.
    case lockedItems([String])
    /// There is no default collection: an account that is new, or logs in by itself.
    case noCollection

    /// The error if the person cannot be asked.
    var error: AuthenticationError {
        switch self {
        case .locked: .keyring(.keyringLocked)
        case .lockedItems: .keyringItemsLocked
        case .noCollection: .keyring(.keyringNoDefaultCollection)
        }
    }
}

extension KeyringLink {
    /// Whether the person, or another program, has removed it meanwhile.
    func isGone(_ obstacle: Obstacle, within timeout: Duration) async throws -> Bool {
        switch obstacle {
        case .locked(let collection): return try await !isLocked(collection, within: timeout)
        case .lockedItems(let items):
            for item in items where try await property("Locked", of: "Item", at: item, within: timeout).bool != false {
                return false
            }
            return true
        case .noCollection:
            do {
                _ = try await defaultCollection(within: timeout)
                return true
            } catch AuthenticationError.Code.keyringNoDefaultCollection {
                return false
            }
        }
    }

    /// Has the keyring remove an obstacle.
    /// - Returns: The prompt that it takes, which is not open yet; `nil` when it is done.
    func remove(_ obstacle: Obstacle, within timeout: Duration) async throws -> String? {
        let prompt: String?
        switch obstacle {
        case .locked(let collection): prompt = try await unlock([collection], within: timeout)
        case .lockedItems(let items): prompt = try await unlock(items, within: timeout)
        case .noCollection:
            let reply = try await call(
                "CreateCollection",
                of: "Service",
                at: Self.root,
                "({'org.freedesktop.Secret.Collection.Label': <'Default keyring'>}, 'default')",
                "(oo)",
                within: timeout
            )
            prompt = reply[1]?.text
        }
        return prompt == "/" ? nil : prompt
    }

    private func unlock(_ paths: [String], within timeout: Duration) async throws -> String? {
        let list = paths.map { "objectpath '\($0)'" }.joined(separator: ", ")
        let reply = try await call("Unlock", of: "Service", at: Self.root, "([\(list)],)", "(aoo)", within: timeout)
        return reply[1]?.text
    }
}
