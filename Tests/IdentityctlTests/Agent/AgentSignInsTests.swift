// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient
import Logging
import Synchronization
import SystemSupport
import Testing

@testable import identityctl

/// Reminders of a sign-in.
@Suite struct AgentSignInsTests {
    /// A desktop that tells what it shows, and is told what the person does.
    private final class Desktop: Sendable {
        let shown: AsyncStream<Notice>
        private let source: AsyncStream<Notice>.Continuation
        private let answers: Mutex<[Promise<String?>]>
        let signIns = Mutex(0)

        init(_ answers: [Promise<String?>]) {
            (shown, source) = AsyncStream.makeStream()
            self.answers = Mutex(answers)
        }

        func signIns(_ succeeds: Bool = true) -> AgentSignIns {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            return AgentSignIns(
                show: { [self] notice, _ in
                    let answer = answers.withLock { $0.isEmpty ? Promise() : $0.removeFirst() }
                    source.yield(notice)
                    return try await answer.value()
                },
                logger: logger,
                signIn: { [self] _ in
                    signIns.withLock { $0 += 1 }
                    return succeeds
                }
            )
        }
    }

    private static func answer(_ key: String?) -> Promise<String?> {
        let answer = Promise<String?>()
        answer.finish(.success(key))
        return answer
    }

    private func profile(_ name: String, _ variables: [String: String] = [:]) throws -> AgentProfile {
        AgentProfile(
            name: name,
            environment: Variables(variables),
            options: try ProviderOptions.parse([]),
            scopes: [],
            login: SharedOptions().adding("--profile", name),
            keepsVariables: false,
            version: ""
        )
    }

    @Test(.timeLimit(.minutes(1))) func remindsOnceOfEachProfileUntilThereIsAToken() async throws {
        let desktop = Desktop([])
        let signIns = desktop.signIns()
        var shown = desktop.shown.makeAsyncIterator()
        for _ in 0..<3 { signIns.needed(for: try profile("work")) }
        #expect(await shown.next()?.title == "Sign in for 'work'")
        signIns.needed(for: try profile("work"))
        signIns.needed(for: try profile("home"))
        #expect(await shown.next()?.title == "Sign in for 'home'")
        signIns.done(for: try profile("work"))
        signIns.needed(for: try profile("work"))
        #expect(await shown.next()?.title == "Sign in for 'work'")
        signIns.end()
    }

    @Test(.timeLimit(.minutes(1))) func remindsOfNoProfileWhoseProgramsBeginNoSignIn() async throws {
        let desktop = Desktop([])
        let signIns = desktop.signIns()
        var shown = desktop.shown.makeAsyncIterator()
        let never = try profile("work", ["IDENTITYCTL_SIGN_IN": "never"])
        signIns.needed(for: never)
        signIns.done(for: never, until: .now + 60, at: .now - 86_400 * 30)
        signIns.done(for: never, until: .now + 60)
        signIns.needed(for: try profile("home", ["IDENTITYCTL_SIGN_IN": "when-needed"]))
        #expect(await shown.next()?.title == "Sign in for 'home'")
        signIns.needed(for: try profile("else", ["IDENTITYCTL_SIGN_IN": "sometimes"]))
        #expect(await shown.next()?.title == "Sign in for 'else'")
        signIns.end()
    }

    /// A person who closes the notification does not want to be asked again.
    @Test(.timeLimit(.minutes(1))) func doesNotRepeatAReminderThatWasClosed() async throws {
        let closed = Promise<String?>()
        let desktop = Desktop([closed])
        let signIns = desktop.signIns()
        var shown = desktop.shown.makeAsyncIterator()
        signIns.needed(for: try profile("work"))
        #expect(await shown.next()?.title == "Sign in for 'work'")
        closed.finish(.success(nil))
        for name in ["work", "home"] { signIns.needed(for: try profile(name)) }
        #expect(await shown.next()?.title == "Sign in for 'home'")
        for name in ["work", "else"] { signIns.needed(for: try profile(name)) }
        #expect(await shown.next()?.title == "Sign in for 'else'")
        #expect(desktop.signIns.withLock { $0 } == 0)
        signIns.end()
    }

    /// An end that each refresh moves is no reason. One that stays is told three days before, and not again once closed.
    @Test(.timeLimit(.minutes(1))) func tellsTheEndOfASignInBeforeItComes() async throws {
        let closed = Promise<String?>()
        let desktop = Desktop([closed])
        let signIns = desktop.signIns()
        var shown = desktop.shown.makeAsyncIterator()
        let (work, idle) = (try profile("work"), try profile("idle"))
        let begin = Date(timeIntervalSince1970: 1_764_000_000)
        let end = begin.addingTimeInterval(30 * 86_400)
        for hour in 0..<(30 * 24 - 72) {
            let now = begin.addingTimeInterval(Double(hour) * 3600)
            signIns.done(for: work, until: end, at: now)
            signIns.done(for: idle, until: now.addingTimeInterval(1800), at: now)
        }
        signIns.done(for: work, until: end, at: end.addingTimeInterval(-3 * 86_400))
        let notice = await shown.next()
        #expect(notice?.title == "Sign in for 'work'" && notice?.text.contains("ends on 2025-12-24T16:00:00Z") == true)
        closed.finish(.success(nil))
        signIns.done(for: work, until: end, at: end.addingTimeInterval(-86_400))
        signIns.needed(for: idle)
        #expect(await shown.next()?.text.hasPrefix("A program asks for a token of the profile 'idle'.") == true)
        // After the sign-in.
        signIns.done(for: work, until: end.addingTimeInterval(30 * 86_400), at: end.addingTimeInterval(-86_400))
        signIns.done(for: work, until: end.addingTimeInterval(30 * 86_400), at: end.addingTimeInterval(29 * 86_400))
        #expect(await shown.next()?.text.contains("ends on 2026-01-23") == true)
        signIns.end()
    }

    @Test(.timeLimit(.minutes(1))) func saysHowToSignInIfTheBrowserDidNotDoIt() async throws {
        let desktop = Desktop([Self.answer("sign-in"), Self.answer(nil), Self.answer("sign-in")])
        let signIns = desktop.signIns(false)
        var shown = desktop.shown.makeAsyncIterator()
        signIns.needed(for: try profile("work"))
        #expect(await shown.next()?.buttons.map(\.key) == ["sign-in"])
        let failure = await shown.next()
        #expect(failure?.text.hasSuffix("identityctl login --profile work") == true && failure?.buttons == [])
        #expect(desktop.signIns.withLock { $0 } == 1)
        signIns.end()
    }

    @Test(.timeLimit(.minutes(1))) func takesAReminderBackOnceThereIsAToken() async throws {
        let taken = Promise<Void>()
        let shown = Promise<Void>()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let signIns = AgentSignIns(
            show: { _, _ in
                shown.finish(.success(()))
                do {
                    return try await Promise<String?>().value()
                } catch {
                    taken.finish(.success(()))
                    throw error
                }
            },
            logger: logger,
            signIn: { _ in true }
        )
        signIns.needed(for: try profile("work"))
        try await shown.value()
        signIns.done(for: try profile("work"))
        try await taken.value()
    }
}
