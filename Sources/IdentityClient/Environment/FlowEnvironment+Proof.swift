// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension FlowEnvironment {
    /// Returns the key for tokens of a scheme; `nil` for bearer tokens, which need none.
    ///
    /// - Throws: `.cache` if the key cannot be read or stored.
    func proof(_ scheme: AuthenticationScheme) async throws -> TokenProof? {
        scheme == .bearer ? nil : TokenProof(scheme: scheme, key: try await possessionKeys.key())
    }
}
