// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization
import Testing

@testable import identityctl

/// The questions before a token is handed out.
@Suite struct AgentConfirmationTests {
    /// A person who answers in the same way each time.
    private final class Person: Sendable {
        let notices = Mutex<[Notice]>([])
        let answer: @Sendable () async throws -> String?

        init(_ answer: @escaping @Sendable () async throws -> String?) { self.answer = answer }

        var confirmations: AgentConfirmations {
            AgentConfirmations { [self] notice, _ in
                notices.withLock { $0.append(notice) }
                return try await answer()
            }
        }

        var count: Int { notices.withLock(\.count) }
    }

    private static func question(
        _ profile: String = "work",
        _ scopes: String = "files.read",
        program: String? = "/usr/bin/mutt",
        process: Int32 = 7,
        started: String? = "1"
    ) -> AgentQuestion {
        AgentQuestion(
            profile: profile,
            scopes: scopes,
            program: program,
            process: process,
            started: started,
            hint: nil
        )
    }

    @Test(arguments: [
        (nil, AgentConfirmation.never), ("never", .never), ("always", .always), ("30s", .remembered(.seconds(30))),
        ("15m", .remembered(.seconds(900))), ("24h", .remembered(.seconds(86_400))),
    ])
    func readsALine(text: String?, expected: AgentConfirmation) throws {
        #expect(try AgentConfirmation(text.map { Given(text: $0, origin: "a") }) == expected)
    }

    @Test(arguments: ["", "yes", "h", "0m", "-1h", "25h", "1441m", "86401s", "1d", "1 h", "99999999999999999999h", "é"])
    func refusesAnotherLine(text: String) {
        let error = #expect(throws: UsageError.self) { try AgentConfirmation(Given(text: text, origin: "a.conf:3")) }
        #expect(error?.message.hasPrefix("a.conf:3: ") == true)
    }

    @Test(.timeLimit(.minutes(1))) func remembersAYesForAProgramAndAWhile() async throws {
        let person = Person { "allow" }
        let (confirmations, start) = (person.confirmations, ContinuousClock.now)
        let rule = AgentConfirmation.remembered(.seconds(60))
        func asks(_ question: AgentQuestion, _ second: Int) async throws -> Bool {
            let before = person.count
            try await confirmations.confirm(question, rule, at: start + .seconds(second))
            return person.count == before + 1
        }
        #expect(try await asks(Self.question(), 0))
        #expect(try await !asks(Self.question(process: 8), 59))
        #expect(try await asks(Self.question("home"), 1))
        #expect(try await asks(Self.question("work", "files.write"), 1))
        #expect(try await asks(Self.question(program: "/usr/bin/other"), 1))
        #expect(try await asks(Self.question(program: "/usr/bin/ssh", process: 1), 1))
        #expect(try await !asks(Self.question(program: "/usr/bin/ssh", process: 1), 2))
        #expect(try await asks(Self.question(program: "/usr/bin/ssh", process: 2), 2))
        // Another process with the number of the first.
        #expect(try await asks(Self.question(program: "/usr/bin/ssh", process: 2, started: "2"), 3))
        #expect(try await asks(Self.question(), 60))
        confirmations.forget()
        #expect(try await asks(Self.question(), 61))
    }

