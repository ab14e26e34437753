// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The flow that redeems a grant of the program's choice, and stores the answer like a sign-in.
///
/// - SeeAlso: [RFC 6749 §4.5](https://www.rfc-editor.org/rfc/rfc6749#section-4.5)
struct ExtensionGrantFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let authority: Authority?
    let wanted: Account?
    let scopes: Set<Scope>

    func run(_ grantType: String, _ parameters: [String: String]) async throws -> AuthenticationResult {
        try Self.check(grantType)
        let items = try checked(parameters)
        let signIn = try await SignIn(environment, context, at: authority, for: wanted, scopes: scopes)
        let form = TokenRequestMessage.extensionGrant(
            clientID: environment.clientID,
            grantType: grantType,
            parameters: items,
            scopes: signIn.asked,
            claims: signIn.repeated.claims,
            clientInfo: signIn.authority.hasHomeAccounts
        )
        let response: TokenResponse
        do {
            response = try await signIn.endpoint.redeem(form, grant: nil)
        } catch let error as AuthenticationError {
            throw explaining(error)
        }
        return try await signIn.finish(
            response,
            withoutIDToken: """
                The provider gives no ID token with this grant, so it does not say who the person is. Nothing was stored. Name \
                the provider as a plain OAuth 2.0 server, or sign in interactively.
                """
        )
    }

    /// Says what a refusal means for a grant that the program has chosen. No sign-in would change what it refuses.
    private func explaining(_ error: AuthenticationError) -> AuthenticationError {
        guard let word = error.serverError?.error else { return error }
        let said: (code: AuthenticationError.Code, message: String)
        switch (word, error.code) {
        case ("unsupported_grant_type", .unsupported):
            said = (
                .unsupported, "The provider does not have this grant (grant_type). Ask its administrator to allow it."
            )
        case ("invalid_grant", .loginRequired):
            said = (
                .configuration,
                """
                The provider does not accept the grant's parameters. An assertion may have expired, or have been used before, \
                or be for another provider or client: get a new one.
                """
            )
        default: return error
        }
        return error.saying(said.code, said.message)
    }
}

// The checks before anything is sent.
extension ExtensionGrantFlow {
    /// The grants that have calls of their own, or none, and what to do.
    private static let others: [String: String] = [
        GrantType.authorizationCode.rawValue: "Call acquireTokenInteractively.",
        GrantType.deviceCode.rawValue: "Call acquireTokenWithDeviceCode.",
        GrantType.refreshToken.rawValue:
            "Call acquireTokenSilently, or acquireToken(byRefreshToken:) for a token from elsewhere.",
        GrantType.tokenExchange.rawValue: "Call exchangeToken.",
        "password": "RFC 9700 §2.4 forbids it. Sign in interactively.",
        "client_credentials": "It gives tokens of the program, not of a person.",
    ]

    private static func check(_ grantType: String) throws {
        guard (1...1024).contains(grantType.utf8.count), grantType.utf8.areVisible else {
            throw AuthenticationError(
                .invalidArgument,
                "The grant type is empty, longer than 1,024 bytes, or has other than visible ASCII characters."
            )
        }
        guard let advice = others[grantType.lowercased()] else { return }
        throw AuthenticationError(.invalidArgument, "The grant \(grantType) cannot be chosen. \(advice)")
    }

    /// - SeeAlso: [RFC 9700 §2.4](https://www.rfc-editor.org/rfc/rfc9700#section-2.4)
    private func checked(_ parameters: [String: String]) throws -> [(String, String)] {
        let taken = environment.tokenParameters.map(\.0)
        guard parameters.count <= 50, parameters.allSatisfy({ !taken.contains($0.key) }) else {
            throw AuthenticationError(
                .invalidArgument,
                "The grant has more than 50 parameters, or one that each request for a token has already."
            )
        }
        return try ExtraItems.checkedForm(
            parameters,
            reserved: TokenRequestMessage.reservedInAnyGrant,
            atMost: 65_536
        )
    }
}

/// The flow that takes a refresh token over from another library: redeems it at once, and stores the answer like a sign-in.
struct RefreshTokenImport: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let authority: Authority?
    let scopes: Set<Scope>

    func run(_ refreshToken: String) async throws -> AuthenticationResult {
        try Self.check(refreshToken)
        guard environment.configuration.dpop != .required else {
            throw context.error(
                .unsupported,
                """
                A refresh token from elsewhere is bound to no key of this program, which the configuration requires (DPoP). \
                Nothing was sent. Sign in interactively.
                """
            )
        }
        // All that may fail comes first, because the provider may give another token for this one.
        var signIn = try await SignIn(environment, context, at: authority, scopes: scopes, requiresPersistence: true)
        try await signIn.fetchKeys()
        // At Microsoft, a refresh token serves any API, so a request names its scopes. Elsewhere one that was not granted
        // would be refused; without any, the server gives the granted ones (RFC 6749 §6), the person's name among them.
        if !signIn.authority.isMicrosoft { signIn.asked = try scopes.checked() }
        signIn.revokesUnwanted = false
        let form = TokenRequestMessage.refreshToken(
            clientID: environment.clientID,
            refreshToken: refreshToken,
            scopes: signIn.repeated.scopes,
            claims: signIn.repeated.claims,
            clientInfo: signIn.authority.hasHomeAccounts
        )
        var response = try await signIn.endpoint.redeemOwnRefreshToken(form)
        // Without another one in the answer, it stays valid.
        response.refreshToken = response.refreshToken ?? refreshToken
        return try await signIn.finish(
            response,
            withoutIDToken: """
                The provider accepted the refresh token, but sends no ID token with a refresh, so it does not say whose it \
                is. Nothing was stored. Sign in interactively.
                """
        )
    }

    /// - SeeAlso: [RFC 6749, Appendix A.17](https://www.rfc-editor.org/rfc/rfc6749#appendix-A.17)
    private static func check(_ refreshToken: String) throws {
        guard !refreshToken.isEmpty, refreshToken.utf8.count <= 65_536,
            refreshToken.utf8.arePrintable
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
