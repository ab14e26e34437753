// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Synchronization
import SystemSupport
import Testing

@testable import identityctl

/// A token that is kept fresh, by a clock that the test moves.
@Suite(.timeLimit(.minutes(1))) struct TokenKeeperTests {
    /// Gives a new token when the last one is not good for as long as wanted, as the library does.
    private final class Source: TokenSource {
        private struct State {
            var count = 0
            var lifetime = Duration.seconds(3600)
            var failure: (any Error)?
            var last: HandedToken?
            var requests: [WantedToken] = []
        }

        private let state = Mutex(State())
        let clock: ManualClock

        init(_ clock: ManualClock) {
            self.clock = clock
        }

        /// - Parameter failure: The error of every renewal from now on.
        func set(lifetime: Duration? = nil, failure: (any Error)?) {
            state.withLock {
                $0.failure = failure
                $0.lifetime = lifetime ?? $0.lifetime
            }
        }

        var requests: [WantedToken] { state.withLock { $0.requests } }

        func token(_ wanted: WantedToken) throws -> HandedToken {
            try state.withLock { state in
                state.requests.append(wanted)
                let left = state.last?.left(at: clock.now) ?? .zero
                let isForced = wanted.forcesRefresh
                if let last = state.last, !isForced, left > wanted.minimumValidity { return last }
                if let failure = state.failure {
                    if let last = state.last, !isForced, left > .zero { return last }
                    throw failure
                }
                state.count += 1
                let end = clock.now.addingTimeInterval(Double(state.lifetime.components.seconds))
                let token = HandedToken(
                    result: AuthenticationResult(
                        accessToken: "token-\(state.count)",
                        expiresOn: end,
                        scopes: [],
                        account: Account(id: Account.ID(rawValue: "alice"), environment: "id.test"),
                        source: .identityProvider
                    )
                )
                state.last = token
                return token
            }
        }
    }

    private let directory: TemporaryDirectory
    private let clock = ManualClock()
    private let source: Source
    private let screen = Screen()
    private var path: String { directory.path + "/token" }
    private var text: String? { FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } }
    private let unreachable = AuthenticationError(.connectionFailed, "No connection.")

    init() throws {
        directory = try TemporaryDirectory()
        source = Source(clock)
    }

    private static func wanted() throws -> WantedToken {
        try WantedToken(.parse([]), .parse([]), .parse([]), Variables([:]))
    }

    /// Runs a keeper beside `body`, which begins with the first token in the file.
    ///
    /// - Returns: The error with which the keeper ended.
    private func keeping(
        validity: Duration? = nil,
        endsOnLastingErrors: Bool = true,
        _ body: (Task<Void, any Error>) async throws -> Void
    ) async throws -> (any Error)? {
        let source = source
        let keeper = TokenKeeper(
            file: TokenFile(path, isLocked: true),
            clock: clock,
            console: screen.console(columns: nil, isTerminal: false),
            validity: validity,
            draw: { _ in 0 },
            endsOnLastingErrors: endsOnLastingErrors,
            wanted: try Self.wanted(),
            source: source,
            describe: { PlainReport.sentence($0) }
        )
        let work = Task { try await keeper.run { _ in } }
        defer { work.cancel() }
        try await clock.waitForSleepers()
        try await body(work)
        work.cancel()
        switch await work.result {
        case .success: return nil
        case .failure(let error): return error
        }
    }

    private func advance(by seconds: Int) async throws {
        clock.advance(by: .seconds(seconds))
        try await clock.waitForSleepers()
    }

    @Test func renewsFiveMinutesBeforeTheEndAndRemovesTheFile() async throws {
        let error = try await keeping { _ in
            #expect(text == "token-1")
            try await advance(by: 3299)
            #expect(text == "token-1")
            try await advance(by: 1)
            #expect(text == "token-2")
            let last = try #require(source.requests.last)
            #expect(last.minimumValidity == .seconds(301) && last.account?.text == "alice" && !last.forcesRefresh)
        }
        #expect(error is CancellationError && text == nil && screen.text.isEmpty)
    }

    @Test(
        arguments: [
            // The lifetime, the wanted validity, and how long the first token stays.
            (60, nil, 30), (3600, 3000, 600), (600, 3000, 60), (3600, 60, 3540),
        ] as [(Int, Int?, Int)]
    )
    func renewsInTimeForTheWantedValidity(_ lifetime: Int, _ validity: Int?, _ life: Int) async throws {
        source.set(lifetime: .seconds(lifetime), failure: nil)
        _ = try await keeping(validity: validity.map { .seconds($0) }) { _ in
            try await advance(by: life - 1)
            #expect(text == "token-1")
            try await advance(by: 1)
            #expect(text == "token-2")
        }
    }

    @Test func keepsTheFileWhileTheProviderIsUnreachableAndSaysSoOnce() async throws {
        _ = try await keeping { _ in
            source.set(failure: unreachable)
            try await advance(by: 3300)
            let told = "could not be renewed, and is good for 300 s more. Trying on. No connection."
            #expect(screen.text.hasPrefix("Warning: the token in \(path) \(told)"), "\(screen.text)")
            // The one forced renewal tells the reason.
            #expect(source.requests.suffix(2).map(\.forcesRefresh) == [false, true])
            let before = source.requests.count
            for wait in [5, 10, 20, 40, 60, 60, 60, 60, 60] { try await advance(by: wait) }
            #expect(source.requests.count == before + 9)
            #expect(text == "token-1" && screen.text.split(separator: "\n").count == 1, "\(screen.text)")
            source.set(failure: nil)
            try await advance(by: 60)
            #expect(text == "token-2")
            #expect(screen.text.hasSuffix("The token in \(path) is fresh again.\n"), "\(screen.text)")
            try await advance(by: 60)
            #expect(screen.text.split(separator: "\n").count == 2)
        }
    }

    @Test func endsWhenAPersonHasToSignIn() async throws {
        let error = try await keeping { work in
            source.set(failure: AuthenticationError(.signInExpired, "Sign in."))
            try await advance(by: 3300)
            #expect(text == "token-1" && screen.text.contains("Sign in."))
            // Until its end the token is good.
            clock.advance(by: .seconds(300))
            _ = try await withDeadline(.seconds(10)) { await work.result }
        }
        #expect((error as? AuthenticationError)?.code == .signInExpired && text == nil)
    }

    @Test func waitsForAPersonWhereACommandStillRuns() async throws {
        let error = try await keeping(endsOnLastingErrors: false) { _ in
            source.set(failure: AuthenticationError(.signInExpired, "Sign in."))
            try await advance(by: 3601)
            #expect(text == "token-1" && screen.text.contains("has expired"), "\(screen.text)")
            source.set(failure: nil)
            try await advance(by: 5)
            #expect(text == "token-2")
        }
        #expect(error is CancellationError)
    }

    @Test func writesAgainAfterTheFileWasRemovedOrReplaced() async throws {
        _ = try await keeping { _ in
            try FileManager.default.removeItem(atPath: path)
            try await advance(by: 60)
            #expect(text == "token-1")
            try FileManager.default.removeItem(atPath: path)
            #expect(FileManager.default.createFile(atPath: path, contents: Data("another's".utf8)))
            try await advance(by: 60)
            #expect(text == "token-1")
        }
    }

    @Test func keepsTryingToWrite() async throws {
        _ = try await keeping { _ in
            try FileManager.default.removeItem(atPath: directory.path)
            try await advance(by: 3300)
            #expect(screen.text.contains("could not be written"), "\(screen.text)")
            try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: false)
            try await advance(by: 5)
            #expect(text == "token-2" && screen.text.contains("is fresh again"), "\(screen.text)")
        }
    }

    @Test func leavesTheFileToAnotherKeeper() async throws {
        let other = TokenFile(path, isLocked: true)
        let error = try await keeping { work in
            try FileManager.default.removeItem(atPath: path)
            try other.write("another's")
            clock.advance(by: .seconds(60))
            _ = try await withDeadline(.seconds(10)) { await work.result }
        }
        #expect(error is SystemFailure && text == "another's" && other.isInPlace)
    }

    @Test func failsWithTheErrorOfTheFirstToken() async throws {
        source.set(failure: unreachable)
        let keeper = TokenKeeper(
            file: TokenFile(path),
            clock: clock,
            console: screen.console(columns: nil, isTerminal: false),
            validity: nil,
            draw: { _ in 0 },
            endsOnLastingErrors: false,
            wanted: try Self.wanted(),
            source: source,
            describe: { "\($0)" }
        )
        await #expect(throws: AuthenticationError.self) { try await keeper.run { _ in } }
        #expect(text == nil && screen.text.isEmpty)
    }
}
