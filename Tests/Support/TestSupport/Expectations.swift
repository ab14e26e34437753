// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import IdentityClient
package import Testing

/// Runs `work`, which must throw, and returns its error.
@discardableResult
package func expectError<Value: Sendable>(
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

package struct MissingError: Error {
    package init() {}
}

/// Returns when `condition` holds, or throws when the test's time is over.
package func wait(until condition: () async throws -> Bool) async throws {
    while try await !condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}

/// Looks again until it holds; `false` when it does not in time.
package func happens(within limit: Duration = .seconds(10), _ condition: () -> Bool) async -> Bool {
    let deadline = ContinuousClock.now.advanced(by: limit)
    while ContinuousClock.now < deadline {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(2))  // a cancelled test looks without pausing
    }
    return condition()
}
