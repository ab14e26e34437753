// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// The keys that tokens are bound to: each call that acquires one for an account finds its key here.
extension SilentFlow {
    /// Acquires a token of the account's sign-in, or of the scheme, with the key that it is bound to.
    ///
    /// - Parameter refused: A token that a server has refused. Another caller, or another process, may have renewed it already.
    func runProven(
        _ parameters: SilentParameters,
        at authority: Authority,
        insteadOf refused: AuthenticationResult? = nil
    ) async throws -> AuthenticationResult {
        var parameters = parameters
        if let refused { parameters.refusedToken = refused.accessToken }
        let proof = try await proof(for: parameters, at: authority)
        parameters.binding = proof?.binding
        do {
            return try await run(parameters).proven(by: proof)
        } catch let error as AuthenticationError where error.code == .accountRemoved && proof?.dpop != nil {
            // Another sign-in of the account, with another key, may have taken the place of the one that was read.
            guard let fresh = try await self.proof(for: parameters, at: authority), fresh.binding != proof?.binding
            else {
                throw error
            }
            parameters.binding = fresh.binding
            return try await run(parameters).proven(by: fresh)
        }
    }

    private func proof(for parameters: SilentParameters, at authority: Authority) async throws -> TokenProof? {
        guard authority.dpop != .off, parameters.scheme.isBearer else {
            return try await environment.proof(parameters.scheme, at: authority)
        }
        let id = RecordID(partition: authority.partition, accountID: parameters.account.id.rawValue)
        let credentials = try await environment.store.snapshot(for: id)?.credentials
        guard let key = credentials?.dpopKey else {
            guard authority.dpop != .required || credentials == nil else {
                throw AuthenticationError(
                    .noTokensFound,
                    "This sign-in has no key that its tokens are bound to, which the configuration requires: sign in interactively."
                )
            }
            return nil
        }
        return TokenProof(key)
    }
}
