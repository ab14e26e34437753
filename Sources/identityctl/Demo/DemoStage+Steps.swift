// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting

/// A step did not do what it shows.
struct DemoFailure: Error, CustomStringConvertible {
    let expectation: String

    var description: String { "The demo did not go as it should. Expected: \(expectation)." }
}

extension DemoStage {
    static let people = [TestIdentityProvider.Person.alice, .bob]

    func heading(_ text: String) throws {
        try say()
        try say(text)
    }

    func expect(_ condition: Bool, _ expectation: String) throws {
        guard condition else { throw DemoFailure(expectation: expectation) }
    }

    func requests(since count: Int) -> String {
        let new = provider.requests.count - count
        return "\(new) \(new == 1 ? "request" : "requests")"
    }

    func silent(_ account: Account, forcesRefresh: Bool = false) async throws -> AuthenticationResult {
        try await application.acquireTokenSilently(
            SilentParameters(scopes: Self.scopes, account: account, forcesRefresh: forcesRefresh)
        )
    }

    /// Runs this program once more, at the same provider and with the same files.
    func secondProcess(_ arguments: String...) async throws -> ChildProcess.Outcome {
        let common = ["--client-id", Self.clientID, "--issuer", issuer, "--cache", "file:\(cacheDirectory)"]
        let scopes = arguments.first == "token" ? Self.scopes.flatMap { ["--scope", $0.rawValue] } : []
        return try await ChildProcess.run(arguments + common + scopes)
    }

    func timed<Value>(_ work: () async throws -> Value) async rethrows -> (Value, String) {
        let start = ContinuousClock.now
        let value = try await work()
        return (value, (ContinuousClock.now - start).shortText)
    }
}
