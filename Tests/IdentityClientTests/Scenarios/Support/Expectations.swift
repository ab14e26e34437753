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

/// Asks again until it is so, for at most ten seconds.
func eventually(
    _ what: Comment,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + .seconds(10)
    while try await !condition() {
        try #require(ContinuousClock.now < deadline, what, sourceLocation: sourceLocation)
        try await Task.sleep(for: .milliseconds(2))
    }
}
