// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

/// Runs `work`, which must throw, and returns its error.
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

/// Returns when `condition` holds, or throws when the test's time limit is reached.
func wait(until condition: () async throws -> Bool) async throws {
    while try await !condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}
