// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// An item that the library of another program defines, by its attributes.
package struct ForeignItem: Sendable {
    private final class Memory: Sendable {
        let secret = Mutex<[UInt8]?>(nil)
    }

    private let link: KeyringLink
    private let sent: Memory
    private let label: String
    private let attributes: [(String, String)]
    private let timeout: Duration

    /// The item as it was found, or the place of a new one.
    package struct Found: Sendable {
        fileprivate let item: FoundItem?
        fileprivate let collection: String

        /// The item's secret; `nil` if there is no item.
        package var secret: [UInt8]? { item?.secret }
    }

    private init(
        _ link: KeyringLink,
        _ sent: Memory,
        _ label: String,
        _ attributes: [(String, String)],
        _ timeout: Duration
    ) {
        (self.link, self.sent, self.label, self.attributes) = (link, sent, label, attributes)
        self.timeout = timeout
    }

    /// Does `work` with the item, again if the connection broke.
    fileprivate static func with<Value: Sendable>(
        _ connector: KeyringConnector,
        _ label: String,
        _ attributes: [(String, String)],
        _ timeout: Duration,
        _ work: @escaping @Sendable (ForeignItem) async throws -> Value
    ) async throws -> Value {
        let sent = Memory()
        return try await connector.withLink { try await work(ForeignItem($0, sent, label, attributes, timeout)) }
    }

    /// The secret that was sent last; `nil` if none was. The keyring may have it although the connection broke.
    package var sentSecret: [UInt8]? { sent.secret.withLock { $0 } }

    /// Looks for the item.
    ///
    /// - Throws: `.cache` if several have the attributes.
    package func find() async throws -> Found {
        let (collection, items) = try await link.look(within: timeout) { collection, isSeenOpen in
            try await link.items(with: attributes, in: collection, isSeenOpen: isSeenOpen, within: timeout).map {
                (collection, $0)
            }
        }
        guard items.count <= 1 else {
            throw AuthenticationError(
                .cache,
                "The keyring has \(items.count) items with these attributes, so that nothing is written. Name all attributes of one, "
                    + "or remove the others in \"Passwords and Keys\"."
            )
        }
        return Found(item: items.first, collection: collection)
    }

    /// Stores a secret over the item that was found, or as a new item.
    package func store(_ secret: [UInt8], over found: Found) async throws {
        sent.secret.withLock { $0 = secret }
        if let item = found.item {
            try await link.set(secret, of: item.path, within: timeout)
        } else {
            try await link.create(
                secret,
                label: label,
                attributes: attributes,
                in: found.collection,
                within: timeout
            )
        }
    }
}

extension KeyringTokenCache {
    /// Whether the keyring tells of changes, and a number that grows with them.
    package var changes: (isHeard: Bool, epoch: UInt64) { (connector.isListening, memory.epoch) }

    /// Reads the secret of the item with these attributes, of several the newest; `nil` if there is none.
    ///
    /// A person may be asked to unlock the keyring, as for a read.
    package func newestSecret(with attributes: [(String, String)]) async throws -> [UInt8]? {
        let timeout = connector.settings.readTimeout
        let found = try await inOpenCollection { link, collection, isSeenOpen in
            let items = try await link.items(
                with: attributes,
                in: collection,
                isSeenOpen: isSeenOpen,
                within: timeout
            )
            guard let items, items.count > 1 else { return items.map(\.first) }
            var newest: (item: FoundItem, modified: UInt64)?
            for found in items {
                let modified = try await link.modified(found.path, within: timeout)
                if newest.map({ $0.modified < modified }) ?? true { newest = (found, modified) }
            }
            return .some(newest?.item)
        }
        return found?.secret
    }

    /// Works on an item within the time of a write. The work is done again if the keyring's connection broke.
    package func withForeignItem<Value: Sendable>(
        label: String,
        attributes: [(String, String)],
        _ work: @escaping @Sendable (ForeignItem) async throws -> Value
    ) async throws -> Value {
        let (connector, timeout) = (connector, connector.settings.writeTimeout)
        do {
            return try await connector.bounded(by: timeout) {
                try await ForeignItem.with(connector, label, attributes, timeout, work)
            }
        } catch let obstacle as Obstacle {
            throw obstacle.error
        }
    }
}
