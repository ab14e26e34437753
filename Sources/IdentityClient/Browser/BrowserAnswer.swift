// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Waits for an answer from the browser while it is opened, which may take until it has loaded the page.
///
/// - Returns: The answer, also where the browser's launcher does not come back.
/// - Throws: What either throws, or `CancellationError`.
func answer<Value: Sendable>(
    whileOpening open: @escaping @Sendable () async throws -> Void,
    _ answer: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let result = Promise<Value>()
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
