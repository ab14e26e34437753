// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

// The address for the browser: with the whole request or, once the request has been pushed to the provider, with a
// reference to it.
extension AuthorizationPreparation {
    /// Returns the address to open, and the time until which the provider accepts it, if the provider says so.
    ///
    /// - Throws: An error when the request has to be pushed and the provider does not accept it. The browser is then
    ///   not opened with the whole request, which would reveal what pushing hides.
    func address(for message: AuthorizationRequestMessage) async throws -> (url: URL, expiresOn: Date?) {
        guard let endpoint = pushEndpoint else { return (try url(with: message.items), nil) }
        let pushed = try await push(message, to: endpoint)
        return (
            try url(with: [("client_id", message.clientID), ("request_uri", pushed.requestURI)]),
            environment.clock.now.addingTimeInterval(Double(pushed.expiresIn))
        )
    }

    /// Throws if the provider accepts pushed requests only but publishes no endpoint for them.
    func checkPushing() throws {
        guard metadata.requiresPushedAuthorizationRequests, metadata.pushedAuthorizationRequestEndpoint == nil else {
            return
        }
        throw AuthenticationError(
            .unsupported,
            """
            The provider requires pushed authorization requests and publishes no pushed_authorization_request_endpoint. \
            Ask its administrator to publish it.
            """,
            correlationID: context.correlationID
        )
    }

    /// The endpoint to which the request is pushed; `nil` if it is not pushed.
    var pushEndpoint: String? {
        let isWanted = environment.configuration.compatibility.pushedAuthorizationRequests == .whenOffered
        return isWanted || metadata.requiresPushedAuthorizationRequests
            ? metadata.pushedAuthorizationRequestEndpoint : nil
    }

    /// - SeeAlso: [RFC 9126 §2](https://www.rfc-editor.org/rfc/rfc9126#section-2)
    private func push(
        _ message: AuthorizationRequestMessage,
        to endpoint: String
    ) async throws -> PushedAuthorizationResponse {
        let (response, body) = try await environment.client.post(
            message.items,
            to: endpoint,
            secretIn: metadata.clientSecretPlace,
            context: context,
            authority: authority
        )
        let now = environment.clock.unixSeconds
        let own = parameters.scopes.union(parameters.extraScopesToConsent)
        let json = try EndpointOutcome<JSONObject>(response, body, grant: nil, now: now, context: context)
            .members(asking: message.scopes, beyond: own)
        do {
            return try PushedAuthorizationResponse(json)
        } catch {
            throw AuthenticationError(
                .malformedResponse,
                """
                The provider's answer to the pushed authorization request cannot be used: \(error). Sign-ins fail until \
                the provider corrects this. Tell its administrator.
                """,
                correlationID: context.correlationID
            )
        }
    }

    private func url(with items: [(String, String)]) throws -> URL {
        try URL.forBrowser("authorization address", at: metadata.authorizationEndpoint, with: items)
    }
}
