// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The flow that signs a person in by the sign-in of another program of the same publisher, without a browser.
///
/// - SeeAlso: [OpenID Connect Native SSO](https://openid.net/specs/openid-connect-native-sso-1_0.html)
struct DeviceSecretSignIn: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let authority: Authority?
    let scopes: Set<Scope>
    let secretType: SecurityToken.TypeIdentifier
    /// The name of the provider in the request; `nil` for its issuer.
    let audience: String?

    func run(_ account: Account) async throws -> AuthenticationResult {
        try secretType.check(of: "device secret")
        let own = try scopes.checked()
        let (authority, metadata) = try await environment.signInTarget(
            authority,
            for: account,
            scopes: scopes,
            requiresPersistence: false,
            context
        )
        guard metadata.exchangesTokens else { throw AuthenticationError.exchangeNotOffered(nil, context) }
        let (idToken, secret) = try await shared(account, at: authority)
        // All that may fail comes first, because the provider may count the answer as a sign-in.
        let validation = GrantValidation(environment: environment, context: context)
        if let failure = await validation.fetchKeys(metadata, of: authority) { throw failure }
        let asked = own.appendingMissing(environment.configuration.scopesToAdd(for: authority, metadata))
        let form = TokenRequestMessage.tokenExchange(
            clientID: environment.clientID,
            subject: (idToken, SecurityToken.TypeIdentifier.idToken.rawValue),
            actor: (secret, secretType.rawValue),
            audiences: [audience ?? metadata.issuer ?? authority.url],
            scopes: asked
        )
        let response: TokenResponse
        do {
            response = try await TokenEndpoint(environment, authority, metadata, context)
                .redeem(form, grant: .tokenExchange)
        } catch let error as AuthenticationError {
            throw error.explainedForExchange(isOfAccount: true, context)
        }
        let issued = response.issuedTokenType
        guard response.fault != nil || issued == SecurityToken.TypeIdentifier.accessToken.rawValue else {
            throw AuthenticationError.malformed("its token is no access token (issued_token_type)", context)
        }
        let commit = SignInCommit(
            environment: environment,
            context: context,
            authority: authority,
            metadata: metadata,
            wanted: account,
            scopes: scopes,
            hasParameters: false
        )
        return try await commit.run(response, asked: asked, nonce: nil, claims: nil, maxAge: nil)
    }

    /// The ID token and the device secret of the newest sign-in of the account that has both, whichever program of the group
    /// it belongs to. The ID token may have expired: the provider checks that the secret belongs to it.
    private func shared(_ account: Account, at authority: Authority) async throws -> (idToken: String, secret: String) {
        let held = try await environment.store.allSnapshots().snapshots.values.map(\.credentials).filter { held in
            held.deviceSecret != nil && WireText.areSame(held.accountID.rawValue, account.id.rawValue)
                && Authority.accountScope(ofPartition: held.partition) == authority.accountScope
        }
        let newest = held.max { ($0.refreshToken?.modifiedAt ?? 0) < ($1.refreshToken?.modifiedAt ?? 0) }
        guard let secret = newest?.deviceSecret, let idToken = newest?.profiles.lazy.compactMap(\.idToken).first else {
            throw AuthenticationError(
                .noTokensFound,
                """
                No program of this group has a sign-in of this account that others may share (scope device_sso). Sign in \
                interactively.
                """,
                correlationID: context.correlationID
            )
        }
        return (idToken, secret)
    }
}
