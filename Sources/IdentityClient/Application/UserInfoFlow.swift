// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import OAuthWire

/// The flow that asks the provider for claims about an account. Nothing of the answer is stored.
///
/// - SeeAlso: [OpenID Connect Core §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)
struct UserInfoFlow: Sendable {
    let refresher: TokenRefresher
    let context: RequestContext

    private var environment: FlowEnvironment { refresher.environment }

    /// - Parameter scopes: The scopes of the access token that is sent; `nil` for a token that has `openid`.
    func run(_ account: Account, scopes: Set<Scope>?, authority named: Authority?) async throws -> IdentityClaims {
        let called = try environment.clouds.authority(named, of: account)
        let authority = called.resolved(for: account.id)
        let metadata = try await environment.resolver.metadata(for: authority, context: context)
        let endpoint = try endpoint(of: authority, metadata)
        var parameters = SilentParameters(scopes: [], account: account, authority: called)
        parameters.correlationID = context.correlationID
        parameters.scopes =
            if let scopes { scopes } else { try await scopesWithOpenID(called, account) }
        let flow = SilentFlow(refresher: refresher)
        var token = try await flow.runProven(parameters, at: called)
        var answer = try await ask(endpoint, with: token, authority)
        if answer.0.isRefusedToken, token.source == .cache {
            token = try await flow.runProven(parameters, at: called, insteadOf: token)
            answer = try await ask(endpoint, with: token, authority)
        }
        let reading = UserInfoAnswer(
            environment: environment,
            context: context,
            authority: authority,
            metadata: metadata
        )
        let claims = try await reading.claims(in: answer.0, answer.1, to: token)
        try check(claims, isAbout: account, token, authority, metadata)
        return IdentityClaims(claims)
    }

    /// The endpoint, if the provider publishes it at an address that may get an access token.
    private func endpoint(of authority: Authority, _ metadata: ProviderMetadata) throws -> String {
        guard authority.issuesIDTokens, let endpoint = metadata.userInfoEndpoint else {
            throw context.error(
                .unsupported,
                "The provider publishes no UserInfo endpoint. Read the claims of the ID token."
            )
        }
        guard authority.accepts(userInfoEndpoint: endpoint) else {
            throw context.error(
                .untrustedAuthority,
                """
                The configuration of \(authority.url) names a UserInfo endpoint that is not https, or on a foreign host: \
                \(WireText.quoted(endpoint)). Nothing was sent to it.
                """
            )
        }
        return endpoint
    }

    /// Returns the scopes of a token in the cache that was granted `openid`, so that no other token is acquired; none, if
    /// there is no such token. At Entra ID it is a token for Microsoft Graph, which has the endpoint.
    private func scopesWithOpenID(_ authority: Authority, _ account: Account) async throws -> Set<Scope> {
        let snapshot = try await environment.store.snapshot(for: RecordID(authority: authority, account: account.id))
        return snapshot?.credentials.accessTokens.first { token in
            (token.keyID == nil || token.keyID == snapshot?.credentials.dpopKey?.keyID)
                && token.scopeSet.contains(.openID)
        }?.scopeSet
            ?? []
    }

    private func ask(
        _ endpoint: String,
        with token: AuthenticationResult,
        _ authority: Authority
    ) async throws -> (HTTPResponse, [UInt8]) {
        try await environment.client.get(
            endpoint,
            authorization: token.authorizationHeader,
            with: token.proof?.dpop.map { (token.accessToken, $0) },
            accept: "application/json, application/jwt",
            context: context,
            authority: authority
        )
    }

