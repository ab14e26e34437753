// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// All that the provider remembers. Its methods decide at a given time and do no I/O.
struct ProviderState: Sendable {
    typealias Person = TestIdentityProvider.Person

    let profile: TestIdentityProvider.Profile
    var settings: TestIdentityProvider.Settings
    var clients: [String: TestIdentityProvider.Client]
    var accounts: [ProviderAccount]

    var sessions: [String: BrowserSession] = [:]
    var interactions: [String: Interaction] = [:]
    var consents: Set<Consent> = []
    var pushedRequests: [String: PushedRequest] = [:]
    var codes: [String: IssuedCode] = [:]
    var refreshTokens: [String: IssuedRefreshToken] = [:]
    var accessTokens: [String: IssuedAccessToken] = [:]
    /// The sign-ins that other programs may share, by their device secret.
    var deviceSecrets: [String: Authorization] = [:]
    var devices: [String: DeviceRequest] = [:]
    /// The numbers of the refresh token families that were revoked as a whole.
    var revokedFamilies: Set<Int> = []
    var familyCount = 0

    /// The number of the process's current signing key. Number 1 is reserved for forgeries.
    var keyIndex = 0
    /// The numbers of the published keys.
    var publishedKeys = [0]
    /// The names of keys that replaced others, by their number.
    var inheritedKeyIDs: [Int: String] = [:]

    var faults = FaultPlan()
    var log = RequestLog()
    /// The address of the loopback listener while it is open.
    var loopbackOrigin: String?

    init(
        profile: TestIdentityProvider.Profile,
        settings: TestIdentityProvider.Settings,
        clients: [TestIdentityProvider.Client],
        people: [Person]
    ) {
        self.profile = profile
        self.settings = settings
        self.clients = Dictionary(clients.map { ($0.id.rawValue, $0) }) { _, last in last }
        accounts = people.map { ProviderAccount(person: $0) }
    }

    func account(_ username: String) -> ProviderAccount? {
        accounts.first { $0.person.username.lowercased() == username.lowercased() && !$0.isDeleted }
    }

    mutating func updateAccount(_ username: String, _ change: (inout ProviderAccount) -> Void) {
        guard let index = accounts.firstIndex(where: { $0.person.username == username }) else { return }
        change(&accounts[index])
    }
}

/// A person, and the state of their account.
struct ProviderAccount: Sendable {
    var person: TestIdentityProvider.Person
    var isDeleted = false
    var needsSecondFactor = false
    var passwordIsExpired = false
    /// How often all sign-ins were revoked. A time would not do, because a manual clock may stand still.
    var revocations = 0
}

/// A browser with a signed-in person.
struct BrowserSession: Sendable {
    var username: String
    var authenticatedAt: Date
}

struct Consent: Hashable, Sendable {
    var clientID: String
    var username: String
    var scope: String
}

/// A person's permission for a program.
struct Authorization: Sendable {
    var clientID: String
    var username: String
    var scopes: [String]
    var nonce: String?
    var authenticatedAt: Date
    var address: ProviderAddress
    /// The number of the family: all refresh tokens from one sign-in.
    var family: Int
    /// How often the account's sign-ins had been revoked at that time.
    var revocations: Int
    /// The key that the refresh tokens are bound to (DPoP).
    var boundKey: String?
}

struct IssuedCode: Sendable {
    var authorization: Authorization
    var redirectURI: String
    var challenge: String?
    /// The key that the request named (`dpop_jkt`).
    var boundKey: String?
    var expires: Date
    var isRedeemed = false
}

struct IssuedRefreshToken: Sendable {
    var authorization: Authorization
    var expires: Date
    var replacedAt: Date?
    var successor: String?
}

struct IssuedAccessToken: Sendable {
    var authorization: Authorization
    var expires: Date
    /// The `claims` parameter of the request, JSON.
    var claims: String?
    /// The key that the token is bound to (`req_cnf`).
    var keyID: String?
}

/// A device that waits for a person's decision.
struct DeviceRequest: Sendable {
    enum Decision: Sendable {
        case pending
        case denied
        case allowed(Authorization)
    }

    var clientID: String
    var userCode: String
    var scopes: [String]
    var challenge: String?
    var address: ProviderAddress
    var expires: Date
    var interval: Duration
    var lastAsked: Date?
    var decision = Decision.pending
}

/// A grant of the token endpoint, before it is recorded and signed.
struct TokenIssue: Sendable {
    var authorization: Authorization
    var person: TestIdentityProvider.Person
    /// The scopes of the access token.
    var scopes: [String]
    var accessToken: String?
    var tokenType = "Bearer"
    /// The key that the access token is bound to.
    var keyID: String?
    /// The kind of the token that an exchange asks for, and the service that it is for; `nil` for other grants.
    var exchange: (issuedTokenType: String, audience: String)?
    var refreshToken: String?
    /// The secret with which other programs sign in, and that the ID token is bound to.
    var deviceSecret: String?
    var wantsIDToken: Bool
    var wantsClientInfo: Bool
    var nonce: String?
    var issuedAt: Date
    var settings: TestIdentityProvider.Settings
    var keyIndex: Int
}
