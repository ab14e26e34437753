// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension FlowEnvironment {
    /// The provider that a sign-in goes to, when all that can be known beforehand speaks for it.
    ///
    /// - Parameter named: The call's own authority, or `nil` for the configured one.
    func signInTarget(
        _ named: Authority?,
        scopes: Set<Scope>,
        requiresPersistence: Bool,
        _ context: RequestContext
    ) async throws -> (Authority, AuthorityMetadata) {
        let authority = named ?? configuration.authority
        try named?.checkFits(configuration.authority)
        try configuration.checkNamesOpenID(scopes, at: authority)
        try await PersistenceCheck(environment: self, context: context).run(isRequired: requiresPersistence)
        return (authority, try await resolver.metadata(for: authority, context: context))
    }
}
