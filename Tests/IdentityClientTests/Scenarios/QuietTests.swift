// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Logging
import Testing

/// A program that sets no logger has one that prints to standard error from `info` on: a person reads there what the library
/// says to the program's maker.
@Suite(.timeLimit(.minutes(1)))
struct QuietTests {
    @Test func printsOnlyThatASignInIsNotStored() async throws {
        #expect(try await linesOfTroubles(from: .debug).count >= 4)
        let lines = try await linesOfTroubles(from: .info)
        #expect(lines.count == 1 && lines[0].contains("The sign-in is not stored"), "\(lines)")
    }

    /// Tokens that cannot be kept, a refresh that fails in the background, a sign-in and a sign-out that are not remembered.
    private func linesOfTroubles(from level: Logger.Level) async throws -> [String] {
        let lines = Shared<[String]>([])
        let cache = UnreliableCache()
        let setup = try TestSetup(cache: cache) { $0.refreshIn = .seconds(60) }
        let application = try setup.application { $0.logger = .keeping(lines, from: level) }
        cache.refusedWrites = [.account, .application]
        let account = try await application.acquireTokenInteractively(scopes: ["api.read"]).account
        cache.refusedWrites = [.application]
        setup.clock.advance(by: .seconds(360))
        setup.provider.failAlways(.token, with: .serverError())
        #expect(try await application.acquireTokenSilently(scopes: ["api.read"], account: account).source == .cache)
        try await application.finishPendingWork(within: .seconds(15))
        try await application.remove(account)
        return lines.value
    }
}
