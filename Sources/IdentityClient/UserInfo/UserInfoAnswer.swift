// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import OAuthWire

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
            throw AuthenticationError(
                .unsupported,
                """
                The UserInfo endpoint answered with encrypted claims, and this client has no key to decrypt them. Configure \
                the client there for signed or plain answers.
                """,
                correlationID: context.correlationID
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
        AuthenticationError(
            .invalidResponse,
            "The signed UserInfo answer is not believed: \(reason)",
            correlationID: context.correlationID
        )
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
            return AuthenticationError(
                isAboutScopes ? .insufficientScope : .insufficientUserAuthentication,
                "The UserInfo endpoint demands more of the sign-in. Sign in interactively with this error's challenge.",
                challenge: challenge,
                correlationID: context.correlationID
            )
        }
        if status == 401 {
            return AuthenticationError(
                .loginRequired,
                "The UserInfo endpoint refuses a new access token. Sign in again, with the scope openid.",
                correlationID: context.correlationID
            )
        }
        let now = environment.clock.unixSeconds
        switch EndpointOutcome<JSONObject>(response, body, grant: nil, now: now, context: context) {
        case .refused(let error), .ambiguous(let error): return error
        case .accepted: return .malformed("UserInfo came with status \(status), not 200", context)
        }
    }
}
