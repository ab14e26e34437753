// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient

/// A state of the keyring that hides secrets, and that usually only the person can end.
enum Obstacle: Error, Sendable {
    /// The collection is locked.
    case locked(String)
    /// The collection is open, but these items are locked: KeePassXC opens an item only to the connection that the person
    /// allowed.
    case lockedItems([String])
    /// The collection is open, but these items are in another one, of this name, which is locked.
    case lockedElsewhere(String, label: String)
    /// There is no default collection, as in a new user account or one with automatic login.
    case noCollection

    /// The error if the person cannot be asked.
    var error: AuthenticationError {
        switch self {
        case .locked: .keyring(.keyringLocked)
        case .lockedItems: .keyringItemsLocked
        case .lockedElsewhere(_, let label): .keyringLockedElsewhere(label)
        case .noCollection: .keyring(.keyringNoDefaultCollection)
        }
    }
}

extension KeyringLink {
    /// Whether the person, or another program, has removed an obstacle meanwhile.
    func isGone(_ obstacle: Obstacle, within timeout: Duration) async throws -> Bool {
        switch obstacle {
        case .locked(let collection), .lockedElsewhere(let collection, _):
            return try await !isLocked(collection, within: timeout)
        case .lockedItems(let items):
            for item in items where try await property("Locked", of: "Item", at: item, within: timeout).bool != false {
                return false
            }
            return true
        case .noCollection:
            do {
                _ = try await defaultCollection(within: timeout)
                return true
            } catch Obstacle.noCollection {
                return false
            }
        }
    }

    /// Asks the keyring to remove an obstacle.
    /// - Returns: The path of the prompt that the keyring needs for it, not opened yet, or `nil` if the obstacle is gone.
    func remove(_ obstacle: Obstacle, within timeout: Duration) async throws -> String? {
        let prompt: String?
        switch obstacle {
        case .locked(let collection), .lockedElsewhere(let collection, _):
            prompt = try await unlock([collection], within: timeout)
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
