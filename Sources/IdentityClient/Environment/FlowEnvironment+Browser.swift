// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension FlowEnvironment {
    /// Opens an address in the browser. A program's own launcher may throw any error.
    ///
    /// - Throws: The launcher's error, or `advice` if that is not an ``AuthenticationError``.
    func open(_ url: URL, elseSaying advice: String, _ context: RequestContext) async throws {
        do {
            try await configuration.browser.open(url)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw error as? AuthenticationError
                ?? AuthenticationError(
                    .browserUnavailable,
                    advice,
                    correlationID: context.correlationID,
                    underlyingError: error
                )
        }
    }
}
