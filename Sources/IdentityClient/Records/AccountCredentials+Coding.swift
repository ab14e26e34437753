// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

// The record's JSON: sections, entities and field names of MSAL's unified cache schema, so that programs that know the
// schema read a record as a cache of one account. Every scalar is a string; unknown members are kept.
extension AccountCredentials {
    /// Creates the credentials from a record.
    ///
    /// - Throws: `JSONError` or `WireError` when the bytes are not such a record.
    package init(decoding bytes: [UInt8], rule: (String) -> ScopeRule) throws {
        var json = try JSONObject(parsing: bytes)
        version = json.take("v").flatMap(Self.integer) ?? Self.currentVersion
        signInID = try json.takeString("incarnation")
        partition = try json.takeString("authority_partition")
        clientID = try json.takeString("client_id")
        environment = try json.takeString("environment")
        homeAccountID = try json.takeString("home_account_id")
        accountID = Account.ID(rawValue: try json.takeString("account_id"))

        var idTokens: [String: JSONObject] = [:]
        for entity in json.takeEntities("IdToken") {
            if let realm = entity.string("realm") { idTokens[realm] = entity }
        }
        profiles = try json.takeEntities("Account").map { entity in
            try CachedProfile(decoding: entity, idTokens: idTokens)
        }
        refreshToken = try json.takeEntities("RefreshToken").first.map { try CachedRefreshToken(decoding: $0) }
        let rule = rule(partition)
        accessTokens = try json.takeEntities("AccessToken").map { try CachedAccessToken(decoding: $0, rule: rule) }
        accessTokens += try json.takeEntities("BoundAccessToken").map {
            try CachedAccessToken(decoding: $0, rule: rule, isBound: true)
        }
        if case .string(let secret)? = json["device_secret"] {
            deviceSecret = secret
            json["device_secret"] = nil
        }
        if let key = json.string("dpop_key").flatMap(DPoPKey.init(secret:)) {
            dpopKey = key
            json["dpop_key"] = nil
        }
        if let servers = json.object("local_servers") {
            localServers = LocalServers(servers)
            json["local_servers"] = nil
        }
        unknown = json
    }

    /// Returns whether a newer version of the library wrote a record, possibly in a form that this version cannot read.
    static func isNewer(_ bytes: [UInt8]) -> Bool {
        guard let json = try? JSONObject(parsing: bytes) else { return false }  // damaged, whoever wrote it
        return (json["v"].flatMap(integer) ?? currentVersion) > currentVersion
    }

    /// Returns a record with another refresh token and no other change; `nil` if the record does not have `spent`.
    static func replacing(_ spent: String, with secret: String, in bytes: [UInt8]) -> [UInt8]? {
        guard var json = try? JSONObject(parsing: bytes),  // It was read before.
            var section = json.object("RefreshToken")
        else { return nil }
        for member in section.members {
            guard case .object(var entity) = member.value, entity.string("secret") == spent else { continue }
            entity["secret"] = .string(secret)
            section[member.name] = .object(entity)
            json["RefreshToken"] = .object(section)
            return json.serialized()
        }
        return nil
    }

    /// Returns the record's bytes.
    package func encoded() -> [UInt8] {
        var json = JSONObject()
        json["v"] = .number(String(version))
        json["incarnation"] = .string(signInID)
        json["authority_partition"] = .string(partition)
        json["client_id"] = .string(clientID)
        json["environment"] = .string(environment)
        json["home_account_id"] = .string(homeAccountID)
        json["account_id"] = .string(accountID.rawValue)
        json["Account"] = section(profiles.map { (key($0.realm), accountEntity($0)) })
        json["IdToken"] = section(
            profiles.compactMap { profile in
                profile.idToken.map { (key("idtoken", clientID, profile.realm, ""), idTokenEntity(profile, $0)) }
            }
        )
        if let refreshToken {
            json["RefreshToken"] = section([(key("refreshtoken", clientID, "", ""), refreshTokenEntity(refreshToken))])
        }
        json["AccessToken"] = section(accessTokens.filter { $0.keyID == nil }.map(accessTokenMember))
        // Apart, because programs that know the schema hand out a token of that section as a bearer token.
        let bound = accessTokens.filter { $0.keyID != nil }
        if !bound.isEmpty { json["BoundAccessToken"] = section(bound.map(accessTokenMember)) }
        json["device_secret"] = deviceSecret.map { .string($0) }
        json["dpop_key"] = dpopKey.map { .string($0.secret) }
        json["local_servers"] = localServers.json
        for (name, value) in unknown.members where json[name] == nil { json[name] = value }
        return json.serialized()
    }

