// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

// Changes of one account. An entity that is there keeps its key, its host, its realm and its other members; a new one
// gets the key that MSAL Python and .NET compute from its members.
extension MSALBlob {
    /// Writes what differs between the account as it is stored and `new`.
    mutating func write(_ new: AccountCredentials, over old: MSALAccount?) {
        let name = MSALAccountName(new)
        let host = newHost(for: name)
        let before = old?.credentials
        writeProfiles(new, old, name, host)
        var kept: [CachedAccessToken] = []
        for (token, source) in zip(before?.accessTokens ?? [], old?.accessTokens ?? []) {
            // Earlier versions kept tokens for own parameters where other programs find them.
            if new.accessTokens.contains(token), source.section == Self.section(of: token) {
                kept.append(token)
            } else {
                remove(source.section, [source.key])
            }
        }
        for token in new.accessTokens where !kept.contains(token) {
            let entity = Self.entity(token, name, host)
            var key = entity.key
            guard Self.section(of: token) == .accessToken else {
                set(.boundAccessToken, key, entity.json)
                continue
            }
            // MSAL Python gives a token for a special purpose the key of a plain one.
            while let other = self.entity(.accessToken, key), !MSALAccount.isPlain(other) { key += "-" }
            set(.accessToken, key, entity.json)
        }
        if new.refreshToken != before?.refreshToken || old?.refreshToken?.isOwn == false {
            writeRefreshToken(new, old, name, host)
        }
        let isPlain = name.isEntra && CloudInstances.isKnown(name.host) && new.signInID == name.foreignSignInID
        if old == nil || before?.signInID != new.signInID {
            setNote(name.name, isPlain ? nil : name.note(signInID: new.signInID))
        }
    }

    /// Removes the client's credentials of an account, and the account's entities if no other client has any.
    ///
    /// The refresh tokens of other programs of the family stay, because these programs are not signed out. A note keeps
    /// the client from using them.
    mutating func signOut(_ name: MSALAccountName) {
        let entities = MSALEntities(self)
        var others = 0
        for section in [Section.accessToken, .boundAccessToken, .idToken, .refreshToken] {
            let mine = entities.of(name, section)
            let own = mine.filter { $0.json.has("client_id", name.clientID) && !MSALAccount.isOnBehalf($0.json) }
            others += mine.count - own.count
            remove(section, own.map(\.key))
        }
        if others == 0 { remove(.account, entities.of(name, .account).map(\.key)) }
        var note = name.note(signInID: "")
        note["incarnation"] = nil
        note["signed_out"] = .bool(true)
        let hasFamily = entities.of(name, .refreshToken).contains { entity in
            !entity.json.has("client_id", name.clientID) && entity.json.text("family_id") != nil
        }
        setNote(name.name, hasFamily ? note : nil)
    }

    private mutating func writeProfiles(
        _ new: AccountCredentials,
        _ old: MSALAccount?,
        _ name: MSALAccountName,
        _ host: String
    ) {
        for profile in new.profiles {
            let before = old?.credentials.profiles.first { $0.realm == profile.realm }
            if before.map({ $0.idToken == profile.idToken && Self.isSame($0, profile) }) == true { continue }
            let account = old?.profiles[profile.realm]
            if before.map({ Self.isSame($0, profile) }) != true {
                let key = account?.key ?? Self.key(name.homeAccountID, host, profile.realm)
                let base = account?.json ?? entity(.account, key) ?? name.entity(host)
                set(.account, key, Self.entity(profile, over: base, name))
            }
            let source = old?.idTokens[profile.realm]
            let key = source?.key ?? Self.key(name.homeAccountID, host, "idtoken", name.clientID, profile.realm, "")
            guard let secret = profile.idToken else {
                if source != nil { remove(.idToken, [key]) }
                continue
            }
            guard before?.idToken != secret else { continue }
            var json = source?.json ?? name.entity(host, "IdToken")
            if source == nil { json["realm"] = .string(profile.realm) }
            json["secret"] = .string(secret)
            set(.idToken, key, json)
        }
    }

