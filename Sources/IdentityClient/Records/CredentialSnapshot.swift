// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// One account's credentials as they were read: the bytes for comparison, and their decoded form.
package final class CredentialSnapshot: Sendable {
    package let key: CacheKey
    /// The record; `nil` while the credentials could not be written and exist in memory only.
    package let record: CacheRecord?
    package let credentials: AccountCredentials
    package let account: Account
    /// Whether the credentials are in the cache, and if not, why.
    package let persistence: AuthenticationResult.Persistence
    /// The result for each access token, handed out while the token is valid and no scope was declined.
    private let results: [AuthenticationResult]

    init(
        key: CacheKey,
        record: CacheRecord?,
        credentials: AccountCredentials,
        persistence: AuthenticationResult.Persistence = .persisted
    ) {
        self.key = key
        self.record = record
        self.credentials = credentials
        self.persistence = persistence
        account = credentials.account
        results = credentials.accessTokens.map { [account] token in
            AuthenticationResult(token, of: credentials, account, source: .cache, persistence: persistence)
        }
    }

    /// Selects the credentials for a request. This is the path of a cache hit, which copies nothing.
    func selection(for request: CredentialRequest, at now: Int64) -> CredentialSelection {
        credentials.selection(for: request, at: now)
    }

    /// The result for a token of these credentials that comes from the cache.
    func result(for token: CachedAccessToken) -> AuthenticationResult? {
        credentials.accessTokens.firstIndex { $0 === token }.map { results[$0] }
    }

    /// The bytes that count toward the memory limit.
    var size: Int { record?.bytes.count ?? 0 }
}

extension AuthenticationResult {
    /// Creates the result that hands out a token of `credentials`.
    init(
        _ token: CachedAccessToken,
        of credentials: AccountCredentials,
        _ account: Account,
        declinedScopes: Set<Scope> = [],
        source: Source,
        persistence: Persistence,
        correlationID: UUID? = nil,
        expiredFor: Duration? = nil,
        isExtendedLifetimeToken: Bool = false
    ) {
        let index = credentials.profiles.firstIndex { $0.realm == token.realm }
        self.init(
            accessToken: token.secret,
            tokenType: token.tokenType,
            expiresOn: Date(timeIntervalSince1970: Double(token.expiresOn)),
            scopes: token.scopeSet,
            declinedScopes: declinedScopes,
            account: account,
            tenantProfile: index.map { account.tenantProfiles[$0] } ?? account.tenantProfiles.first,
            idToken: index.flatMap { credentials.profiles[$0].idToken },
            source: source,
            persistence: persistence,
            correlationID: correlationID,
            expiredFor: expiredFor,
            isExtendedLifetimeToken: isExtendedLifetimeToken
        )
        if let members = token.additionalMembers { self = having(additionalMembers: members) }
    }
}

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

/// An acquired access token and its source.
struct AcquiredToken: Sendable {
    let snapshot: CredentialSnapshot
    let token: CachedAccessToken
    let source: AuthenticationResult.Source
    var correlationID: UUID?
    /// The seconds since the token expired; `nil` for a valid token.
    var expiredFor: Int64?
    /// Whether the provider allows the use of the expired token in an outage.
    var isInExtendedLifetime = false
}

extension AuthenticationResult {
    init(_ acquired: AcquiredToken, requested: Set<Scope>, rule: ScopeRule) {
        let (token, snapshot) = (acquired.token, acquired.snapshot)
        self.init(
            token,
            of: snapshot.credentials,
            snapshot.account,
            declinedScopes: Self.declined(requested, token: token, rule: rule),
            source: acquired.source,
            persistence: snapshot.persistence,
            correlationID: acquired.correlationID,
            expiredFor: acquired.expiredFor.map { .seconds($0) },
            isExtendedLifetimeToken: acquired.isInExtendedLifetime
        )
    }

    private static func declined(_ requested: Set<Scope>, token: CachedAccessToken, rule: ScopeRule) -> Set<Scope> {
        // A token with declined scopes answers only a request for granted scopes, or for the same scopes as before.
        guard !token.declinesNothing else { return [] }
        var declined: Set<Scope> = []
        for scope in requested {
            if !token.covers(scope, by: rule) { declined.insert(scope) }
        }
        return declined
    }
}

/// Identifies the record of a client that holds an account's credentials, by the authority's partition and the account.
package struct RecordID: Hashable, Sendable {
    package let partition: String
    package let accountID: String

    package init(partition: String, accountID: String) {
        self.partition = partition
        self.accountID = accountID
    }

    package init(authority: Authority, account: Account.ID) {
        partition = authority.partition
        accountID = account.rawValue
    }

    /// Compares bytes, as the name of the record's key does.
    package static func == (first: RecordID, second: RecordID) -> Bool {
        WireText.areSame(first.accountID, second.accountID) && WireText.areSame(first.partition, second.partition)
    }

    /// Hashes the account alone: a program has few partitions.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(accountID)
    }

    func key(in group: CacheGroup, clientID: String) -> CacheKey {
        CacheKey(
            group: group,
            kind: .account,
            name: Digest.hexadecimal(of: ["account", partition, accountID, clientID])
        )
    }
}
