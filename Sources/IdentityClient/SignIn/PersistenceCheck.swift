// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging

/// A check, before the person begins, whether the tokens of a sign-in can be stored.
struct PersistenceCheck: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// Runs the check.
    ///
    /// - Parameter isRequired: Whether a cache that cannot be written ends the sign-in. The cache is checked in any
    ///   case, so that a locked keyring is unlocked now rather than behind the browser.
    /// - Throws: The cache's error, as `.cache`, if `isRequired` is `true`; `CancellationError`.
    func run(isRequired: Bool) async throws {
        do {
            try await environment.store.checkWritable()
        } catch let error as AuthenticationError where !isRequired {
            context.logger.debug(
                "The tokens of this sign-in cannot be stored now",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
        }
    }
}
