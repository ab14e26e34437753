// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The flow that takes a refresh token over from another library: redeems it at once, and stores the answer like a sign-in.
struct RefreshTokenImport: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let authority: Authority?
    let scopes: Set<Scope>

    func run(_ refreshToken: String) async throws -> AuthenticationResult {
        try Self.check(refreshToken)
        // All that may fail comes first, because the provider may give another token for this one.
        let (authority, metadata) = try await environment.signInTarget(
            authority,
            for: nil,
            scopes: scopes,
            requiresPersistence: true,
            context
        )
        let validation = GrantValidation(environment: environment, context: context)
        if authority.issuesIDTokens, let failure = await validation.fetchKeys(metadata, of: authority) { throw failure }
        // At Microsoft, a refresh token serves any API, so a request names its scopes. Elsewhere one that was not granted
        // would be refused; without any, the server gives the granted ones (RFC 6749 §6), the person's name among them.
        let isMicrosoft = authority.isMicrosoft
        let defaults = isMicrosoft ? environment.configuration.scopesToAdd(for: authority, metadata) : []
        let asked = try scopes.checked().appendingMissing(defaults)
        let claims = try ClaimsParameter.merged(nil, environment.configuration.clientCapabilities)
        let form = TokenRequestMessage.refreshToken(
            clientID: environment.clientID,
            refreshToken: refreshToken,
            scopes: isMicrosoft ? asked : [],
            claims: isMicrosoft ? claims : nil,
            clientInfo: authority.hasHomeAccounts
        )
        var response = try await redeem(form, TokenEndpoint(environment, authority, metadata, context))
        if authority.issuesIDTokens, response.idToken == nil {
            throw AuthenticationError(
                .unsupported,
                """
                The provider accepted the refresh token, but sends no ID token with a refresh, so it does not say whose it \
                is. Nothing was stored. Sign in interactively.
                """,
                correlationID: context.correlationID
            )
        }
        // Without another one in the answer, it stays valid.
        response.refreshToken = response.refreshToken ?? refreshToken
        let commit = SignInCommit(
            environment: environment,
            context: context,
            authority: authority,
            metadata: metadata,
            wanted: nil,
            scopes: scopes,
            revokesUnwanted: false
        )
        return try await commit.run(response, asked: asked, nonce: nil, claims: claims, maxAge: nil)
    }

    private func redeem(_ form: [(String, String)], _ endpoint: TokenEndpoint) async throws -> TokenResponse {
        var outcome = try await endpoint.redeemRefreshToken(form)
        if case .ambiguous = outcome, environment.configuration.compatibility.retriesUnansweredRefreshes {
            outcome = try await endpoint.redeemRefreshToken(form)
        }
        switch outcome {
        case .accepted(let response): return response
        case .refused(let error), .ambiguous(let error): throw error
        }
    }

    /// - SeeAlso: [RFC 6749, Appendix A.17](https://www.rfc-editor.org/rfc/rfc6749#appendix-A.17)
    private static func check(_ refreshToken: String) throws {
        guard !refreshToken.isEmpty, refreshToken.utf8.count <= 65_536,
            refreshToken.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else {
            throw AuthenticationError(
                .invalidArgument,
                """
                This is no refresh token: it is empty, longer than 64 KiB, or has line ends or characters beyond ASCII. Give \
                the token alone.
                """
            )
        }
    }
}
