// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
package import OAuthWire

/// An acquired access token, its account and its source.
///
/// ```swift
/// try result.authorize(&request)
/// ```
public struct AuthenticationResult: Sendable {
    /// The source of a token.
    ///
    /// ```swift
    /// if result.source == .identityProvider { logger.info("Acquired a new token") }
    /// ```
    @nonexhaustive public enum Source: String, Hashable, Sendable {
        /// The token cache.
        case cache
        /// The identity provider, asked by the call that returned the token.
        case identityProvider
        /// The computer's identity broker, asked by the call that returned the token.
        case broker
    }

    /// The outcome of writing the tokens to the cache.
    ///
    /// ```swift
    /// if case .failed(let error) = result.persistence { warn("You must sign in again next time. \(error.message)") }
    /// ```
    @nonexhaustive public enum Persistence: Sendable {
        /// The tokens are in the cache.
        case persisted
        /// The write failed, and the tokens live until the program ends. The next acquisition tries to write again;
        /// after a refresh, the library also tries by itself.
        case failed(AuthenticationError)
    }

    /// The values, in an object that never changes, so that passing a result on costs next to nothing.
    private let parts: Parts

    /// The access token. It is a secret: send it to its API and to no other server. Of ``sshCertificate``, it is the base64.
    public var accessToken: String { parts.values.accessToken }

    /// The scheme of the `Authorization` header, always spelled `Bearer`, `PoP` or `DPoP`, whatever case the server used; `ssh-cert`
    /// for a certificate, which no header has.
    public var tokenType: String { parts.values.tokenType }

    /// The way in which the token is shown to an API.
    public var scheme: AuthenticationScheme {
        if tokenType == "DPoP" { return .dpop }
        if tokenType == "PoP" { return .pop }
        return sshCertificate.map { .sshCertificate(for: $0.publicKey) } ?? .bearer
    }

    /// The time at which the token expires, by this computer's clock. If the provider sends no lifetime, it is one hour
    /// after the token arrived. For a token of a plain OAuth 2.0 server without a refresh token, it is ten years: only
    /// the API tells (401) that such a token has expired.
    public var expiresOn: Date { parts.values.expiresOn }

    /// The granted scopes. They may include scopes that were not requested.
    public var scopes: Set<Scope> { parts.values.scopes }

    /// The requested scopes that were not granted.
    public var declinedScopes: Set<Scope> { parts.values.declinedScopes }

    /// `false` if the sign-in asked for a refresh token (`offline_access`) and got none, so that the person has to sign in again
    /// when the access token expires; otherwise `true`, also for a token from the cache.
    ///
    /// Some providers give one only if the person is asked for consent: sign in with ``SignInPrompt/consent``. Others must be told
    /// to give one to this client.
    /// - SeeAlso: [OpenID Connect Core §11](https://openid.net/specs/openid-connect-core-1_0.html#OfflineAccess)
    public var hasRefreshToken: Bool { parts.values.hasRefreshToken }

    /// The account that the token belongs to.
    public var account: Account { parts.values.account }

    /// The person's profile in the tenant that issued the token; `nil` without an ID token.
    public var tenantProfile: TenantProfile? { parts.values.tenantProfile }

    /// The ID token as the provider sent it, validated on arrival; `nil` if the provider sent none.
    public var idToken: String? { parts.values.idToken }

    /// The source of the token.
    public var source: Source { parts.values.source }

    /// Whether the tokens are in the cache. A silent call that takes a token from memory also says `.failed` until the
    /// token is written.
    public var persistence: Persistence { parts.values.persistence }

    /// The identifier of the request on both sides, for support; `nil` for a token from the cache.
    public var correlationID: UUID? { parts.values.correlationID }

    /// The time since the token expired, at the moment of the call; `nil` for a valid token.
    ///
    /// Expired tokens are handed out only with `ClientConfiguration.entra.allowsExtendedLifetime` or
    /// `SilentParameters.allowsExpiredToken`.
    public var expiredFor: Duration? { parts.values.expiredFor }

    /// Whether the token has expired, and the provider allowed its use in an outage such as now.
    ///
    /// Only with `ClientConfiguration.entra.allowsExtendedLifetime`. An API decides itself whether it accepts such a token: some
    /// answer 401.
    public var isExtendedLifetimeToken: Bool { parts.values.isExtendedLifetimeToken }

