// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// An answer of a broker: JSON that is hostile until it has been read.
///
/// It accepts the forms of Microsoft's brokers 2.0.1, 2.5.2 and 3.0.1, and of Himmelblau's.
struct BrokerReply: Sendable {
    /// The largest answer, in bytes.
    static let maximumSize = 1 << 20
    /// The most accounts.
    static let maximumAccounts = 100
    /// The longest access token, and the longest of any other text.
    private static let maximumToken = 65_536
    private static let maximumText = 1024

    private let json: JSONObject
    private let correlationID: UUID

    /// Reads an answer.
    ///
    /// - Throws: `.malformedResponse` if it is no JSON object, or too large.
    init(_ text: String, correlationID: UUID) throws {
        guard text.utf8.count <= Self.maximumSize else { throw AuthenticationError.largeBrokerAnswer(correlationID) }
        do {
            json = try JSONObject(parsing: Array(text.utf8))
        } catch {
            throw AuthenticationError.brokerAnswer("\(error)", correlationID)
        }
        self.correlationID = correlationID
    }

    /// Throws the error that the answer consists of.
    func checkIsNoError(isSilent: Bool) throws {
        guard let error = BrokerFailure(json) else { return }
        throw error.authenticationError(isSilent: isSilent, correlationID: correlationID)
    }

    /// The accounts, each as the broker wants it back.
    func accounts() throws -> [BrokerAccount] {
        try checkIsNoError(isSilent: true)
        guard let values = json.array("accounts") else { throw refused("it has no accounts") }
        guard values.count <= Self.maximumAccounts else { throw refused("it has more than 100 accounts") }
        // An account without an identifier cannot be asked for, and does not spoil the others.
        return try values.compactMap { value in
            guard case .object(let members) = value else { throw refused("an account is no object") }
            return BrokerAccount(members)
        }
    }

    /// The tokens of an acquisition.
    ///
    /// - Parameter isBound: Whether a token that is bound to the program's key was asked for.
    func tokens(isSilent: Bool, isBound: Bool = false) throws -> BrokerTokens {
        try checkIsNoError(isSilent: isSilent)
        guard let response = json.object("brokerTokenResponse") else { throw refused("it has no tokens") }
        guard let accessToken = response.string("accessToken"), !accessToken.isEmpty else {
            throw refused("it has no access token")
        }
        guard accessToken.utf8.count <= Self.maximumToken, accessToken.utf8.areVisible else {
            throw refused("its access token is too long, or has characters that none has")
        }
        // Deviation: Himmelblau says 0, a bearer token, of bound tokens (1) as well. What the token says is checked later.
        let types = isBound ? 0...1 : 0...0
        guard response["accessTokenType"].map({ $0.isNull || $0.integer.map(types.contains) == true }) ?? true else {
            throw refused("its access token is of another type than was asked for (accessTokenType)")
        }
        let idToken = response.string("idToken").flatMap { $0.isEmpty ? nil : $0 }
        guard idToken?.utf8.count ?? 0 <= JSONWebToken.maximumLength else { throw refused("its ID token is too long") }
        return BrokerTokens(
            accessToken: accessToken,
            expiresOn: Self.time(response["expiresOn"]),
            scopes: try scopes(response["grantedScopes"]),
            idToken: idToken,
            homeAccountID: try homeAccountID(response)
        )
    }

    /// The version, from the answer to `getLinuxBrokerVersion`.
    func version() throws -> String? {
        try checkIsNoError(isSilent: true)
        return json.string("linuxBrokerVersion").map { String(WireText.clean($0).prefix(100)) }
    }

    /// A point in time, which brokers write in milliseconds, some in seconds; `nil` if it is none. Whether it can be true
    /// is decided with the clock.
    static func time(_ value: JSONValue?) -> Date? {
        guard let number = value?.integer, number > 0 else { return nil }
        // 10¹¹ s are in the year 5138, 10¹¹ ms in 1973.
        return Date(timeIntervalSince1970: number > 100_000_000_000 ? Double(number) / 1000 : Double(number))
    }

    private func scopes(_ value: JSONValue?) throws -> [String]? {
        let scopes: [String]
        switch value {
        case nil, .null: return nil
        case .string(let text): scopes = WireText.words(text)
        case .array(let values):
            scopes = values.compactMap(\.string)
            guard scopes.count == values.count else { throw refused("a scope is no text (grantedScopes)") }
        default: throw refused("its scopes are no texts (grantedScopes)")
        }
        guard scopes.count <= 1000, scopes.allSatisfy({ $0.utf8.count <= Self.maximumText }) else {
            throw refused("its scopes are too many or too long (grantedScopes)")
        }
        return scopes.isEmpty ? nil : scopes
    }

    /// Brokers from 3.0 and Himmelblau tell no account. Two that contradict each other are no answer.
    private func homeAccountID(_ response: JSONObject) throws -> String? {
        let account = response.object("account")
        let named = account.flatMap(BrokerAccount.init)?.homeAccountID
        let info = (response.string("clientInfo") ?? account?.string("clientInfo")).flatMap(ClientInfo.parse)
            .map { "\($0.uid).\($0.utid)".lowercased() }
        if let named, let info, named != info { throw refused("it names two accounts (account, clientInfo)") }
        return named ?? info
    }

    private func refused(_ reason: String) -> AuthenticationError {
        AuthenticationError.brokerAnswer(reason, correlationID)
    }
}

/// An account that a broker has.
struct BrokerAccount: Hashable, Sendable {
    /// The account as the broker wants it back, with the members that only it knows.
    let members: JSONObject
    /// `uid.utid`, in lower case.
    let homeAccountID: String
    let localAccountID: String?
    /// The tenant.
    let realm: String?
    let username: String?
    private let name: String?
    private let environment: String?

    /// - Returns: `nil` if the account has no identifier that can be used.
    init?(_ members: JSONObject) {
        func text(_ name: String) -> String? {
            members.string(name).flatMap { $0.isEmpty || $0.utf8.count > 1024 ? nil : WireText.clean($0) }
        }
        guard let id = text("homeAccountId")?.lowercased(), Self.isHomeAccountID(id) else { return nil }
        self.members = members
        homeAccountID = id
        localAccountID = text("localAccountId")?.lowercased()
        realm = text("realm")?.lowercased()
        username = text("username")
        name = text("name") ?? text("givenName")
        environment = text("environment")?.lowercased()
    }

    /// The account in the library's own terms.
    var account: Account {
        let tenant = homeAccountID.split(separator: ".").last.map(String.init)
        let profile = realm.map { realm in
            TenantProfile(
                tenantID: realm,
                localAccountID: localAccountID ?? homeAccountID,
                isHomeTenant: realm == tenant,
                name: name
            )
        }
        return Account(
            id: Account.ID(rawValue: homeAccountID),
            environment: environment ?? "login.microsoftonline.com",  // some brokers do not tell the cloud
            username: username,
            homeAccountID: homeAccountID,
            tenantProfiles: profile.map { [$0] } ?? []
        )
    }

    /// Two words of letters, digits and hyphens with a dot between: what an identifier of Entra ID is.
    private static func isHomeAccountID(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 2
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.allSatisfy { byte in
                        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                            || byte.isDigit || byte == UInt8(ascii: "-")
                    }
            }
    }
}
