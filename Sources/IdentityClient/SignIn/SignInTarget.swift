// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension FlowEnvironment {
    /// Returns the provider that a sign-in goes to, after every check that is possible beforehand.
    ///
    /// - Parameter named: The call's own authority, or `nil` for the configured authority.
    func signInTarget(
        _ named: Authority?,
        scopes: Set<Scope>,
        requiresPersistence: Bool,
        _ context: RequestContext
    ) async throws -> (Authority, ProviderMetadata) {
        let authority = named ?? configuration.authority
        try named?.checkFits(configuration.authority)
        try configuration.checkNamesOpenID(scopes, at: authority)
        try await PersistenceCheck(environment: self, context: context).run(isRequired: requiresPersistence)
        return (authority, try await resolver.metadata(for: authority, context: context))
    }
}
