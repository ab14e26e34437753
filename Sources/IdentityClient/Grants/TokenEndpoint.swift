// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// Redeems a code or a refresh token.
///
/// A code is sent only once, because a second attempt would look like theft. A refresh token is sent once more after an
/// ambiguous answer, because a server with a grace period then gives the same answer again. A program can turn that
/// off. If the request was never sent, the failure is not ambiguous.
/// - SeeAlso: [RFC 6749 §4.1.3](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3) and
///   [§6](https://www.rfc-editor.org/rfc/rfc6749#section-6)
struct TokenEndpoint: Sendable {
    let client: EndpointClient
    let authority: Authority
    let metadata: ProviderMetadata
    let clock: any WallClock
    let context: RequestContext
    /// The program's own parameters, which every grant but a token exchange is sent with.
    var parameters: [(String, String)] = []

    /// - Parameter grant: The kind of credential; `nil` for one of the program's choice.
    func redeem(_ form: [(String, String)], grant: GrantType?) async throws -> TokenResponse {
        switch try await send(form, grant: grant) {
        case .accepted(let response): return response
        case .refused(let error), .ambiguous(let error): throw error
        }
    }

    /// Redeems a refresh token. The outcome is ambiguous if the request may have reached the server and no answer came.
    func redeemRefreshToken(_ form: [(String, String)]) async throws -> EndpointOutcome<TokenResponse> {
        do {
            return try await send(form, grant: .refreshToken)
        } catch let error as AuthenticationError where .network ~= error.code && error.mayHaveReachedTheServer {
            return .ambiguous(error)
        }
    }

    /// Sends one request and returns the outcome, whatever it is.
    func send(_ form: [(String, String)], grant: GrantType?) async throws -> EndpointOutcome<TokenResponse> {
        let (response, body) = try await client.post(
            grant == .tokenExchange ? form : form + parameters,
            to: metadata.tokenEndpoint,
            secretIn: metadata.clientSecretPlace,
            context: context,
            authority: authority
        )
        return EndpointOutcome<TokenResponse>(response, body, grant: grant, now: clock.unixSeconds, context: context)
    }
}

extension TokenEndpoint {
    init(
        _ environment: FlowEnvironment,
        _ authority: Authority,
        _ metadata: ProviderMetadata,
        _ context: RequestContext
    ) {
        self.init(
            client: environment.client,
            authority: authority,
            metadata: metadata,
            clock: environment.clock,
            context: context,
            parameters: environment.tokenParameters
        )
    }
}

extension AuthenticationError {
    /// Whether the server may have acted on the request although no answer came.
    fileprivate var mayHaveReachedTheServer: Bool {
        if let failure = underlyingError as? CurlFailure, !failure.wasSent { return false }
        return ![.nameNotResolved, .tlsFailed, .proxyFailed, .transportUnavailable].contains(code)
    }
}
