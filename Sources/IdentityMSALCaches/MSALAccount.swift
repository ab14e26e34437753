// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// The credentials of one account and client in a shared cache, and the entities that they were read from.
///
/// An entity in an unknown form is not part of the credentials. It stays in the cache as it is.
struct MSALAccount: Hashable, Sendable {
    /// An entity and its key; `isOwn` is false for a refresh token of another program of the family.
    struct Source: Hashable, Sendable {
        let key: String
        let json: JSONObject
        var isOwn = true
        /// Where an access token is.
        var section = MSALBlob.Section.accessToken
    }

    let name: MSALAccountName
    let credentials: AccountCredentials
    /// The entities of the profiles and of their ID tokens, by tenant.
    let profiles: [String: Source]
    let idTokens: [String: Source]
    let refreshToken: Source?
    /// The entities of the access tokens, in the tokens' order.
    let accessTokens: [Source]
}

extension MSALAccount {
    /// Reads one account; returns `nil` if the client has no credential for it.
    init?(_ name: MSALAccountName, in blob: MSALBlob, _ entities: MSALEntities? = nil) {
        let entities = entities ?? MSALEntities(blob)
        let own = { (entity: MSALBlob.Entity) in entity.json.has("client_id", name.clientID) }
        let note = blob.note(name.name)
        let mine = { (section: MSALBlob.Section) in entities.of(name, section) }

        var idTokens: [String: Source] = [:]
        for entity in mine(.idToken) where own(entity) && entity.json.text("secret") != nil {
            guard let realm = entity.json.string("realm") else { continue }
            idTokens[name.tenant(realm)] = Source(key: entity.key, json: entity.json)
        }
        var profiles: [String: Source] = [:]
        var decoded: [CachedProfile] = []
        for entity in mine(.account) {
            guard let profile = Self.profile(entity.json, name, idTokens), profiles[profile.realm] == nil else {
                continue
            }
            profiles[profile.realm] = Source(key: entity.key, json: entity.json)
            decoded.append(profile)
        }
        var tokens: [(CachedAccessToken, Source)] = []
        let kept = mine(.accessToken).map { (MSALBlob.Section.accessToken, $0) }
        let bound = mine(.boundAccessToken).map { (MSALBlob.Section.boundAccessToken, $0) }
        for (section, entity) in kept + bound where own(entity) {
            guard let token = Self.accessToken(entity.json, name, section) else { continue }
            let same = tokens.firstIndex {
                $0.0.realm == token.realm && $0.0.scopes == token.scopes && $0.0.keyID == token.keyID
                    && $0.0.parameterTag == token.parameterTag
            }
            if let same, tokens[same].0.expiresOn >= token.expiresOn { continue }
            if let same { tokens.remove(at: same) }
            tokens.append((token, Source(key: entity.key, json: entity.json, section: section)))
        }
        let refreshToken = Self.refreshToken(mine(.refreshToken), of: name, in: blob, note)

        let isKnown = note?.text("incarnation") != nil && !idTokens.isEmpty
        guard refreshToken != nil || !tokens.isEmpty || isKnown, note != nil || !decoded.isEmpty else { return nil }
        var credentials = AccountCredentials(
            signInID: note?.text("incarnation") ?? name.foreignSignInID,
            partition: name.partition,
            environment: name.environment,
            clientID: name.clientID,
            accountID: name.accountID,
            homeAccountID: name.homeAccountID
        )
        credentials.profiles = decoded
        credentials.refreshToken = refreshToken?.token
        credentials.accessTokens = tokens.map(\.0)
        self.name = name
        self.credentials = credentials
        self.profiles = profiles
        self.idTokens = idTokens
        self.refreshToken = refreshToken?.source
        accessTokens = tokens.map(\.1)
    }

    private static func profile(
        _ account: JSONObject,
        _ name: MSALAccountName,
        _ idTokens: [String: Source]
    ) -> CachedProfile? {
        guard let realm = account.string("realm"), account.text("local_account_id") != nil else { return nil }
        var json = account
        let tenant = name.tenant(realm)
        json["realm"] = .string(tenant)
        if json["is_home_tenant"] == nil {
            json["is_home_tenant"] = .string(tenant == (name.accountID.homeTenant ?? tenant) ? "1" : "0")
        }
        var tokens: [String: JSONObject] = [:]
        if var token = idTokens[tenant]?.json {
            token["realm"] = .string(tenant)
            tokens[tenant] = token
        }
        return try? CachedProfile(decoding: json, idTokens: tokens)  // an odd entity stays, and is not used
    }

    /// Whether an access token is a plain bearer token. Tokens bound to a key, to claims, to an assertion or to other parameters are not for a
    /// caller who did not ask for them.
    static func isPlain(_ entity: JSONObject) -> Bool {
        special.allSatisfy { entity[$0] == nil } && entity.has("credential_type", "AccessToken")
            && (entity.string("token_type") ?? "Bearer").lowercased() == "bearer"
    }

    private static func accessToken(
        _ entity: JSONObject,
        _ name: MSALAccountName,
        _ section: MSALBlob.Section
    ) -> CachedAccessToken? {
        let isOurs = section == .boundAccessToken
        let isBound = isOurs && entity["kid"] != nil
        guard isOurs ? isBound || entity["parameter_tag"] != nil : isPlain(entity), entity.text("secret") != nil,
            let realm = entity.string("realm")
        else { return nil }
        var json = entity
        let tenant = name.tenant(realm)
        if tenant != realm.lowercased(), json["authority_tenant"] == nil {
            json["authority_tenant"] = .string(realm.lowercased())
        }
        json["realm"] = .string(tenant)
        if json["extended_expires_on"] == nil { json["extended_expires_on"] = json["ext_expires_on"] }  // MSAL.NET
        for time in ["cached_at", "expires_on", "refresh_on", "extended_expires_on"] { json.makeText(time) }
        // An odd entity stays, and is not used.
        return try? CachedAccessToken(
            decoding: json,
            rule: Authority.scopeRule(forPartition: name.partition),
            isBound: isBound
        )
    }

