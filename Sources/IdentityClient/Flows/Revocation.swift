// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

/// Tells the server that a token is not wanted any more.
///
/// - SeeAlso: [RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)
struct Revocation: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// For tokens that came after their account was signed out. Best effort: they are dropped either way.
    func revokeUnwanted(_ grant: TokenGrant, _ authority: Authority, _ metadata: AuthorityMetadata) async {
        guard let endpoint = metadata.revocationEndpoint, let token = grant.response.refreshToken else { return }
        let form = RevocationRequestMessage.items(
            clientID: environment.clientID,
            token: token,
            tokenTypeHint: "refresh_token"
        )
        do {
            _ = try await environment.client.post(form, to: endpoint, context: context, authority: authority)
        } catch {
            context.logger.debug("Tokens that are not wanted could not be revoked")
        }
    }
}
