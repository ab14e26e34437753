// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

/// Runs `work` and gives the error it has to end with.
@discardableResult
func expectError<Value: Sendable>(
    _ code: AuthenticationError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ work: () async throws -> Value
) async throws -> AuthenticationError {
    do {
        _ = try await work()
    } catch let error as AuthenticationError {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
        return error
    }
    Issue.record("Nothing was thrown where \(code) was expected.", sourceLocation: sourceLocation)
    throw MissingError()
}

struct MissingError: Error {}

/// Asks again until it is so.
///
/// - Returns: `false` when it is not so after ten seconds.
func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(10)
    while try await !condition() {
        guard ContinuousClock.now < deadline else { return false }
        _ = try? await Task.sleep(for: .milliseconds(5))  // where the test is cancelled, it asks without a pause
    }
    return true
}
