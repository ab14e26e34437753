// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension FlowEnvironment {
    /// Opens an address in the browser. A launcher of the program's own may throw anything.
    ///
    /// - Throws: What the launcher says, or `advice` where that is no error of ours.
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
