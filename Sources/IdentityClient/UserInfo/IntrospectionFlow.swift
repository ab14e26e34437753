// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import OAuthWire

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
        let token = try await SilentFlow(refresher: refresher).run(parameters)
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
            throw AuthenticationError(
                .unsupported,
                "The provider publishes no endpoint that tells about tokens (introspection_endpoint).",
                correlationID: context.correlationID
            )
        }
        guard authority.accepts(endpoint: endpoint) else {
            throw AuthenticationError(
                .untrustedAuthority,
                """
                The configuration of \(authority.url) names an introspection endpoint that is not https, or on a foreign host: \
                '\(WireText.clean(endpoint).prefix(200))'. Nothing was sent to it.
                """,
                correlationID: context.correlationID
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
            throw AuthenticationError(
                .clientNotRegistered,
                """
                The provider does not tell this client about tokens. Many answer only clients with a secret (RFC 7662 §2.1): \
                call an API with the token instead, which refuses it if it is no longer good.
                """,
                serverError: error.serverError,
                correlationID: error.correlationID,
                timestamp: error.timestamp
            )
        case .refused(let error), .ambiguous(let error): throw error
        }
    }
}
