// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

extension FlowEnvironment {
    /// Returns the provider that a sign-in goes to, after every check that is possible beforehand.
    ///
    /// - Parameters:
    ///   - named: The call's own authority, or `nil` for the configured authority.
    ///   - account: The account to sign in, whose cloud it is; `nil` if the call names none.
    func signInTarget(
        _ named: Authority?,
        for account: Account?,
        scopes: Set<Scope>,
        requiresPersistence: Bool,
        _ context: RequestContext
    ) async throws -> (Authority, ProviderMetadata) {
        let authority = try clouds.authority(named, of: account)
        try configuration.checkNamesOpenID(scopes, at: authority)
        try await checkPersistence(isRequired: requiresPersistence, context)
        return (authority, try await resolver.metadata(for: authority, context: context))
    }

    /// Checks, before the person begins, whether the tokens of a sign-in can be stored.
    ///
    /// - Parameter isRequired: Whether a cache that cannot be written ends the sign-in. The cache is checked in any
    ///   case, so that a locked keyring is unlocked now rather than behind the browser.
    /// - Throws: The cache's error, as `.cache`, if `isRequired` is `true`; `CancellationError`.
    private func checkPersistence(isRequired: Bool, _ context: RequestContext) async throws {
        do {
            try await store.checkWritable()
        } catch let error as AuthenticationError where !isRequired {
            context.logger.debug(
                "The tokens of this sign-in cannot be stored now",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
        }
    }
}
