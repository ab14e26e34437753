// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging

/// Finds out whether a sign-in could be kept, before the person begins with it.
struct PersistenceCheck: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// - Parameter isRequired: Whether a cache that cannot be written ends the sign-in. It is asked in any case: a keyring
    ///   that is to be unlocked is unlocked now, and not behind the browser.
    /// - Throws: What the cache says, as `.cache`, where it is required; `CancellationError`.
    func run(isRequired: Bool) async throws {
        do {
            try await environment.store.checkWritable()
        } catch let error as AuthenticationError where !isRequired {
            context.logger.info(
                "What this sign-in yields cannot be kept now",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
        }
    }
}
