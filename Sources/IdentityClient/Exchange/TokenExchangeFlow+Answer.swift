// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

// What an answer means.
extension TokenExchangeFlow {
    /// - Throws: `.malformedResponse` for an answer that leaves out or contradicts what the specification requires,
    ///   `.unsupported` for a token of another kind than requested.
    func result(of response: TokenResponse) throws -> TokenExchangeResult {
        if let fault = response.fault { throw AuthenticationError.malformed("\(fault)", context) }
        guard let token = response.accessToken, !token.isEmpty, token.utf8.count <= 65_536 else {
            throw AuthenticationError.malformed("it has no token (access_token)", context)
        }
        let type = SecurityToken.TypeIdentifier(rawValue: response.issuedTokenType ?? "")
        guard type.isWellFormed else {
            throw AuthenticationError.malformed("it does not say the kind of its token (issued_token_type)", context)
        }
        guard type.answers(parameters.requestedType) else {
            throw AuthenticationError(
                .unsupported,
                """
                The provider issued a token of another kind than requested (issued_token_type), so it is not used. Request \
                the kind that the provider issues, or none.
                """,
                correlationID: context.correlationID
            )
        }
        return TokenExchangeResult(
            token: SecurityToken(token, type: type),
            tokenType: try scheme(of: response, type),
            expiresOn: response.expiresIn.map {
                Date(timeIntervalSince1970: Double(environment.clock.unixSeconds) + Double($0))
            },
            scopes: response.scopes.map { Set($0.map(Scope.init(rawValue:))) } ?? parameters.scopes,
            refreshToken: response.refreshToken,
            correlationID: context.correlationID
        )
    }

    private func scheme(of response: TokenResponse, _ type: SecurityToken.TypeIdentifier) throws -> String {
        switch response.tokenType?.lowercased() {
        case "bearer": return "Bearer"
        case "n_a" where type != .accessToken: return "N_A"
        case nil: throw AuthenticationError.malformed("it does not say how its token is used (token_type)", context)
        default:
            throw AuthenticationError.malformed(
                "it has a token that is neither Bearer nor, for other than access tokens, N_A (token_type)",
                context
            )
        }
    }
}

extension SecurityToken.TypeIdentifier {
    /// Whether a token of this type is what was requested. An access token and an ID token may be a JWT.
    fileprivate func answers(_ requested: Self?) -> Bool {
        guard let requested, requested != self else { return true }
        let maybeJWT: Set<Self> = [.accessToken, .idToken]
        return requested == .jwt && maybeJWT.contains(self) || self == .jwt && maybeJWT.contains(requested)
    }
}
