// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension FlowEnvironment {
    /// Returns the key for tokens of a scheme; `nil` for bearer tokens, which need none.
    ///
    /// - Throws: `.cache` if the key cannot be read or stored.
    func proof(_ scheme: AuthenticationScheme) async throws -> TokenProof? {
        scheme == .bearer ? nil : TokenProof(scheme: scheme, key: try await possessionKeys.key())
    }
}

extension AuthenticationError {
    /// The brokers' interface does not say enough about bound tokens to ask for one.
    static func brokerWithoutProof(_ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            .unsupported,
            "No token that is bound to the program's key (PoP) is asked of an identity broker. Allow the browser as well "
                + "(whenAvailable), or use bearer tokens.",
            correlationID: context.correlationID
        )
    }
}