    /// The further members of the answer that the token came with, such as `instance_url` at Salesforce or
    /// `authorization_details` (RFC 9396); empty if there were none. Read anew with each call.
    ///
    /// A text is as the provider sent it; any other value is its JSON text. A token from the cache has the same members. No
    /// more than 8 KiB of them are kept. They may be secrets or personal data.
    public var additionalMembers: [String: String] {
        let members = additionalMembersObject.members.map { ($0.name, $0.value.string ?? $0.value.jsonText) }
        return Dictionary(members) { first, _ in first }
    }

    /// The same, with the types that the provider gave them.
    package var additionalMembersObject: JSONObject {
        // The library wrote the text.
        parts.values.additionalMembers.flatMap { try? JSONObject(parsing: Array($0.utf8)) } ?? JSONObject()
    }

    /// Creates a result, for a program's tests.
    public init(
        accessToken: String,
        tokenType: String = "Bearer",
        expiresOn: Date,
        scopes: Set<Scope>,
        declinedScopes: Set<Scope> = [],
        account: Account,
        tenantProfile: TenantProfile? = nil,
        idToken: String? = nil,
        source: Source,
        persistence: Persistence = .persisted,
        correlationID: UUID? = nil,
        expiredFor: Duration? = nil,
        isExtendedLifetimeToken: Bool = false,
        additionalMembers: [String: String] = [:]
    ) {
        let members = JSONObject(additionalMembers.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
        let values = Values(
            accessToken: accessToken,
            tokenType: tokenType,
            expiresOn: expiresOn,
            scopes: scopes,
            declinedScopes: declinedScopes,
            account: account,
            tenantProfile: tenantProfile,
            idToken: idToken,
            source: source,
            persistence: persistence,
            correlationID: correlationID,
            expiredFor: expiredFor,
            isExtendedLifetimeToken: isExtendedLifetimeToken,
            additionalMembers: members.isEmpty ? nil : String(decoding: members.serialized(), as: UTF8.self)
        )
        parts = Parts(values)
    }

    /// The value of the `Authorization` header for a bearer token; empty for any other token.
    package var authorizationHeader: String { isBound ? "" : "\(tokenType) \(accessToken)" }

    /// Whether the token is not a bearer token.
    var isBound: Bool {
        tokenType == "PoP" || tokenType == "DPoP" || tokenType == AuthenticationScheme.sshCertificateType
    }

    /// The binding of the token; `nil` for a bearer token.
    var proof: TokenProof? { parts.values.proof }

    /// Returns the same result with the key that its token is bound to.
    func proven(by proof: TokenProof?) -> AuthenticationResult {
        guard let proof else { return self }
        var values = parts.values
        values.proof = proof
        return AuthenticationResult(values)
    }

    /// Returns the same result, of a sign-in that got no refresh token although it asked for one.
    func withoutRefreshToken() -> AuthenticationResult {
        var values = parts.values
        values.hasRefreshToken = false
        return AuthenticationResult(values)
    }

    /// Returns the same result with the further members of the answer, as JSON.
    func having(additionalMembers json: String) -> AuthenticationResult {
        var values = parts.values
        values.additionalMembers = json
        return AuthenticationResult(values)
    }

    private init(_ values: Values) {
        parts = Parts(values)
    }
}

extension AuthenticationResult {
    /// The stored values. They are an object, so that copying a result copies one reference.
    private final class Parts: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }
    }

    private struct Values: Sendable {
        let accessToken: String
        let tokenType: String
        let expiresOn: Date
        let scopes: Set<Scope>
        let declinedScopes: Set<Scope>
        let account: Account
        let tenantProfile: TenantProfile?
        let idToken: String?
        let source: Source
        let persistence: Persistence
        let correlationID: UUID?
        let expiredFor: Duration?
        let isExtendedLifetimeToken: Bool
        var additionalMembers: String?
        var proof: TokenProof?
        var hasRefreshToken = true
    }
}

extension AuthenticationResult: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The source and the expiration time, without a secret or personal data.
    public var description: String {
        "AuthenticationResult(source: \(source.rawValue), expiresOn: \(expiresOn), scopes: \(scopes.count))"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Shows no secret, so that `dump` reveals none.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["source": source, "expiresOn": expiresOn, "scopes": scopes, "persistence": persistence]
        )
    }
}