    private mutating func writeRefreshToken(
        _ new: AccountCredentials,
        _ old: MSALAccount?,
        _ name: MSALAccountName,
        _ host: String
    ) {
        let own = MSALEntities(self).of(name, .refreshToken).filter {
            $0.json.has("client_id", name.clientID) && MSALAccount.isPersons($0.json)
        }
        let before = old?.credentials.refreshToken
        // A family's token that was refused, or given up, is not this client's to change.
        if let before, old?.refreshToken?.isOwn == false, new.refreshToken?.secret ?? before.secret == before.secret {
            if let token = new.refreshToken, token.familyID == nil {
                leaveFamily(name, host)
            } else if new.refreshToken != before {
                hideFamilyToken(before.secret, name)
            }
            return
        }
        guard let token = new.refreshToken else { return remove(.refreshToken, own.map(\.key)) }
        let kept = own.first { $0.key == old?.refreshToken?.key } ?? own.first
        let key = kept?.key ?? Self.key(name.homeAccountID, host, "refreshtoken", name.clientID, "", "")
        var json = kept?.json ?? name.entity(host, "RefreshToken")
        let isNew = token.secret != before?.secret
        json["secret"] = .string(token.secret)
        json["last_modification_time"] = .string(String(token.modifiedAt))
        if let family = token.familyID { json["family_id"] = .string(family) }
        json["granted_target"] =
            token.scopes.isEmpty || token.scopes.joined(separator: " ") == json.string("target")
            ? nil : .string(token.scopes.joined(separator: " "))
        json["declined_target"] =
            token.declinedScopes.isEmpty ? nil : .string(token.declinedScopes.joined(separator: " "))
        json["refusals"] = token.refusals.text.map { .string($0) }
        set(.refreshToken, key, json)
        // Other copies of the client's token are older, and a reader that takes the first would take one of them.
        if isNew { remove(.refreshToken, own.map(\.key).filter { $0 != key }) }
        let environment = json.string("environment") ?? host
        writeAppMetadata(name.clientID, environment, family: token.familyID)
    }

    /// Every MSAL looks here for whether a client belongs to the family (an empty text: it does not); without the entry,
    /// MSAL Go uses no refresh token at all.
    private mutating func writeAppMetadata(_ clientID: String, _ environment: String, family: String?) {
        let found = entities(.appMetadata).first { entity in
            entity.json.has("client_id", clientID) && entity.json.has("environment", environment)
        }
        if found != nil, family == nil || found?.json.string("family_id") == family { return }
        var json = found?.json ?? JSONObject([("client_id", .string(clientID)), ("environment", .string(environment))])
        if let family { json["family_id"] = .string(family) }
        set(.appMetadata, found?.key ?? "appmetadata-\(environment)-\(clientID)", json)
    }

    /// Notes under all hosts of the cloud that the client does not belong to the family.
    private mutating func leaveFamily(_ name: MSALAccountName, _ host: String) {
        let hosts = CloudInstances.aliases(of: name.host)
        let known = entities(.appMetadata).filter { entity in
            entity.json.has("client_id", name.clientID)
                && hosts.contains(entity.json.string("environment")?.lowercased() ?? "")
        }
        for entity in known {
            var json = entity.json
            json["family_id"] = .string("")
            set(.appMetadata, entity.key, json)
        }
        if known.isEmpty { writeAppMetadata(name.clientID, host, family: "") }
    }

    private mutating func hideFamilyToken(_ secret: String, _ name: MSALAccountName) {
        var json = note(name.name) ?? name.note(signInID: name.foreignSignInID)
        let hidden = (json.strings("unused_family_tokens") ?? []).suffix(7) + [MSALAccount.digest(secret)]
        json["unused_family_tokens"] = .strings(Array(hidden))
        setNote(name.name, json)
    }

