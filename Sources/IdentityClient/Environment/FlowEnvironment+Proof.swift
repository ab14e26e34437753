// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension FlowEnvironment {
    /// Returns the key for tokens of a scheme; `nil` for bearer tokens, which need none.
    ///
    /// - Throws: `.cache` if the key cannot be read or stored; `.unsupported` if the authority has no tokens of the scheme.
    func proof(_ scheme: AuthenticationScheme, at authority: Authority) async throws -> TokenProof? {
        if scheme.isBearer { return nil }
        guard let key = scheme.sshKey else {
            let key = try await possessionKeys.key()
            return TokenProof(binding: TokenBinding(scheme: scheme, keyID: key.keyID), key: key)
        }
        guard case .entra = authority.kind else {
            throw AuthenticationError(
                .unsupported,
                "SSH certificates are issued by Entra ID only. Name it as the authority."
            )
        }
        return TokenProof(binding: TokenBinding(scheme: scheme, keyID: key.thumbprint), key: nil)
    }
}

extension AuthenticationError {
    /// Throws for a scheme whose tokens no broker is asked for: what its certificates are bound to is not known.
    static func checkBrokerKnows(_ scheme: AuthenticationScheme?, _ context: RequestContext) throws {
        guard scheme?.sshKey != nil else { return }
        throw AuthenticationError(
            .unsupported,
            "No SSH certificate is asked of an identity broker. Allow the browser as well (whenAvailable).",
            correlationID: context.correlationID
        )
    }
}
