// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension SilentFlow {
    /// Returns a token other than one that a server has refused: another caller, or another process, may have renewed it
    /// already.
    func run(
        _ parameters: SilentParameters,
        insteadOf refused: AuthenticationResult
    ) async throws -> AuthenticationResult {
        var parameters = parameters
        parameters.refusedToken = refused.accessToken
        return try await run(parameters)
    }
}
