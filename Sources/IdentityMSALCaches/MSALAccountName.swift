// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// An account of one client, as the schema names it and as this library names it.
struct MSALAccountName: Hashable, Sendable {
    let partition: String
    let accountID: Account.ID
    let clientID: String
    /// The record's value of `home_account_id`.
    let homeAccountID: String
    /// The record's value of `environment`, with a port if there is one.
    let environment: String

    /// The name of the record's key.
    let name: String

    init(partition: String, accountID: Account.ID, clientID: String, homeAccountID: String, environment: String) {
        self.partition = partition
        self.accountID = accountID
        self.clientID = clientID
        self.homeAccountID = homeAccountID
        self.environment = environment
        name = Digest.hexadecimal(of: ["account", partition, accountID.rawValue, clientID])
    }

    /// The name of an account of Entra ID that any library has stored; `nil` for an account that another provider's
    /// library may have stored, because the schema does not tell its issuer.
    init?(account: JSONObject, clientID: String) {
        guard let home = account.text("home_account_id"), let environment = account.text("environment")?.folded,
            CloudInstances.isKnown(environment), Self.namesTenant(home)
        else { return nil }
        let canonical = CloudInstances.canonical(environment)
        self.init(
            partition: "entra|" + canonical,
            accountID: Account.ID(rawValue: home.folded),
            clientID: clientID,
            homeAccountID: home,
            environment: canonical
        )
    }

    init(_ credentials: AccountCredentials) {
        self.init(
            partition: credentials.partition,
            accountID: credentials.accountID,
            clientID: credentials.clientID,
            homeAccountID: credentials.homeAccountID,
            environment: credentials.environment
        )
    }

    /// The name that a note keeps; `nil` if the note does not belong to this name.
    init?(note: JSONObject, named name: String) {
        guard let partition = note.text("authority_partition"), let account = note.text("account_id"),
            let client = note.text("client_id"), let home = note.text("home_account_id"),
            let environment = note.text("environment")
        else { return nil }
        self.init(
            partition: partition,
            accountID: Account.ID(rawValue: account),
            clientID: client,
            homeAccountID: home,
            environment: environment
        )
        guard self.name == name else { return nil }
    }

    /// The note with this name and the ID of the sign-in.
    func note(signInID: String) -> JSONObject {
        JSONObject([
            ("client_id", .string(clientID)), ("authority_partition", .string(partition)),
            ("account_id", .string(accountID.rawValue)), ("home_account_id", .string(homeAccountID)),
            ("environment", .string(environment)), ("incarnation", .string(signInID)),
        ])
    }

    /// The ID of a sign-in by another program. It is always the same: the refresh token decides whose tokens count.
    var foreignSignInID: String {
        String(Digest.hexadecimal(of: ["shared", name]).prefix(22))
    }

    var isEntra: Bool { partition.hasPrefix("entra|") }

    /// Whether the schema tells this account from each other one: its `home_account_id` names the person and the tenant, and at
    /// B2C the policy. Of AD FS, OpenID Connect and plain OAuth 2.0 the schema tells a subject and a host, and no issuer.
    var isShareable: Bool {
        guard Self.namesTenant(homeAccountID) else { return false }
        if isEntra || partition.hasPrefix("externalid|") { return true }
        guard partition.hasPrefix("b2c|"), let bar = partition.utf8.lastIndex(of: UInt8(ascii: "|")) else {
            return false
        }
        let policy = "-\(partition[partition.utf8.index(after: bar)...]).".utf8.map(\.folded)
        return homeAccountID.utf8.map(\.folded).contains(policy)
    }

    /// Whether a `home_account_id` is Microsoft's `uid.utid`, and not an issuer and a subject.
    private static func namesTenant(_ home: String) -> Bool {
        home.utf8.contains(UInt8(ascii: ".")) && !home.utf8.contains(UInt8(ascii: "|"))
    }

    /// The value of `environment` in the schema, for an account that is not there yet: a host, and a port if there is one.
    var host: String { environment.folded }

    /// Whether an entity is about this account, under any of its cloud's hosts.
    func owns(_ entity: JSONObject) -> Bool {
        guard entity.has("home_account_id", homeAccountID), let other = entity.text("environment")?.folded else {
            return false
        }
        return CloudInstances.canonical(other) == CloudInstances.canonical(host)
    }

    /// Returns the tenant that an entity's realm means. MSAL Python and Go write the authority's own word, which stands
    /// for the account's tenant.
    func tenant(_ realm: String) -> String {
        guard isEntra else { return realm }
        let realm = realm.folded
        return switch realm {
        case "common", "organizations": accountID.homeTenant ?? realm
        case "consumers": CloudInstances.consumersTenantID
        default: realm
        }
    }
}
