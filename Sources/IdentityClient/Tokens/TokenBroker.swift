// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import OAuthWire
import SystemSupport

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
    /// - Throws: errors of the family `.interactionRequired` if a person is needed, `.noTokensFound` if the
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

/// Whether an application object asks an identity broker. Brokers serve Entra ID only.
///
/// ```swift
/// configuration.broker = .whenAvailable(LinuxTokenBroker())
/// ```
///
/// With a broker, a token in the cache is still returned from the cache. Otherwise the broker is asked before this
/// library's own refresh token is redeemed, and before a browser is opened. The broker's refresh tokens stay with the
/// broker; its access tokens are stored in the cache.
@nonexhaustive public enum BrokerUse: Sendable {
    /// No broker is asked.
    case off

    /// The broker is asked first. If there is none, or it cannot be used, the program signs in through the browser as
    /// without a broker; `SignInPhase/brokerUnavailable(message:)` and the log tell the reason.
    case whenAvailable(any TokenBroker)

    /// Only the broker is asked. If it cannot be used, the call fails, with `.brokerUnavailable` if there is none.
    case required(any TokenBroker)
}

extension BrokerUse {
    /// The broker, if one is asked.
    var broker: (any TokenBroker)? {
        switch self {
        case .off: nil
        case .whenAvailable(let broker), .required(let broker): broker
        }
    }

    var isRequired: Bool { if case .required = self { true } else { false } }
}

extension AuthenticationError {
    /// Whether a sign-in may go on without the broker: the broker did not do its part, and no person and no policy has
    /// decided.
    var leavesTheSignInToTheBrowser: Bool {
        [.brokerUnavailable, .serverUnavailable, .unsupported, .configuration, .malformedResponse]
            .contains(code)
    }

    /// Does `work` of a broker, and wraps an error that is none of this library's.
    static func ofBroker<Value>(_ context: RequestContext, _ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch {
            if error is AuthenticationError || error is DeadlineExceeded || error.isOfACancelledTask { throw error }
            throw context.error(.brokerUnavailable, "The identity broker could not be asked.", underlyingError: error)
        }
    }
}

extension BrokerTokens {
    /// The longest lifetime of an access token that is believed. Entra ID's longest is 28 hours.
    private static let longestLifetime = 48.0 * 3600
    /// The lifetime of an access token whose own and whose broker's times are nonsense: the broker is asked again soon.
    private static let unknownLifetime: Int64 = 300

    /// Returns the answer in the form in which a token endpoint gives it, so that it passes the same checks.
    ///
    /// - Parameters:
    ///   - account: The account that was asked for, which counts if the broker names none.
    ///   - scheme: The scheme of the access token; see `check(_:_:)`.
    func response(for account: Account?, _ scheme: AuthenticationScheme, at now: Int64) -> TokenResponse {
        var json = JSONObject([
            ("access_token", .string(accessToken)), ("token_type", .string(scheme.description)),
            ("expires_in", .integer(lifetime(at: now))),
        ])
        json["scope"] = scopes.map { .string($0.joined(separator: " ")) }
        json["id_token"] = idToken.map { .string($0) }
        json["client_info"] = clientInfo(homeAccountID ?? account?.homeAccountID ?? personOfIDToken).map { .string($0) }
        return TokenResponse(reading: json)
    }

    /// The lifetime in seconds: the shorter of what the broker and the token say, of those that can be true.
    ///
    /// Deviation: Himmelblau has written nonsense. The claims of an access token are not for its client; its `exp` can
    /// only shorten what is believed.
    func lifetime(at now: Int64) -> Int64 {
        // Doubles, so that no time of theirs overflows.
        let own = (try? JSONWebToken(compact: accessToken))?.claims.roundedDown("exp").map { Double($0) }
        let possible = [own, expiresOn?.timeIntervalSince1970].compactMap(\.self).map { $0 - Double(now) }
        let shortest = possible.filter { $0 >= 1 && $0 <= Self.longestLifetime }.min()
        return shortest.map { Int64($0) } ?? Self.unknownLifetime
    }

    /// Checks that the access token is bound to the program's key. Brokers that do not know `popParams` ignore it, and
    /// what a broker says about its tokens is wrong at times; so the token itself must name the key.
    ///
    /// - Parameter binding: The key that the access token was requested for; `nil` for a bearer token.
    /// - SeeAlso: [RFC 7800 §3.4](https://www.rfc-editor.org/rfc/rfc7800#section-3.4)
    func check(_ binding: TokenBinding?, _ context: RequestContext) throws {
        guard let binding else { return }
        let confirmation = (try? JSONWebToken(compact: accessToken))?.claims.object("cnf")
        guard let keyID = confirmation?.string("kid"), WireText.areSame(keyID, binding.keyID) else {
            throw context.error(
                .unsupported,
                """
                The identity broker gave an access token that does not name the program's key (cnf), so it is not used as a \
                bound one. Update the broker, sign in without it, or use bearer tokens.
                """
            )
        }
    }

    /// The person in the tenant of the ID token, who is the same in the home tenant unless the person is a guest.
    private var personOfIDToken: String? {
        guard let claims = idToken.flatMap({ try? JSONWebToken(compact: $0) })?.claims,
            let person = claims.string("oid"), let tenant = claims.string("tid")
        else { return nil }
        return "\(person).\(tenant)"
    }

    /// Returns `client_info` for an identifier of the form `uid.utid`.
    private func clientInfo(_ homeAccountID: String?) -> String? {
        guard let parts = homeAccountID?.split(separator: ".", omittingEmptySubsequences: false), parts.count == 2
        else {
            return nil
        }
        let json = JSONObject([("uid", .string(String(parts[0]))), ("utid", .string(String(parts[1])))])
        return Base64URL.encode(json.serialized())
    }
}

extension Set<Scope> {
    /// The scopes that a broker is asked for. It adds those of OpenID Connect itself.
    ///
    /// - Throws: `.invalidArgument` for a scope that is none; `.unsupported` if none is left.
    func checkedForBroker() throws -> [String] {
        let scopes = try checked().filter { !ScopeRule.reserved.contains($0.lowercased()) }
        guard !scopes.isEmpty else {
            throw AuthenticationError(
                .unsupported,
                "An identity broker gives no token without a scope of an API, for example User.Read: request one."
            )
        }
        return scopes
    }
}