    /// The members that an access token for one purpose only has, in the spellings of all libraries.
    private static let special = [
        "kid", "key_id", "keyid", "ext", "ext_cache_key", "requestedClaims", "requestedClaimsHash",
        "requested_claims", "user_assertion_hash", "userAssertionHash", "persisted_cache_parameters",
    ]

    /// Chooses the newest refresh token of the client. A token of the family counts too if the client is in the family,
    /// or if that is unknown and the client has no token.
    private static func refreshToken(
        _ entities: [MSALBlob.Entity],
        of name: MSALAccountName,
        in blob: MSALBlob,
        _ note: JSONObject?
    ) -> (token: CachedRefreshToken, source: Source)? {
        let hidden = note?.strings("unused_family_tokens") ?? []
        var own: [(token: CachedRefreshToken, source: Source)] = []
        var family: [(token: CachedRefreshToken, source: Source)] = []
        for entity in entities where isPersons(entity.json) {
            guard let token = refreshToken(entity.json) else { continue }
            let isOwn = entity.json.has("client_id", name.clientID)
            let found = (token, Source(key: entity.key, json: entity.json, isOwn: isOwn))
            if isOwn {
                own.append(found)
            } else if token.familyID == "1", note?.bool("signed_out") != true, !hidden.contains(digest(token.secret)) {
                family.append(found)
            }
        }
        let newest = { (tokens: [(token: CachedRefreshToken, source: Source)]) in
            tokens.max { $0.token.modifiedAt < $1.token.modifiedAt }
        }
        let metadata = blob.entities(.appMetadata).first { entity in
            entity.json.has("client_id", name.clientID)
                && entity.json.text("environment").map { CloudInstances.canonical($0.lowercased()) }
                    == CloudInstances.canonical(name.host)
        }
        guard let metadata else { return newest(own) ?? newest(family) }
        return metadata.json.text("family_id") == "1" ? newest(own + family) : newest(own)
    }

    /// Whether a refresh token is for the person's own requests: that of an on-behalf-of flow, or with further parameters, is not.
    static func isPersons(_ refreshToken: JSONObject) -> Bool {
        !isOnBehalf(refreshToken) && refreshToken["ext"] == nil
    }

    /// Whether a token belongs to an on-behalf-of flow: a service acts with it for the person, and no sign-in here has made it.
    static func isOnBehalf(_ entity: JSONObject) -> Bool {
        entity["user_assertion_hash"] != nil || entity["userAssertionHash"] != nil
    }

    private static func refreshToken(_ entity: JSONObject) -> CachedRefreshToken? {
        guard entity.text("secret") != nil else { return nil }
        var json = entity
        json.makeText("last_modification_time")
        // The schema's scopes are those of the newest request in MSAL Python, and part of its key.
        if let granted = json["granted_target"] { json["target"] = granted }
        json["granted_target"] = nil
        var token = try? CachedRefreshToken(decoding: json)  // an odd entity stays, and is not used
        if token?.familyID?.isEmpty == true { token?.familyID = nil }
        return token
    }

    /// Names a refresh token without telling it.
    static func digest(_ secret: String) -> String {
        String(Digest.hexadecimal(of: ["family", secret]).prefix(32))
    }
}

/// The entities of a shared cache by their account, so that reading all accounts costs one sweep.
struct MSALEntities {
    private var found: [MSALBlob.Section: [String: [MSALBlob.Entity]]] = [:]

    init(_ blob: MSALBlob) {
        for section in [MSALBlob.Section.account, .idToken, .refreshToken, .accessToken, .boundAccessToken] {
            found[section] = Dictionary(grouping: blob.entities(section)) { entity in
                entity.json.string("home_account_id")?.lowercased() ?? ""
            }
        }
    }

    /// The entities about an account, of all clients and under any of its cloud's hosts, in their order.
    func of(_ name: MSALAccountName, _ section: MSALBlob.Section) -> [MSALBlob.Entity] {
        (found[section]?[name.homeAccountID.lowercased()] ?? []).filter { name.owns($0.json) }
    }
}

extension MSALBlob {
    /// The accounts that `clientID` has credentials for, and all accounts that have a note, by their keys' names.
    func accounts(of clientID: String) -> [String: MSALAccount] {
        var accounts: [String: MSALAccount] = [:]
        let index = MSALEntities(self)
        // Earlier versions also noted accounts whose entities may be another issuer's.
        let noted = noteNames.compactMap { name in note(name).flatMap { MSALAccountName(note: $0, named: name) } }
            .filter(\.isShareable)
        let found = entities(.account).compactMap { MSALAccountName(account: $0.json, clientID: clientID) }
        for name in noted + found where accounts[name.name] == nil {
            accounts[name.name] = MSALAccount(name, in: self, index)
        }
        return accounts
    }
}

extension JSONObject {
    /// Writes a number as the text that it should be: some programs write times as numbers, or with a fraction.
    fileprivate mutating func makeText(_ name: String) {
        guard let value = self[name] else { return }
        switch value {
        case .number: if let time = value.roundedDown { self[name] = .string(String(time)) }
        case .string(let text):
            if let dot = text.utf8.firstIndex(of: UInt8(ascii: ".")) { self[name] = .string(String(text[..<dot])) }
        default: break
        }
    }
}