    private static func integer(_ value: JSONValue) -> Int? {
        switch value {
        case .number(let text), .string(let text): Int(text)
        default: nil
        }
    }

    private func key(_ parts: String...) -> String { key(parts) }

    private func key(_ parts: [String]) -> String {
        ([homeAccountID, environment] + parts).joined(separator: "-").lowercased()
    }

    private func section(_ entities: [(String, JSONObject)]) -> JSONValue {
        var section = JSONObject()
        for (key, entity) in entities { section[key] = .object(entity) }
        return .object(section)
    }

    /// Returns an entity: first the unknown members, then the known members. Absent members are left out.
    private func entity(_ unknown: JSONObject, _ fields: KeyValuePairs<String, String?>) -> JSONObject {
        var entity = JSONObject()
        entity["home_account_id"] = .string(homeAccountID)
        entity["environment"] = .string(environment)
        for (name, value) in fields { if let value { entity[name] = .string(value) } }
        for (name, value) in unknown.members where entity[name] == nil { entity[name] = value }
        return entity
    }

    private func accountEntity(_ profile: CachedProfile) -> JSONObject {
        entity(
            profile.unknown,
            [
                "realm": profile.realm, "local_account_id": profile.localAccountID,
                "username": profile.username ?? "", "name": profile.name, "policy": profile.policy,
                "authority_type": partition.hasPrefix("adfs|") ? "ADFS" : "MSSTS",
                "is_home_tenant": profile.isHomeTenant ? "1" : "0",
            ]
        )
    }

    private func idTokenEntity(_ profile: CachedProfile, _ idToken: String) -> JSONObject {
        entity(
            profile.unknownOfIDToken,
            ["credential_type": "IdToken", "client_id": clientID, "realm": profile.realm, "secret": idToken]
        )
    }

    private func refreshTokenEntity(_ token: CachedRefreshToken) -> JSONObject {
        entity(
            token.unknown,
            [
                "credential_type": "RefreshToken", "client_id": clientID, "secret": token.secret,
                "family_id": token.familyID,
                "target": token.scopes.isEmpty ? nil : token.scopes.joined(separator: " "),
                "declined_target": token.declinedScopes.isEmpty ? nil : token.declinedScopes.joined(separator: " "),
                "last_modification_time": String(token.modifiedAt),
                "expires_on": token.expiresOn.map(String.init),
                "refusals": token.refusals.text,
            ]
        )
    }

    private func accessTokenMember(_ token: CachedAccessToken) -> (String, JSONObject) {
        let target = token.scopes.joined(separator: " ")
        let section = token.keyID == nil ? "accesstoken" : "boundaccesstoken"
        let name = key([section, clientID, token.realm, target] + token.bindingNames)
        return (name + (token.parameterTagText.map { "-" + $0 } ?? ""), accessTokenEntity(token))
    }

    private func accessTokenEntity(_ token: CachedAccessToken) -> JSONObject {
        entity(
            token.unknown,
            [
                "credential_type": token.keyID == nil ? "AccessToken" : "BoundAccessToken", "client_id": clientID,
                "secret": token.secret,
                "realm": token.realm, "authority_tenant": token.authorityTenant,
                "target": token.scopes.joined(separator: " "),
                "requested_target": token.requestedScopes == token.scopes
                    ? nil : token.requestedScopes.joined(separator: " "),
                "token_type": token.tokenType, "kid": token.keyID, "parameter_tag": token.parameterTagText,
                "cached_at": String(token.cachedAt),
                "expires_on": String(token.expiresOn),
                "extended_expires_on": String(token.extendedExpiresOn ?? token.expiresOn),
                "refresh_on": token.refreshOn.map(String.init),
                "additional_members": token.additionalMembers,
            ]
        )
    }
}

extension CachedAccessToken {
    /// The tag as a record has it; `nil` for none.
    package var parameterTagText: String? { parameterTag == 0 ? nil : String(parameterTag, radix: 16) }
}

