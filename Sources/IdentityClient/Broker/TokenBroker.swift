// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// An identity broker: a program of the computer that signs in for all programs, and keeps the refresh tokens.
///
/// `LinuxTokenBroker` of the product `IdentityBroker` is the broker of a Linux desktop. A program conforms to this
/// protocol to reach another broker, or to play a broker in its tests.
///
/// ```swift
/// configuration.broker = .whenAvailable(LinuxTokenBroker())
/// ```
///
/// The library believes nothing that a broker says before it is checked: the ID token's signature, issuer and audience,
/// the account, and the time at which the access token expires. All methods throw ``AuthenticationError`` or
/// `CancellationError`; `.brokerUnavailable` means that there is no broker that could be asked.
public protocol TokenBroker: Sendable {
    /// Returns tokens for `request.account`, without asking the person.
    ///
    /// - Throws: `.interactionRequired` or one of its second levels if a person is needed, `.noTokensFound` if the
    ///   broker does not have the account, `.brokerUnavailable`.
    func acquireTokenSilently(_ request: BrokerRequest) async throws -> BrokerTokens

    /// Returns tokens, and lets the broker ask the person. Cancelling the task ends the broker's dialog.
    ///
    /// - Throws: `.userCancelled` if the person closed the dialog, `.brokerUnavailable`.
    func acquireTokenInteractively(_ request: BrokerRequest) async throws -> BrokerTokens

    /// Returns the accounts that the broker has for a program.
    func accounts(for clientID: ClientID) async throws -> [Account]

    /// Removes an account from the broker, for a program. An account that the broker does not have is no error.
    ///
    /// - Throws: `.unsupported` if the broker cannot do it.
    func remove(_ account: Account, for clientID: ClientID) async throws

    /// Returns the facts that the broker tells about itself.
    func information() async throws -> BrokerInformation
}

/// The tokens that a program wants from a broker.
///
/// ```swift
/// func acquireTokenSilently(_ request: BrokerRequest) async throws -> BrokerTokens {
///     try await connection.ask(for: request.scopes, of: request.account)
/// }
/// ```
public struct BrokerRequest: Sendable {
    /// The program's identifier.
    public var clientID: ClientID
    /// The authority that issues the tokens.
    public var authority: Authority
    /// The requested scopes, without those of OpenID Connect. There is at least one.
    public var scopes: [String]
    /// The account whose tokens are wanted. A silent request always has one.
    public var account: Account?
    /// The name that the broker's dialog may fill in.
    public var loginHint: String?
    /// The prompt, as in an authorization request.
    public var prompt: String?
    /// A claims request (JSON).
    public var claims: String?
    /// More items of the authorization request's query.
    public var queryItems: [String: String] = [:]
    /// An access token that is not good enough: the broker shall not return it again.
    public var refusedToken: String?
    /// The thumbprint of the program's key to which the access token shall be bound (`kid` in `req_cnf`); `nil` for a bearer
    /// token. The library uses only an access token that names it (`cnf.kid`), and signs the requests to APIs itself.
    public var keyID: String?
    /// The identifier of the request in everyone's logs.
    public var correlationID: UUID

    /// Creates a request.
    public init(clientID: ClientID, authority: Authority, scopes: [String], correlationID: UUID) {
        self.clientID = clientID
        self.authority = authority
        self.scopes = scopes
        self.correlationID = correlationID
    }
}

extension BrokerRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The scopes and the correlation identifier, without a secret or personal data.
    public var description: String {
        "BrokerRequest(scopes: \(scopes), correlationID: \(correlationID.uuidString.lowercased()))"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Shows no secret, so that `dump` reveals none.
    public var customMirror: Mirror { Mirror(self, children: ["scopes": scopes, "correlationID": correlationID]) }
}

/// The answer of a broker, as it claims it: nothing in it is verified yet.
///
/// ```swift
/// BrokerTokens(accessToken: token, expiresOn: Date() + 3600, idToken: idToken, homeAccountID: "uid.utid")
/// ```
public struct BrokerTokens: Sendable {
    /// The access token.
    public var accessToken: String
    /// The time at which the access token expires, if the broker tells it.
    public var expiresOn: Date?
    /// The granted scopes, if the broker tells them.
    public var scopes: [String]?
    /// The ID token.
    public var idToken: String?
    /// The account's `uid.utid`, if the broker tells it.
    public var homeAccountID: String?

    /// Creates an answer.
    public init(
        accessToken: String,
        expiresOn: Date? = nil,
        scopes: [String]? = nil,
        idToken: String?,
        homeAccountID: String? = nil
    ) {
        self.accessToken = accessToken
        self.expiresOn = expiresOn
        self.scopes = scopes
        self.idToken = idToken
        self.homeAccountID = homeAccountID
    }
}

extension BrokerTokens: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The expiration time, without a secret or personal data.
    public var description: String { "BrokerTokens(expiresOn: \(expiresOn.map { "\($0)" } ?? "unknown"))" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Shows no secret, so that `dump` reveals none.
    public var customMirror: Mirror { Mirror(self, children: ["expiresOn": expiresOn as Any]) }
}

/// The facts that a broker tells about itself.
///
/// ```swift
/// print(try await LinuxTokenBroker().information().version ?? "unknown")
/// ```
public struct BrokerInformation: Hashable, Sendable {
    /// The name of the broker's program, for example `himmelblau_broker`; `nil` if it does not tell.
    public var product: String?
    /// The broker's version; `nil` if it does not tell.
    public var version: String?

    /// Creates the facts.
    public init(product: String? = nil, version: String? = nil) {
        self.product = product
        self.version = version
    }
}
