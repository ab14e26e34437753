// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import OAuthWire
import SystemSupport

/// The account that signed in first with a profile. It counts as the profile's line `account`, if there is none.
struct ProfileAccount: Hashable, Sendable {
    let id: String
    /// The account's name for a person and as a login hint; `nil` if the provider tells none.
    let username: String?
    /// Whether the account was signed out with the profile: the next sign-in may be another person's, and no token is handed
    /// out before.
    var isSignedOut = false

    /// The name in a sentence. Harmless to a terminal.
    var label: String { (username ?? id).printable }

    init(of account: Account) {
        (id, username) = (account.id.rawValue, account.username)
    }

    /// - Parameter client: The profile's ``Profile/clientAndProvider``.
    /// - Returns: `nil` for the account of another client or provider. The profile was changed since.
    /// - Throws: `UsageError` if the text is damaged.
    init?(parsing bytes: [UInt8], of client: [String], path: String) throws {
        guard let content = try? JSONObject(parsing: bytes), let id = content.string("account"), !id.isEmpty else {
            throw UsageError("\(path.printable): this file is damaged. To begin it anew, run: rm \(path.shellWord)")
        }
        guard content.strings("client") == client else { return nil }
        (self.id, username) = (id, content.string("username"))
        isSignedOut = content.bool("isSignedOut") == true
    }

    func content(of client: [String]) -> [UInt8] {
        var content = JSONObject([("account", .string(id)), ("client", .strings(client))])
        content["username"] = username.map { .string($0) }
        if isSignedOut { content["isSignedOut"] = .bool(true) }
        return content.serialized()
    }
}

extension Profile {
    /// The own lines that say which accounts there can be: the client and the provider, or else the resource, whose client and
    /// provider were found and may be found anew.
    var clientAndProvider: [String] {
        let names = ["client-id", "authority", "issuer", "authorization-endpoint", "token-endpoint"]
        let lines = names.map { own($0) ?? "" }
        return lines.dropFirst().allSatisfy(\.isEmpty) ? lines + [own("resource") ?? ""] : lines
    }
}
