// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Waits for an answer from the browser while it is opened, which may take until it has loaded the page.
///
/// - Returns: The answer, also where the browser's launcher does not come back.
/// - Throws: What either throws, or `CancellationError`.
func answer<Value: Sendable>(
    whileOpening open: @escaping @Sendable () async throws -> Void,
    _ answer: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let result = SharedResult<Value>()
    let opener = Task {
        do { try await open() } catch { result.finish(.failure(error)) }
    }
    let receiver = Task { await result.finish(by: answer) }
    defer {
        opener.cancel()
        receiver.cancel()
    }
    return try await result.value()
}

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