extension JSONObject {
    /// Removes a member and returns its value.
    mutating func take(_ name: String) -> JSONValue? {
        defer { self[name] = nil }
        return self[name]
    }

    /// Removes a member and returns its text.
    mutating func takeString(_ name: String) throws -> String {
        guard case .string(let text) = take(name) else { throw WireError.missing(name) }
        return text
    }

    /// Removes a section and returns its entities in order.
    mutating func takeEntities(_ name: String) -> [JSONObject] {
        guard case .object(let section) = take(name) else { return [] }
        return section.members.compactMap { member in
            if case .object(let entity) = member.value { entity } else { nil }
        }
    }

    /// Removes the members that every entity has and that are written anew from the record.
    fileprivate mutating func dropCommonFields() {
        for name in ["home_account_id", "environment", "client_id", "credential_type", "authority_type"] {
            self[name] = nil
        }
    }

    fileprivate mutating func takeTime(_ name: String) throws -> Int64 {
        guard let time = Int64(try takeString(name)), UnixSeconds.all.contains(time) else {
            throw WireError.wrongType(name)
        }
        return time
    }
}

extension CachedProfile {
    package init(decoding entity: JSONObject, idTokens: [String: JSONObject]) throws {
        var json = entity
        json.dropCommonFields()
        realm = try json.takeString("realm")
        localAccountID = try json.takeString("local_account_id")
        let username = try? json.takeString("username")  // absent in other libraries' entities
        self.username = username?.isEmpty == false ? username : nil
        name = try? json.takeString("name")  // optional in the schema
        policy = try? json.takeString("policy")  // B2C only
        isHomeTenant = json.take("is_home_tenant") == .string("1")
        unknown = json
        guard var token = idTokens[realm] else { return }
        token.dropCommonFields()
        token["realm"] = nil
        idToken = try? token.takeString("secret")  // an entity without one says nothing
        unknownOfIDToken = token
    }
}

extension CachedRefreshToken {
    package init(decoding entity: JSONObject) throws {
        var json = entity
        json.dropCommonFields()
        secret = try json.takeString("secret")
        familyID = try? json.takeString("family_id")  // Microsoft's own programs only
        scopes = (try? json.takeString("target")).map(CachedAccessToken.split) ?? []
        // Absent if no scope was declined, and in records of earlier versions.
        declinedScopes = (try? json.takeString("declined_target")).map(CachedAccessToken.split) ?? []
        modifiedAt = (try? json.takeTime("last_modification_time")) ?? 0  // absent in other libraries' entities
        expiresOn = try? json.takeTime("expires_on")  // written where the server told it
        // Absent if the token was never refused, and in records of earlier versions.
        refusals = [RefreshRefusal](text: (try? json.takeString("refusals")) ?? "")
        unknown = json
    }
}

extension CachedAccessToken {
    /// - Parameter isBound: Whether the token is bound to a key, which the entity then has to name.
    package convenience init(decoding entity: JSONObject, rule: ScopeRule, isBound: Bool = false) throws {
        var json = entity
        let keyID = isBound ? try json.takeString("kid") : nil
        json.dropCommonFields()
        let scopes = Self.split(try json.takeString("target"))
        self.init(
            secret: try json.takeString("secret"),
            realm: try json.takeString("realm"),
            authorityTenant: try? json.takeString("authority_tenant"),  // written where it differs
            scopes: scopes,
            requestedScopes: (try? json.takeString("requested_target")).map(Self.split) ?? scopes,
            tokenType: (try? json.takeString("token_type")) ?? "Bearer",  // some libraries leave it out
            keyID: keyID,
            // Written if the program had parameters of its own.
            parameterTag: (try? json.takeString("parameter_tag")).flatMap { UInt64($0, radix: 16) } ?? 0,
            cachedAt: try json.takeTime("cached_at"),
            expiresOn: try json.takeTime("expires_on"),
            refreshOn: try? json.takeTime("refresh_on"),  // written where the server sent refresh_in
            extendedExpiresOn: try? json.takeTime("extended_expires_on"),  // a hint for outages
            additionalMembers: try? json.takeString("additional_members"),  // absent if there were none
            unknown: json,
            rule: rule
        )
    }

    fileprivate static func split(_ target: String) -> [String] {
        target.split(separator: " ").map(String.init)
    }
}
