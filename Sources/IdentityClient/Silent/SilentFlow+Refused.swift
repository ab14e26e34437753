// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension SilentFlow {
    /// Returns a token other than one that a server has refused: another caller may have renewed it already.
    func run(
        _ parameters: SilentParameters,
        insteadOf refused: AuthenticationResult
    ) async throws -> AuthenticationResult {
        let current = try await run(parameters)
        guard current.accessToken == refused.accessToken else { return current }
        var parameters = parameters
        parameters.forcesRefresh = true
        return try await run(parameters)
    }
}
