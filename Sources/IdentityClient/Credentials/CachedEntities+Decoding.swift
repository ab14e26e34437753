// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

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
        // Limited to the year 9999, so that no sum or difference of times can overflow.
        guard let time = Int64(try takeString(name)), (0...253_402_300_799).contains(time) else {
            throw WireError.wrongType(name)
        }
        return time
    }
}

extension CachedProfile {
    init(decoding entity: JSONObject, idTokens: [String: JSONObject]) throws {
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
    init(decoding entity: JSONObject) throws {
        var json = entity
        json.dropCommonFields()
        secret = try json.takeString("secret")
        familyID = try? json.takeString("family_id")  // Microsoft's own programs only
        scopes = (try? json.takeString("target")).map(CachedAccessToken.split) ?? []
        // Absent if no scope was declined, and in records of earlier versions.
        declinedScopes = (try? json.takeString("declined_target")).map(CachedAccessToken.split) ?? []
        modifiedAt = (try? json.takeTime("last_modification_time")) ?? 0  // absent in other libraries' entities
        // Absent if the token was never refused, and in records of earlier versions.
        refusals = [RefreshRefusal](text: (try? json.takeString("refusals")) ?? "")
        unknown = json
    }
}

extension CachedAccessToken {
    /// - Parameter isBound: Whether the token is bound to a key, which the entity then has to name.
    convenience init(decoding entity: JSONObject, rule: ScopeRule, isBound: Bool = false) throws {
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
