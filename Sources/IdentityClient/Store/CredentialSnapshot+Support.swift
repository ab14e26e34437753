// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

// The part of a support report about one record. It names each member that it writes, and never copies a record.
extension CredentialSnapshot {
    func supportReport(at now: Int64) -> JSONObject {
        var isStored = true
        if case .failed = persistence { isStored = false }
        return JSONObject([
            ("id", .string(credentials.accountID.rawValue)),
            ("homeAccountID", .string(credentials.homeAccountID)),
            ("environment", .string(credentials.environment)),
            ("clientID", .string(credentials.clientID)),
            ("isStored", .bool(isStored)),
            ("tenantProfiles", .array(credentials.profiles.map { .object(Self.profile($0)) })),
            ("refreshToken", credentials.refreshToken.map { .object(Self.token($0)) } ?? .null),
            ("accessTokens", .array(credentials.accessTokens.map { .object(Self.token($0, at: now)) })),
        ])
    }

    private static func profile(_ profile: CachedProfile) -> JSONObject {
        JSONObject([
            ("tenantID", .string(profile.realm)),
            ("localAccountID", .string(profile.localAccountID)),
            ("isHomeTenant", .bool(profile.isHomeTenant)),
            ("policy", text(profile.policy)),
            ("hasIDToken", .bool(profile.idToken != nil)),
        ])
    }

    private static func token(_ token: CachedRefreshToken) -> JSONObject {
        let refusals = token.refusals.map { refusal in
            JSONValue.object(JSONObject([("on", time(refusal.at)), ("count", .number(String(refusal.count)))]))
        }
        return JSONObject([
            ("changedOn", time(token.modifiedAt)),
            ("familyID", text(token.familyID)),
            ("scopes", .strings(token.scopes)),
            ("declinedScopes", .strings(token.declinedScopes)),
            ("refusals", .array(refusals)),
        ])
    }

    private static func token(_ token: CachedAccessToken, at now: Int64) -> JSONObject {
        JSONObject([
            ("tenantID", .string(token.realm)),
            ("tokenType", .string(token.tokenType)),
            ("scopes", .strings(token.scopes)),
            ("requestedScopes", .strings(token.requestedScopes)),
            ("storedOn", time(token.cachedAt)),
            ("expiresOn", time(token.expiresOn)),
            ("refreshOn", token.refreshOn.map(time) ?? .null),
            ("isExpired", .bool(!token.isAlive(at: now))),
        ])
    }

    private static func time(_ seconds: Int64) -> JSONValue {
        .string(Date(timeIntervalSince1970: Double(seconds)).utcText)
    }

    private static func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
}