    /// The answer must name the same person as the ID token: an access token that was exchanged for another person's would
    /// otherwise go unnoticed.
    ///
    /// - SeeAlso: [OpenID Connect Core §5.3.2](https://openid.net/specs/openid-connect-core-1_0.html#UserInfoResponse)
    private func check(
        _ claims: JSONObject,
        isAbout account: Account,
        _ token: AuthenticationResult,
        _ authority: Authority,
        _ metadata: ProviderMetadata
    ) throws {
        guard let subject = claims.string("sub"), !subject.isEmpty else {
            throw AuthenticationError.malformed("it names no person (sub)", context)
        }
        // The ID token was verified when it arrived. Records above the size limit keep none.
        let idToken = token.idToken.flatMap { try? JSONWebToken(compact: $0) }
        let isSame =
            if let expected = idToken?.claims.string("sub") {
                WireText.areSame(subject, expected)
            } else {
                AccountIdentity(authority: authority, clientInfo: nil, issuer: metadata.issuer, subject: subject)?
                    .accountID == account.id
            }
        guard isSame else {
            throw context.error(
                .invalidResponse,
                "The UserInfo endpoint answered about another person than the ID token (sub). Nothing of the answer is used."
            )
        }
    }
}

extension HTTPResponse {
    /// Whether a renewed token may be accepted where this one was refused.
    fileprivate var isRefusedToken: Bool {
        status.code == 401 && ResourceChallenge(inChallenges: headerFields[values: .wwwAuthenticate]) == nil
    }
}

/// Reads an answer of the UserInfo endpoint: the claims as JSON, or signed as a JWT.
///
/// - SeeAlso: [OpenID Connect Core §5.3.2 to §5.3.4](https://openid.net/specs/openid-connect-core-1_0.html#UserInfoResponse)
struct UserInfoAnswer: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let authority: Authority
    let metadata: ProviderMetadata

    /// - Parameter token: The access token that was sent.
    /// - Throws: `.malformedResponse` unless the answer is 200 with an object of claims; the error of a refusal.
    func claims(
        in response: HTTPResponse,
        _ body: [UInt8],
        to token: AuthenticationResult
    ) async throws -> JSONObject {
        guard response.status.code == 200 else { throw try refusal(response, body, of: token) }
        switch response.headerFields[.contentType]?.split(separator: ";").first?.lowercased().filter({ $0 != " " }) {
        case "application/json":
            guard let claims = try? JSONObject(received: body) else {  // the reason is of no use to the caller
                throw AuthenticationError.malformed("it is not a JSON object", context)
            }
            return claims
        case "application/jwt":
            return try await signedClaims(String(decoding: body, as: UTF8.self))
        default:
            throw AuthenticationError.malformed("UserInfo is neither JSON nor a JWT (Content-Type)", context)
        }
    }

    /// The claims of a signed answer: the signature as in an ID token; issuer and audience, if it names them.
    private func signedClaims(_ compact: String) async throws -> JSONObject {
        guard !JSONWebToken.isEncrypted(compact) else {
            throw context.error(
                .unsupported,
                """
                The UserInfo endpoint answered with encrypted claims, and this client has no key to decrypt them. Configure \
                the client there for signed or plain answers.
                """
            )
        }
        let claims: JSONObject
        do {
            claims = try await environment.verifier.signedClaims(
                of: compact,
                expecting: IDTokenExpectation(
                    authority: authority,
                    publishedIssuer: metadata.issuer,
                    clientID: environment.clientID
                ),
                metadata: metadata,
                context: context
            )
        } catch let error as AuthenticationError where error.code == .invalidIDToken {
            throw refused(error.message.split(separator: ": ", maxSplits: 1).last.map(String.init) ?? error.message)
        }
        if let issuer = claims["iss"], !issuer.isNull {
            let isOurs = issuer.string.map {
                authority.accepts(tokenIssuer: $0, tenantID: claims.string("tid"), published: metadata.issuer)
            }
            guard isOurs == true else { throw refused("it was issued by another issuer (iss).") }
        }
        if let audience = claims["aud"], !audience.isNull {
            let audiences = audience.string.map { [$0] } ?? claims.strings("aud") ?? []
            guard audiences.contains(where: { WireText.areSame($0, environment.clientID) }) else {
                throw refused("it is meant for another client (aud).")
            }
        }
        return claims
    }

    private func refused(_ reason: String) -> AuthenticationError {
        context.error(.invalidResponse, "The signed UserInfo answer is not believed: \(reason)")
    }

    /// The error of an answer other than 200.
    private func refusal(
        _ response: HTTPResponse,
        _ body: [UInt8],
        of token: AuthenticationResult
    ) throws -> AuthenticationError {
        let status = response.status.code
        if status == 401 || status == 403,
            var challenge = ResourceChallenge(inChallenges: response.headerFields[values: .wwwAuthenticate])
        {
            let isAboutScopes = challenge.acrValues.isEmpty && challenge.maxAge == nil && !challenge.scopes.isEmpty
            if isAboutScopes { challenge.scopes.formUnion(token.scopes) }
            return context.error(
                isAboutScopes ? .insufficientScope : .insufficientUserAuthentication,
                "The UserInfo endpoint demands more of the sign-in. A person has to sign in anew.",
                challenge: challenge
            )
        }
        if status == 401 {
            return context.error(
                .loginRequired,
                "The UserInfo endpoint refuses a new access token. Sign in again, with the scope openid."
            )
        }
        let now = environment.clock.unixSeconds
        switch EndpointOutcome<JSONObject>(response, body, grant: nil, now: now, context: context) {
        case .refused(let error), .ambiguous(let error): return error
        case .accepted: return .malformed("UserInfo came with status \(status), not 200", context)
        }
    }
}

