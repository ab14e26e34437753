// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

/// An item that was found, and what is in it.
struct FoundItem: Equatable, Sendable {
    let path: String
    let secret: [UInt8]
}

extension KeyringLink {
    private static let properties = "org.freedesktop.DBus.Properties"

    /// The collection that new items go to.
    /// - Throws: `.keyringNoDefaultCollection` where there is none.
    func defaultCollection(within timeout: Duration) async throws -> String {
        for alias in ["default", "login"] {
            let reply = try await call(
                "ReadAlias",
                of: "Service",
                at: Self.root,
                "('\(alias)',)",
                "(o)",
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

    func property(
        _ name: String,
        of interface: String,
        at path: String,
        within timeout: Duration
    ) async throws -> Variant {
        let reply = try await call(
            "Get",
            of: Self.properties,
            at: path,
            "('org.freedesktop.Secret.\(interface)', '\(name)')",
            "(v)",
            within: timeout
        )
        guard let value = reply[0]?.content else { throw AuthenticationError.keyring(.cache) }
        return value
    }

    /// The items with these attributes that can be read, those in `collection` and changed last first.
    ///
    /// An empty answer is believed only if the collection was open before and is open after: a locked one hides them.
    /// - Throws: `.keyringLocked`.
    func items(
        with attributes: [(String, String)],
        in collection: String,
        within timeout: Duration
    ) async throws -> [FoundItem] {
        guard try await !isLocked(collection, within: timeout) else {
            throw AuthenticationError.keyring(.keyringLocked)
        }
        let paths = try await library.paths(with: attributes)
        var items: [FoundItem] = []
        let readable = paths.unlocked.filter { BusConnection.isPath($0) }
        for start in stride(from: 0, to: readable.count, by: 32) {
            items += try await secrets(of: readable[start..<min(start + 32, readable.count)], within: timeout)
        }
        if items.isEmpty || items.count < readable.count {
            guard paths.locked.isEmpty, try await !isLocked(collection, within: timeout) else {
                throw AuthenticationError.keyring(.keyringLocked)
            }
        }
        return items.sorted { $0.path.hasPrefix(collection + "/") && !$1.path.hasPrefix(collection + "/") }
    }

    /// What is in items. Those that went away meanwhile, and those without content, are left out.
    ///
    /// Not libsecret's: until 0.21.2 it leaves every secret that it fetched in memory for good.
    private func secrets(of paths: ArraySlice<String>, within timeout: Duration) async throws -> [FoundItem] {
        let list = paths.map { "objectpath '\($0)'" }.joined(separator: ", ")
        let reply = try await call(
            "GetSecrets",
            of: "Service",
            at: Self.root,
            "([\(list)], objectpath '\(session)')",
            "(a{o(oayays)})",
            within: timeout
        )
        return (reply[0]?.parts ?? []).compactMap { entry in
            // A keyring that was killed while it made an item leaves an empty one behind.
            guard let path = entry[0]?.text, let secret = entry[1]?[2]?.bytes, !secret.isEmpty else { return nil }
            return FoundItem(path: path, secret: secret)
        }
    }

    /// Writes an item's secret in place. Some keyrings send no signal for it.
    func set(_ secret: [UInt8], of path: String, within timeout: Duration) async throws {
        let bytes = secret.map { "\($0)" }.joined(separator: ",")
        _ = try await call(
            "SetSecret",
            of: "Item",
            at: path,
            "((objectpath '\(session)', @ay [], @ay [\(bytes)], '\(KeyringItem.contentType(of: secret))'),)",
            "()",
            within: timeout
        )
    }

    /// Whether replacing an item makes the keyring ask the person whether this program may touch it: KeePassXC does so
    /// for each connection but the one that made the item, also where it is told not to ask.
    func asksBeforeReplacing(within timeout: Duration) async -> Bool {
        if let known = replacing.withLock({ $0 }) { return known }
        let asks = await provider(within: timeout)?.hasPrefix("keepassxc") ?? false
        replacing.withLock { $0 = asks }
        return asks
    }

    /// Removes an item.
    func delete(_ path: String, within timeout: Duration) async throws {
        let reply = try await call("Delete", of: "Item", at: path, nil, "(o)", within: timeout)
        guard let prompt = reply[0]?.text, prompt != "/" else { return }
        _ = try await PromptRun(bus, prompt).outcome(within: timeout)
    }

    /// When an item was last changed, in seconds since 1970.
    func modified(_ path: String, within timeout: Duration) async throws -> UInt64 {
        try await property("Modified", of: "Item", at: path, within: timeout).uint64 ?? 0
    }

    /// The key of an item in one of `groups`, or `nil` where it is none of ours or gone.
    func key(of path: String, in groups: [CacheGroup], within timeout: Duration) async throws -> CacheKey? {
        guard BusConnection.isPath(path),
            let attributes = try await property("Attributes", of: "Item", at: path, within: timeout).dictionary,
            attributes["xdg:schema"] == KeyringItem.schema, let kind = attributes["kind"], let name = attributes["name"]
        else { return nil }
        for group in groups where KeyringAttributes.group(group).allSatisfy({ attributes[$0.0] == $0.1 }) {
            return CacheKey(group: group, kind: CacheKey.Kind(rawValue: kind), name: name)
        }
        return nil
    }
}