extension AuthenticationResult {
    /// Returns the value of the `Authorization` header for one request. It is a secret.
    ///
    /// For a bearer token, it is the type and the token. For a token of the scheme ``AuthenticationScheme/pop``, it is the
    /// token together with the request's method, host, path and query, and the current time, signed with the program's key,
    /// which takes about a millisecond. APIs accept it for a few minutes. The request's body and other header fields are
    /// not signed. A request that is changed, or sent again later, needs a new header.
    ///
    /// - Parameters:
    ///   - request: The request, with scheme, authority and path as they will be sent.
    ///   - nonce: The nonce that the API demanded, in the field `DPoP-Nonce` or in a PoP challenge; `nil`, the default, if it
    ///     demanded none.
    /// - Throws: `AuthenticationError.Code.invalidArgument` if the request is not to https, or http on this computer, if its
    ///   address or the nonce has other than visible ASCII, if the result was created without a key, or for an SSH
    ///   certificate.
    /// - SeeAlso: [draft-ietf-oauth-signed-http-request-03](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-signed-http-request-03)
    public func authorizationHeader(for request: HTTPRequest, nonce: String? = nil) throws -> String {
        try authorizationHeader(for: request, nonce: nonce, at: SystemClock().unixSeconds)
    }

    /// The same at a time, in Unix seconds.
    package func authorizationHeader(for request: HTTPRequest, nonce: String?, at now: Int64) throws -> String {
        guard isBound else { return authorizationHeader }
        guard tokenType != AuthenticationScheme.sshCertificateType else {
            throw AuthenticationError(
                .invalidArgument,
                "An SSH certificate is shown to no API. Give it to ssh, and acquire another token for the API."
            )
        }
        guard let key = proof?.key else {
            throw AuthenticationError(
                .invalidArgument,
                scheme == .dpop
                    ? "A token that is bound by DPoP needs two header fields: call authorize(_:nonce:) in place of this."
                    : "This result has no key to sign a request with. Acquire the token from the application object."
            )
        }
        let address = try Self.address(of: request, nonce: nonce)
        let statement = SignedHTTPRequest(
            accessToken: accessToken,
            method: request.method.rawValue,
            host: address.environment,
            path: address.path.isEmpty ? "/" : address.path,
            query: address.query,
            nonce: nonce,
            timestamp: now
        )
        do {
            return "\(tokenType) \(try statement.signed(with: key))"
        } catch {
            throw AuthenticationError(.invalidArgument, "The request could not be signed.", underlyingError: error)
        }
    }

    /// Adds the header fields that show the token to an API: `Authorization`, and for a token that is bound by DPoP also the
    /// proof, which takes some 60 µs. A request that is changed, or sent again, needs new ones. They are secrets.
    ///
    /// ```swift
    /// try result.authorize(&request)
    /// ```
    /// - Parameters:
    ///   - request: The request, with scheme, authority and path as they will be sent.
    ///   - nonce: The nonce that the API demanded, in the field `DPoP-Nonce` or in a PoP challenge; `nil`, the default, if it
    ///     demanded none.
    /// - Throws: As ``authorizationHeader(for:nonce:)``.
    /// - SeeAlso: [RFC 9449 §7](https://www.rfc-editor.org/rfc/rfc9449#section-7)
    public func authorize(_ request: inout HTTPRequest, nonce: String? = nil) throws {
        try authorize(&request, nonce: nonce, at: SystemClock().unixSeconds)
    }

    /// The same at a time, in Unix seconds.
    package func authorize(_ request: inout HTTPRequest, nonce: String?, at now: Int64) throws {
        guard let key = proof?.dpop else {
            request.headerFields[.authorization] = try authorizationHeader(for: request, nonce: nonce, at: now)
            return
        }
        let address = try Self.address(of: request, nonce: nonce)
        do {
            request.headerFields[.dpop] = try key.proof(
                request.method.rawValue,
                address.withoutQuery,
                at: now,
                nonce: nonce,
                accessToken: accessToken
            )
        } catch {
            throw AuthenticationError(.invalidArgument, "The request could not be signed.", underlyingError: error)
        }
        request.headerFields[.authorization] = "\(AuthenticationScheme.dpop) \(accessToken)"
    }

    private static func address(of request: HTTPRequest, nonce: String?) throws -> WebAddress {
        let (authority, path) = (request.authority ?? "", request.path ?? "/")
        guard path.utf8.first == UInt8(ascii: "/"), !authority.utf8.contains(where: { "/?".utf8.contains($0) }),
            let address = WebAddress("\(request.scheme ?? "")://\(authority)\(path)", maximumLength: 8192)
        else {
            throw AuthenticationError(
                .invalidArgument,
                "The request is not to an acceptable address: https, or http for this computer itself, without a name "
                    + "and password, with everything but visible ASCII percent-encoded, and at most 8192 bytes."
            )
        }
        if let nonce, nonce.isEmpty || !nonce.utf8.areVisible {
            throw AuthenticationError(
                .invalidArgument,
                "The nonce is empty, or has other than visible ASCII characters."
            )
        }
        return address
    }
}
