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
    /// An empty answer is believed only if the collection was open before and is open after: a locked one hides them. A
    /// keyring that would ask the person to open it is not searched before it was seen open.
    /// - Parameter isSeenOpen: Whether it was open before.
    /// - Returns: `nil` where that was not asked, and items that are all there do not tell.
    /// - Throws: ``Obstacle``.
    func items(
        with attributes: [(String, String)],
        in collection: String,
        isSeenOpen: Bool,
        within timeout: Duration
    ) async throws -> [FoundItem]? {
        guard isSeenOpen || !asksWhenSearched else { return nil }
        var paths = try await paths(with: attributes, within: timeout)
        var items: [FoundItem]
        do {
            items = try await secrets(of: paths.unlocked, within: timeout)
        } catch let failure as GLibFailure where failure.meansMissingItem {
            // Some keyrings refuse all where one is gone, as somebody has removed it since.
            guard try await !isLocked(collection, within: timeout) else { throw Obstacle.locked(collection) }
            paths = try await self.paths(with: attributes, within: timeout)
            items = try await secrets(of: paths.unlocked, within: timeout)
        }
        let isInside: (String) -> Bool = { $0.hasPrefix(collection + "/") }
        let areAll = !items.isEmpty && items.count == paths.unlocked.count
        if !isSeenOpen {
            guard areAll, paths.locked.isEmpty, items.allSatisfy({ isInside($0.path) }) else { return nil }
        } else {
            // What another collection hides is of interest where this one has nothing.
            let hidden = areAll ? paths.locked.filter(isInside) : paths.locked
            if !areAll || !hidden.isEmpty {
                guard try await !isLocked(collection, within: timeout) else { throw Obstacle.locked(collection) }
            }
            guard hidden.isEmpty else { throw Obstacle.lockedItems(hidden) }
        }
        return items.sorted { isInside($0.path) && !isInside($1.path) }
    }

    /// Where the items with these attributes are. Some keyrings show a dialog where all that they have is locked: see
    /// ``asksWhenSearched``.
    func paths(
        with attributes: [(String, String)],
        within timeout: Duration
    ) async throws -> (unlocked: [String], locked: [String]) {
        let reply = try await call(
            "SearchItems",
            of: "Service",
            at: Self.root,
            "(\(Self.text(attributes)),)",
            "(aoao)",
            within: timeout
        )
        let paths = (0..<2).map { part in
            (reply[part]?.parts ?? []).compactMap(\.text).filter { BusConnection.isPath($0) }
        }
        return (paths[0], paths[1])
    }

    /// Returns the contents of items. Leaves out items that were removed in the meantime, and items without content.
    func secrets(of paths: [String], within timeout: Duration) async throws -> [FoundItem] {
        var items: [FoundItem] = []
        for start in stride(from: 0, to: paths.count, by: 32) {
            items += try await secrets(of: paths[start..<min(start + 32, paths.count)], within: timeout)
        }
        return items
    }

    /// The question is not libsecret's: until 0.21.2 it leaves every answer in memory for good.
    private func secrets(of paths: ArraySlice<String>, within timeout: Duration) async throws -> [FoundItem] {
        let list = paths.map { "objectpath '\($0)'" }.joined(separator: ", ")
        let reply = try await call(
            "GetSecrets",
            of: "Service",
            at: Self.root,
            "([\(list)], objectpath '\(session.path)')",
            "(a{o(oayays)})",
            within: timeout
        )
        return (reply[0]?.parts ?? []).compactMap { entry in
            // A keyring that was killed while it made an item leaves an empty one behind.
            guard let path = entry[0]?.text, let secret = entry[1].flatMap(session.decrypted), !secret.isEmpty else {
                return nil
            }
            return FoundItem(path: path, secret: secret)
        }
    }

    /// Writes an item's secret in place. Few keyrings send a signal for it.
    func set(_ secret: [UInt8], of path: String, within timeout: Duration) async throws {
        _ = try await call(
            "SetSecret",
            of: "Item",
            at: path,
            "(%@(oayays),)",
            secret: session.encrypted(secret),
            "()",
            within: timeout
        )
    }

    /// Stores an item in place of one with the same attributes.
    ///
    /// KeePassXC answers every new item with a prompt, also when it is open, and stores nothing before it has been run.
    /// - Throws: `.keyringPromptDismissed` when the person was asked, and closed the dialog.
    func create(
        _ secret: [UInt8],
        label: String,
        attributes: [(String, String)],
        in collection: String,
        within timeout: Duration
    ) async throws {
        let item = "org.freedesktop.Secret.Item"
        let reply = try await call(
            "CreateItem",
            of: "Collection",
            at: collection,
            "({'\(item).Label': <\(BusConnection.quoted(label))>, '\(item).Attributes': <\(Self.text(attributes))>}, "
                + "%@(oayays), true)",
            secret: session.encrypted(secret),
            "(oo)",
            within: timeout
        )
        try await finish(reply[1], within: timeout)
    }

    /// Runs the prompt that a call was answered with, if it is one.
    private func finish(_ prompt: Variant?, within timeout: Duration) async throws {
        guard let prompt = prompt?.text, prompt != "/" else { return }
        guard try await PromptRun(bus, prompt).outcome(within: timeout) != nil else {
            throw AuthenticationError.keyring(.keyringPromptDismissed)
        }
    }

    /// Attributes as a dictionary in a call's arguments.
    private static func text(_ attributes: [(String, String)]) -> String {
        let list = attributes.map { "\(BusConnection.quoted($0.0)): \(BusConnection.quoted($0.1))" }
        return "{\(list.joined(separator: ", "))}"
    }

    /// The item at `path` if it can be read.
    func item(at path: String, within timeout: Duration) async throws -> FoundItem? {
        do {
            return try await secrets(of: [path], within: timeout).first { $0.path == path }
        } catch let failure as GLibFailure where failure.meansMissingItem || KeyringProblem(failure) == .locked {
            return nil
        }
    }

    /// Removes an item.
    /// - Throws: `.keyringPromptDismissed` when the person was asked, and closed the dialog.
    func delete(_ path: String, within timeout: Duration) async throws {
        let reply = try await call("Delete", of: "Item", at: path, nil, "(o)", within: timeout)
        try await finish(reply[0], within: timeout)
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

extension GLibFailure {
    /// Whether a keyring that was asked for secrets says that an item is not there. KWallet calls that an argument that is
    /// not valid.
    fileprivate var meansMissingItem: Bool {
        KeyringProblem(self) == .noSuchObject || name == "org.freedesktop.DBus.Error.InvalidArgs"
    }
}