    /// The host under which new entities are stored: that of the account's other entities, else the host that most
    /// entities of the cloud have. Some libraries look under other hosts only if they find nothing under their own.
    private func newHost(for name: MSALAccountName) -> String {
        let hosts = CloudInstances.aliases(of: name.host)
        var counts: [String: Int] = [:]
        for section in [Section.account, .refreshToken] {
            for entity in entities(section) {
                guard let host = entity.json.string("environment")?.lowercased(), hosts.contains(host) else { continue }
                if name.owns(entity.json) { return host }
                counts[host, default: 0] += 1
            }
        }
        return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? name.host
    }
}

// The entities.
extension MSALBlob {
    private static func key(_ parts: String...) -> String {
        parts.joined(separator: "-").lowercased()
    }

    private static func section(of token: CachedAccessToken) -> Section {
        token.keyID == nil && token.parameterTag == 0 ? .accessToken : .boundAccessToken
    }

    /// Whether two profiles differ at most in the ID token.
    private static func isSame(_ one: CachedProfile, _ other: CachedProfile) -> Bool {
        var one = one
        (one.idToken, one.unknownOfIDToken) = (other.idToken, other.unknownOfIDToken)
        return one == other
    }

    private static func entity(_ profile: CachedProfile, over base: JSONObject, _ name: MSALAccountName) -> JSONObject {
        var json = base
        if json["realm"] == nil { json["realm"] = .string(profile.realm) }
        json["local_account_id"] = .string(profile.localAccountID)
        json["username"] = .string(profile.username ?? "")
        if let text = profile.name { json["name"] = .string(text) }
        if let policy = profile.policy { json["policy"] = .string(policy) }
        if json["authority_type"] == nil {
            json["authority_type"] = .string(name.partition.hasPrefix("adfs|") ? "ADFS" : "MSSTS")
        }
        json["is_home_tenant"] = .string(profile.isHomeTenant ? "1" : "0")
        for (member, value) in profile.unknown.members where json[member] == nil { json[member] = value }
        return json
    }

    private static func entity(_ token: CachedAccessToken, _ name: MSALAccountName, _ host: String) -> Entity {
        let section = section(of: token)
        var json = name.entity(host, section.rawValue)
        let target = token.scopes.joined(separator: " ")
        let requested = token.requestedScopes.joined(separator: " ")
        json["secret"] = .string(token.secret)
        json["realm"] = .string(token.realm)
        json["target"] = .string(target)
        json["token_type"] = .string(token.tokenType)
        json["kid"] = token.keyID.map { .string($0) }
        json["additional_members"] = token.additionalMembers.map { .string($0) }
        json["parameter_tag"] = token.parameterTagText.map { .string($0) }
        json["cached_at"] = .string(String(token.cachedAt))
        json["expires_on"] = .string(String(token.expiresOn))
        json["extended_expires_on"] = .string(String(token.extendedExpiresOn ?? token.expiresOn))
        json["refresh_on"] = token.refreshOn.map { .string(String($0)) }
        json["authority_tenant"] = token.authorityTenant.map { .string($0) }
        if requested != target { json["requested_target"] = .string(requested) }
        for (member, value) in token.unknown.members where json[member] == nil { json[member] = value }
        // Sorted as in MSAL Python, which then replaces this entity by its own next token for the same scopes.
        let sorted = token.scopes.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.joined(separator: " ")
        let parts =
            [section.rawValue, name.clientID, token.realm, sorted] + token.bindingNames
            + (token.parameterTagText.map { [$0] } ?? [])
        return Entity(key: key(name.homeAccountID, host, parts.joined(separator: "-")), json: json)
    }
}

extension MSALAccountName {
    /// A new entity with the members that every entity has.
    fileprivate func entity(_ host: String, _ credentialType: String? = nil) -> JSONObject {
        var json = JSONObject()
        if let credentialType { json["credential_type"] = .string(credentialType) }
        json["home_account_id"] = .string(homeAccountID)
        json["environment"] = .string(host)
        if credentialType != nil { json["client_id"] = .string(clientID) }
        return json
    }
}
