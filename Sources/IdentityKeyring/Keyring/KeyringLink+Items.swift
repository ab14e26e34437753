// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

/// An item of the keyring with its content.
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

    /// Returns the readable items with these attributes, the items in `collection` first.
    ///
    /// An empty answer counts only if the collection was open before the search and is open after it, because a locked
    /// collection hides its items. A keyring that opens a dialog for a search is not searched before it was seen open.
    /// - Parameter isSeenOpen: Whether the keyring has just said that the collection is open.
    /// - Returns: `nil` if `isSeenOpen` is `false` and the items that were found do not prove it.
    /// - Throws: ``Obstacle``.
    func items(
        with attributes: [(String, String)],
        in collection: String,
        isSeenOpen: Bool,
        within timeout: Duration
    ) async throws -> [FoundItem]? {
        guard isSeenOpen || !mayBeKeePassXC else { return nil }
        var paths = try await paths(with: attributes, within: timeout)
        var answers: [FoundItem]
        do {
            answers = try await secrets(of: paths.unlocked, within: timeout)
        } catch let failure as GLibFailure where failure.meansMissingItem {
            // Some keyrings refuse all secrets if one of the items was removed since the search.
            guard try await !isLocked(collection, within: timeout) else { throw Obstacle.locked(collection) }
            paths = try await self.paths(with: attributes, within: timeout)
            answers = try await secrets(of: paths.unlocked, within: timeout)
        }
        // A keyring that was killed while it created an item leaves an empty item.
        let items = answers.filter { !$0.secret.isEmpty }
        let isInside: (String) -> Bool = { $0.hasPrefix(collection + "/") }
        let areAll = !items.isEmpty && items.count == paths.unlocked.count
        if !isSeenOpen {
            guard areAll, paths.locked.isEmpty, items.allSatisfy({ isInside($0.path) }) else { return nil }
        } else {
            // Locked items of other collections count only if this collection has nothing.
            let hidden = areAll ? paths.locked.filter(isInside) : paths.locked
            if !areAll || !hidden.isEmpty {
                guard try await !isLocked(collection, within: timeout) else { throw Obstacle.locked(collection) }
            }
            guard hidden.isEmpty else { throw try await obstacle(of: hidden, within: timeout) }
            let silent = Set(paths.unlocked).subtracting(answers.map(\.path))
            if !silent.isEmpty { try await requireRemoved(silent, with: attributes, within: timeout) }
        }
        return items.sorted { isInside($0.path) && !isInside($1.path) }
    }

    /// Checks that items without an answer were removed since the search. An item that is still there is not absent.
    private func requireRemoved(
        _ silent: Set<String>,
        with attributes: [(String, String)],
        within timeout: Duration
    ) async throws {
        let paths = try await paths(with: attributes, within: timeout)
        let locked = paths.locked.filter(silent.contains)
        guard locked.isEmpty else { throw try await obstacle(of: locked, within: timeout) }
        guard silent.isDisjoint(with: paths.unlocked) else { throw GLibFailure.withheld }
    }

    /// Finds out what locks these items of an open keyring.
    private func obstacle(of items: [String], within timeout: Duration) async throws -> Obstacle {
        guard let found = try await lockedCollection(of: items, within: timeout) else { return .lockedItems(items) }
        return .lockedElsewhere(found.path, label: found.label)
    }

    /// Returns the paths of the items with these attributes. Some keyrings open a dialog if all collections are locked; see
    /// ``mayBeKeePassXC``.
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

    /// Returns the contents of items. Leaves out items that were removed in the meantime.
    ///
    /// - Throws: ``GLibFailure/undecodable`` if the key of the session does not fit; then the session is left.
    private func secrets(of paths: [String], within timeout: Duration) async throws -> [FoundItem] {
        var items: [FoundItem] = []
        for start in stride(from: 0, to: paths.count, by: 32) {
            items += try await secrets(of: paths[start..<min(start + 32, paths.count)], within: timeout)
        }
        return items
    }

    /// This is not libsecret's function, which before 0.21.2 never frees an answer.
    private func secrets(of paths: ArraySlice<String>, within timeout: Duration) async throws -> [FoundItem] {
        let session = try await session()
        let list = paths.map { "objectpath '\($0)'" }.joined(separator: ", ")
        let reply = try await call(
            "GetSecrets",
            of: "Service",
            at: Self.root,
            "([\(list)], objectpath '\(session.path)')",
            "(a{o(oayays)})",
            within: timeout
        )
        return try (reply[0]?.parts ?? []).compactMap { entry in
            guard let path = entry[0]?.text, let encrypted = entry[1] else { return nil }
            guard let secret = session.decrypted(encrypted) else {
                leave(session)
                throw GLibFailure.undecodable
            }
            return FoundItem(path: path, secret: secret)
        }
    }

    /// Reads an item again in another session, because a key that does not fit can turn a secret into any bytes.
    ///
    /// - Throws: ``GLibFailure/undecodable`` if the bytes differ.
    func confirm(_ item: FoundItem, within timeout: Duration) async throws {
        leave(try await session())
        guard try await self.item(at: item.path, within: timeout) == item else { throw GLibFailure.undecodable }
    }

    /// Writes an item's secret in place. Few keyrings send a signal for it.
    func set(_ secret: [UInt8], of path: String, within timeout: Duration) async throws {
        _ = try await send(secret, by: "SetSecret", of: "Item", at: path, "(%@(oayays),)", "()", within: timeout)
    }

    /// Calls a method with a secret.
    ///
    /// - Throws: ``GLibFailure/undecodable`` if the keyring cannot decrypt the secret; then the session is left.
    private func send(
        _ secret: [UInt8],
        by method: String,
        of interface: String,
        at path: String,
        _ arguments: String,
        _ reply: String,
        within timeout: Duration
    ) async throws -> Variant {
        let session = try await session()
        do {
            let encrypted = try session.encrypted(secret)
            return try await call(method, of: interface, at: path, arguments, secret: encrypted, reply, within: timeout)
        } catch let failure as GLibFailure where failure.meansUndecodable {
            leave(session)
            throw GLibFailure.undecodable
        }
    }

    /// Stores an item. Replaces an item with the same attributes.
    ///
    /// KeePassXC answers every new item with a prompt, and stores the item when the prompt has run.
    /// - Throws: `.keyringPromptDismissed` if the person was asked and closed the dialog.
    func create(
        _ secret: [UInt8],
        label: String,
        attributes: [(String, String)],
        in collection: String,
        within timeout: Duration
    ) async throws {
        let item = "org.freedesktop.Secret.Item"
        let reply = try await send(
            secret,
            by: "CreateItem",
            of: "Collection",
            at: collection,
            "({'\(item).Label': <\(BusConnection.quoted(label))>, '\(item).Attributes': <\(Self.text(attributes))>}, "
                + "%@(oayays), true)",
            "(oo)",
            within: timeout
        )
        try await finish(reply[1], within: timeout)
    }

    /// Runs the prompt in a call's answer, if there is one.
    private func finish(_ prompt: Variant?, within timeout: Duration) async throws {
        guard let prompt = prompt?.text, prompt != "/" else { return }
        guard try await PromptRun(bus, prompt).outcome(within: timeout) != nil else {
            throw AuthenticationError.keyring(.keyringPromptDismissed)
        }
    }

    /// Writes attributes as a dictionary in a call's arguments.
    private static func text(_ attributes: [(String, String)]) -> String {
        let list = attributes.map { "\(BusConnection.quoted($0.0)): \(BusConnection.quoted($0.1))" }
        return "{\(list.joined(separator: ", "))}"
    }

    /// Returns the item at `path`, or `nil` if it is gone, empty or locked.
    func item(at path: String, within timeout: Duration) async throws -> FoundItem? {
        do {
            return try await secrets(of: [path], within: timeout).first { $0.path == path && !$0.secret.isEmpty }
        } catch let failure as GLibFailure where failure.meansMissingItem || KeyringProblem(failure) == .locked {
            return nil
        }
    }

    /// Removes an item.
    /// - Throws: `.keyringPromptDismissed` if the person was asked and closed the dialog.
    func delete(_ path: String, within timeout: Duration) async throws {
        let reply = try await call("Delete", of: "Item", at: path, nil, "(o)", within: timeout)
        try await finish(reply[0], within: timeout)
    }

    /// Returns the time of an item's last change, in seconds since 1970.
    func modified(_ path: String, within timeout: Duration) async throws -> UInt64 {
        try await property("Modified", of: "Item", at: path, within: timeout).uint64 ?? 0
    }

    /// Returns the key of an item in one of `groups`, or `nil` if the item is gone or not ours.
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
    /// A secret that the session's key does not decrypt. The session is not the one that the keyring means.
    static let undecodable = GLibFailure(
        domain: "identity-client",
        code: 4,
        name: nil,
        message: "A secret could not be decrypted."
    )

    /// A keyring that finds an item, and has no answer to the question for its secret.
    fileprivate static let withheld = GLibFailure(
        domain: "identity-client",
        code: 5,
        name: nil,
        message: "The keyring found an item and did not give its secret"
    )

    /// Whether this is ``withheld``.
    var isWithheld: Bool { domain == Self.withheld.domain && code == Self.withheld.code }

    /// Whether a keyring reports that it cannot decrypt a secret. KWallet (seen in 5.103) says that it has no such session.
    fileprivate var meansUndecodable: Bool { name == "org.qtproject.QtDBus.Error.InvalidObjectPath" }

    /// Whether a keyring reports that one of the items in a question for secrets does not exist. KWallet calls this an invalid
    /// argument.
    fileprivate var meansMissingItem: Bool {
        KeyringProblem(self) == .noSuchObject || name == "org.freedesktop.DBus.Error.InvalidArgs"
    }
}