/// The flow that asks the provider about an account's access token. Nothing of the answer is stored.
///
/// - SeeAlso: [RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)
struct IntrospectionFlow: Sendable {
    let refresher: TokenRefresher
    let context: RequestContext

    private var environment: FlowEnvironment { refresher.environment }

    func run(_ account: Account, scopes: Set<Scope>, authority named: Authority?) async throws -> TokenIntrospection {
        let called = try environment.clouds.authority(named, of: account)
        let authority = called.resolved(for: account.id)
        let metadata = try await environment.resolver.metadata(for: authority, context: context)
        let endpoint = try await endpoint(of: authority, metadata)
        var parameters = SilentParameters(scopes: scopes, account: account, authority: called)
        parameters.correlationID = context.correlationID
        let token = try await SilentFlow(refresher: refresher).runProven(parameters, at: called)
        let (response, body) = try await environment.client.post(
            IntrospectionRequestMessage.items(clientID: environment.clientID, token: token.accessToken),
            to: endpoint,
            secretIn: metadata.clientSecretPlace,
            context: context,
            authority: authority
        )
        return try introspection(in: response, body)
    }

    private func endpoint(of authority: Authority, _ metadata: ProviderMetadata) async throws -> String {
        let found = try await environment.resolver.endpoint(
            \.introspectionEndpoint,
            of: authority,
            metadata,
            context: context
        )
        guard let endpoint = found else {
            throw context.error(
                .unsupported,
                "The provider publishes no endpoint that tells about tokens (introspection_endpoint)."
            )
        }
        guard authority.accepts(endpoint: endpoint) else {
            throw context.error(
                .untrustedAuthority,
                """
                The configuration of \(authority.url) names an introspection endpoint that is not https, or on a foreign host: \
                \(WireText.quoted(endpoint)). Nothing was sent to it.
                """
            )
        }
        return endpoint
    }

    private func introspection(in response: HTTPResponse, _ body: [UInt8]) throws -> TokenIntrospection {
        let now = environment.clock.unixSeconds
        switch EndpointOutcome<JSONObject>(response, body, grant: nil, now: now, context: context) {
        case .accepted(let json) where response.status.code == 200:
            do {
                return try TokenIntrospection(json)
            } catch {
                throw AuthenticationError.malformed("\(error)", context)
            }
        case .accepted:
            throw AuthenticationError.malformed(
                "introspection came with status \(response.status.code), not 200",
                context
            )
        case .refused(let error) where [401, 403].contains(response.status.code) || error.code == .clientNotRegistered:
            throw error.saying(
                .clientNotRegistered,
                """
                The provider does not tell this client about tokens. Many answer only clients with a secret (RFC 7662 §2.1): \
                call an API with the token instead, which refuses it if it is no longer good.
                """
            )
        case .refused(let error), .ambiguous(let error): throw error
        }
    }
}
