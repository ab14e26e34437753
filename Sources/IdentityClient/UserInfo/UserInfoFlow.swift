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
        var token = try await SilentFlow(refresher: refresher).run(parameters)
        var answer = try await ask(endpoint, with: token, authority)
        if answer.0.isRefusedToken, token.source == .cache {
            token = try await SilentFlow(refresher: refresher).run(parameters, insteadOf: token)
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
            throw AuthenticationError(
                .unsupported,
                "The provider publishes no UserInfo endpoint. Read the claims of the ID token.",
                correlationID: context.correlationID
            )
        }
        guard authority.accepts(userInfoEndpoint: endpoint) else {
            throw AuthenticationError(
                .untrustedAuthority,
                """
                The configuration of \(authority.url) names a UserInfo endpoint that is not https, or on a foreign host: \
                '\(WireText.clean(endpoint).prefix(200))'. Nothing was sent to it.
                """,
                correlationID: context.correlationID
            )
        }
        return endpoint
    }

    /// Returns the scopes of a token in the cache that was granted `openid`, so that no other token is acquired; none, if
    /// there is no such token. At Entra ID it is a token for Microsoft Graph, which has the endpoint.
    private func scopesWithOpenID(_ authority: Authority, _ account: Account) async throws -> Set<Scope> {
        let snapshot = try await environment.store.snapshot(for: RecordID(authority: authority, account: account.id))
        return snapshot?.credentials.accessTokens.first { $0.keyID == nil && $0.scopeSet.contains(.openID) }?.scopeSet
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
            throw AuthenticationError(
                .subjectMismatch,
                "The UserInfo endpoint answered about another person than the ID token (sub). Nothing of the answer is used.",
                correlationID: context.correlationID
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
