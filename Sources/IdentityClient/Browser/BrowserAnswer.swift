// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Opens the browser and waits for its answer. Opening may last until the browser has loaded the page.
///
/// - Returns: The answer, even if the browser's launcher does not return.
/// - Throws: The error of either, or `CancellationError`.
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