    @Test(.timeLimit(.minutes(1))) func asksEachTimeOrNever() async throws {
        let person = Person { "allow" }
        let confirmations = person.confirmations
        try await confirmations.confirm(Self.question(), .never)
        #expect(person.count == 0)
        for number in 1...3 {
            try await confirmations.confirm(Self.question(), .always)
            #expect(person.count == number)
        }
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("deny", "user_cancelled.access_denied"), (nil, "user_cancelled.access_denied"),
            ("late", "cache.agent_unconfirmed"), ("nowhere", "cache.agent_unconfirmed"),
        ] as [(String?, String)]
    )
    func handsOutNothingWithoutAYes(answer: String?, code: String) async throws {
        let confirmations = Person {
            if answer == "nowhere" { throw NoPersonToAsk(reason: "there is no session bus") }
            guard answer == "late" else { return answer }
            return try await withDeadline(.zero) { try await Promise<String?>().value() }
        }.confirmations
        for rule in [AgentConfirmation.always, .remembered(.seconds(60)), .remembered(.seconds(60))] {
            let thrown = await #expect(throws: AuthenticationError.self) {
                try await confirmations.confirm(Self.question(), rule)
            }
            #expect(thrown?.code.rawValue == code)
            if answer == "nowhere" { #expect(thrown?.message.contains("there is no session bus") == true) }
        }
    }

    @Test(.timeLimit(.minutes(1))) func asksManyRequestsOfAProgramOnce() async throws {
        let (asked, answer) = (Promise<Void>(), Promise<String?>())
        let person = Person {
            asked.finish(.success(()))
            return try await answer.value()
        }
        let confirmations = person.confirmations
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask { try await confirmations.confirm(Self.question(), .remembered(.seconds(60))) }
            }
            try await asked.value()
            answer.finish(.success("allow"))
            try await group.waitForAll()
        }
        #expect(person.count == 1)
    }

    @Test(.timeLimit(.minutes(1))) func asksOnlySoManyQuestionsAtATime() async throws {
        let (questions, asked) = AsyncStream.makeStream(of: Void.self)
        let answer = Promise<String?>()
        let confirmations = Person {
            asked.yield()
            return try await answer.value()
        }.confirmations
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { try await confirmations.confirm(Self.question(), .always) } }
            var open = questions.makeAsyncIterator()
            for _ in 0..<4 { await open.next() }
            let fifth = await #expect(throws: AuthenticationError.self) {
                try await confirmations.confirm(Self.question(), .always)
            }
            #expect(fifth?.code.rawValue == "cache.agent_unconfirmed")
            answer.finish(.success("allow"))
            try await group.waitForAll()
        }
    }

    /// An answer from before the agent was locked.
    @Test(.timeLimit(.minutes(1))) func doesNotRememberAYesFromBeforeItForgot() async throws {
        let forgets = Promise<AgentConfirmations>()
        let person = Person {
            try await forgets.value().forget()
            return "allow"
        }
        let confirmations = person.confirmations
        forgets.finish(.success(confirmations))
        for number in 1...2 {
            try await confirmations.confirm(Self.question(), .remembered(.seconds(60)))
            #expect(person.count == number)
        }
    }

    @Test func namesTheProgramTheScopesAndAnotherMachine() {
        let own = AgentQuestion(
            profile: "w",
            scopes: "a b",
            program: "/bin/x",
            process: 7,
            started: nil,
            hint: "y\u{202E}\n"
        )
        #expect(own.notice.title == "Hand out a token of 'w'?")
        #expect(
            own.notice.text
                == "/bin/x (process 7) asks for an access token, with the scopes a b. It calls itself 'y\u{FFFD}\u{FFFD}'."
        )
        let ssh = AgentQuestion(profile: "w", scopes: "", program: "/usr/bin/ssh", process: 7, started: nil, hint: nil)
        #expect(ssh.notice.text == "/usr/bin/ssh (process 7) asks for another machine for an access token.")
    }

    @Test(arguments: [
        ("<b>a</b> & 'b' \"c\"", "&lt;b&gt;a&lt;/b&gt; &amp; &#39;b&#39; &quot;c&quot;"),
        ("<\u{301}a", "&lt;\u{301}a"), ("&amp;", "&amp;amp;"), ("é", "é"),
    ])
    func writesMarkupAsText(text: String, markup: String) {
        #expect(Notice(title: "", text: text).markup == markup)
        let plain = DesktopNotifications.arguments(of: Notice(title: "a", text: "<"), isMarkup: false, .seconds(1))
        #expect(
            plain == "('identityctl', uint32 0, '', 'a', '\\U0000003c', @as [], {'urgency': <byte 1>}, int32 1000)"
        )
    }
}
