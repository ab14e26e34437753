// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

/// The account that a program works with, the previous one, and the signed-out ones, as a pure value.
package struct AccountsInUse: Hashable, Sendable {
    /// The part of an account that is remembered after it was signed out.
    package struct Entry: Hashable, Sendable {
        package var id: Account.ID
        package var environment: String
        package var homeAccountID: String
        package var username: String?
    }

    package var current: Entry?
    package var previous: Entry?
    /// The signed-out accounts, the most recent first.
    package var signedOut: [Entry] = []
    /// Whether an account was signed out and no sign-in has followed.
    package var asksAgain = false
    /// Members that another version of the library wrote.
    package var unknown = JSONObject()
    package var version = Self.currentVersion

    package static let currentVersion = 1
    private static let maximumSignedOut = 20

    package init() {}
}

extension AccountsInUse {
    /// Makes `account` the current one.
    package mutating func choose(_ account: Account) {
        let chosen = Entry(account)
        if let current, current.key != chosen.key { previous = current }
        // An account that comes back after signing out does not become its own predecessor.
        if previous?.key == chosen.key { previous = nil }
        current = chosen
    }

    package mutating func signIn(_ account: Account) {
        choose(account)
        signedOut.removeAll { $0.key == account.key }
        asksAgain = false
    }

    package mutating func signOut(_ account: Account) {
        // If no account was chosen, this one was current as the only one.
        if (current?.key ?? account.key) == account.key {
            previous = Entry(account)
            current = nil
        }
        signedOut.removeAll { $0.key == account.key }
        signedOut = Array(([Entry(account)] + signedOut).prefix(Self.maximumSignedOut))
        asksAgain = true
    }

    /// The current and the previous account, given the accounts that are signed in.
    ///
    /// An account that another program of the group has signed out becomes the previous one.
    /// - Returns: `nil` if there are several accounts and none of them was chosen.
    package func accounts(among signedIn: [Account]) -> CurrentAccount? {
        if let current, let account = signedIn.first(where: { $0.key == current.key }) {
            return CurrentAccount(current: account, previous: previous.map { $0.account(among: signedIn) })
        }
        guard signedIn.count <= 1 else { return nil }
        let before = (current ?? previous).flatMap { $0.key == signedIn.first?.key ? nil : $0 }
        return CurrentAccount(current: signedIn.first, previous: before.map { $0.account(among: signedIn) })
    }

    /// Whether the next sign-in must prompt, although the browser may still have a session of the person.
    ///
    /// - Parameters:
    ///   - wanted: The account or username that the sign-in names; `nil` if it names none.
    ///   - isSignedIn: Whether the current account is signed in.
    package func mustAsk(for wanted: (id: Account.ID?, username: String?)?, isSignedIn: Bool) -> Bool {
        guard let wanted else { return asksAgain || current != nil && !isSignedIn }
        let username = wanted.username?.lowercased()
        var absent = signedOut
        if let current, !isSignedIn { absent.append(current) }
        return absent.contains { entry in
            wanted.id.map { $0 == entry.id } ?? (username != nil && username == entry.username?.lowercased())
        }
    }
}

extension AccountsInUse.Entry {
    package init(_ account: Account) {
        id = account.id
        environment = account.environment
        homeAccountID = account.homeAccountID
        username = account.username
    }

    var key: Account.Key { Account.Key(id: id, cloud: CloudInstances.canonical(environment)) }

    func account(among signedIn: [Account]) -> Account {
        signedIn.first { $0.key == key }
            ?? Account(id: id, environment: environment, username: username, homeAccountID: homeAccountID)
    }
}

// The record's JSON.
extension AccountsInUse {
    /// Reads a record.
    ///
    /// - Throws: `JSONError` or `WireError` if the bytes are not such a record.
    package init(decoding bytes: [UInt8]) throws {
        var json = try JSONObject(parsing: bytes)
        version = json.integer("v") ?? Self.currentVersion
        current = try json.object("current").map(Entry.init(decoding:))
        previous = try json.object("previous").map(Entry.init(decoding:))
        signedOut = try (json.array("signed_out") ?? []).compactMap { value in
            if case .object(let object) = value { try Entry(decoding: object) } else { nil }
        }
        asksAgain = json.bool("asks_again") ?? false
        for name in ["v", "current", "previous", "signed_out", "asks_again"] { json[name] = nil }
        unknown = json
    }

    /// The record's bytes.
    package func encoded() -> [UInt8] {
        var json = JSONObject([("v", .integer(version))])
        json["current"] = current.map { .object($0.json) }
        json["previous"] = previous.map { .object($0.json) }
        json["signed_out"] = signedOut.isEmpty ? nil : .array(signedOut.map { .object($0.json) })
        json["asks_again"] = asksAgain ? .bool(true) : nil
        for (name, value) in unknown.members { json[name] = value }
        return json.serialized()
    }
}

extension AccountsInUse.Entry {
    init(decoding json: JSONObject) throws {
        guard let id = json.string("account_id"), let environment = json.string("environment") else {
            throw WireError.missing("account_id or environment")
        }
        self.id = Account.ID(rawValue: id)
        self.environment = environment
        homeAccountID = json.string("home_account_id") ?? id
        username = json.string("username")
    }

    var json: JSONObject {
        var json = JSONObject([("account_id", .string(id.rawValue)), ("environment", .string(environment))])
        json["home_account_id"] = homeAccountID == id.rawValue ? nil : .string(homeAccountID)
        json["username"] = username.map { .string($0) }
        return json
    }
}
