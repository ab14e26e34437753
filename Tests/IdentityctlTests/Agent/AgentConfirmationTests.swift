// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization
import SystemSupport
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
        file: [UInt64] = [1, 2],
        process: Int32 = 7,
        started: String? = "1"
    ) -> AgentQuestion {
        question(AgentCaller(program: program, file: file, process: process, started: started), profile, scopes)
    }

    private static func question(
        _ caller: AgentCaller?,
        _ profile: String = "work",
        _ scopes: String = "files.read",
        _ change: (inout AgentOffer) -> Void = { _ in }
    ) -> AgentQuestion {
        var offer = AgentOffer(
            profile: profile,
            account: Account.ID(rawValue: "a"),
            accountName: "alice",
            scopes: scopes
        )
        change(&offer)
        return AgentQuestion(offer: offer, caller: caller, hint: nil)
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
        // Another file under the path of the first.
        #expect(try await asks(Self.question(file: [1, 3]), 1))
        #expect(try await asks(Self.question(program: "/usr/bin/ssh", process: 1), 1))
        #expect(try await !asks(Self.question(program: "/usr/bin/ssh", process: 1), 2))
        #expect(try await asks(Self.question(program: "/usr/bin/ssh", process: 2), 2))
        // Another process with the number of the first.
        #expect(try await asks(Self.question(program: "/usr/bin/ssh", process: 2, started: "2"), 3))
        #expect(try await asks(Self.question(), 60))
        confirmations.forget()
        #expect(try await asks(Self.question(), 61))
    }

    /// One yes is for one account's tokens of one kind, with one text of claims.
    @Test(.timeLimit(.minutes(1))) func asksAgainForAnythingElseOfTheSameProgram() async throws {
        let person = Person { "allow" }
        let confirmations = person.confirmations
        let caller = AgentCaller(program: "/usr/bin/mutt", process: 7)
        let claims = #"{"access_token":{"acrs":{"essential":true}}}"#
        let changes: [@Sendable (inout AgentOffer) -> Void] = [
            { _ in },
            {
                $0 = AgentOffer(
                    profile: "work",
                    account: Account.ID(rawValue: "b"),
                    accountName: "alice",
                    scopes: "files.read"
                )
            },
            { $0.hasIDToken = true }, { $0.claims = claims }, { $0.claims = "{}" }, { $0.audience = "api" },
        ]
        for round in 1...2 {
            for (number, change) in changes.enumerated() {
                try await confirmations.confirm(
                    Self.question(caller, "work", "files.read", change),
                    .remembered(.seconds(60))
                )
                #expect(person.count == (round == 1 ? number + 1 : changes.count))
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func asksNothingForAWhileAfterANo() async throws {
        let answers = Mutex(["deny", "deny", "allow", "deny"])
        let person = Person { answers.withLock { $0.removeFirst() } }
        let (confirmations, start) = (person.confirmations, ContinuousClock.now)
        func denied(_ question: AgentQuestion, _ second: Int) async -> (questions: Int, retryAfter: Duration?) {
            let before = person.count
            let error = await #expect(throws: AuthenticationError.self) {
                try await confirmations.confirm(question, .always, at: start + .seconds(second))
            }
            #expect(error?.code == .accessDenied)
            return (person.count - before, error?.retryAfter)
        }
        let machine = Self.question(program: "/usr/bin/ssh")
        #expect(await denied(machine, 0) == (1, .seconds(60)))
        // Neither another profile nor a lock of the agent, which every caller may ask for, brings a question.
        confirmations.forget()
        #expect(await denied(Self.question("home", program: "/usr/bin/ssh"), 59) == (0, .seconds(1)))
        #expect(await denied(machine, 60) == (1, .seconds(120)))
        #expect(await denied(machine, 179) == (0, .seconds(1)))
        // A local program is another caller, and a yes ends the pauses.
        try await confirmations.confirm(Self.question(), .always, at: start)
        #expect(await denied(Self.question(), 1) == (1, .seconds(60)))
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

    @Test(.timeLimit(.minutes(1)), arguments: ["/usr/bin/ssh", "/usr/sbin/sshd-session", nil])
    func leavesRoomForLocalProgramsBesideOtherMachines(forwarder: String?) async throws {
        let (questions, asked) = AsyncStream.makeStream(of: Void.self)
        let answer = Promise<String?>()
        let confirmations = Person {
            asked.yield()
            return try await answer.value()
        }.confirmations
        try await withThrowingTaskGroup(of: Void.self) { group in
            var open = questions.makeAsyncIterator()
            for process in 1...2 {
                let question = Self.question(program: forwarder, process: Int32(process))
                group.addTask { try await confirmations.confirm(question, .always) }
                await open.next()
            }
            let third = await #expect(throws: AuthenticationError.self) {
                try await confirmations.confirm(Self.question(program: forwarder, process: 3), .always)
            }
            #expect(third?.code.rawValue == "cache.agent_unconfirmed")
            for _ in 0..<2 {
                group.addTask { try await confirmations.confirm(Self.question(), .always) }
                await open.next()
            }
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
        func text(_ caller: AgentCaller?, _ offer: AgentOffer, _ hint: String? = nil) -> String {
            AgentQuestion(offer: offer, caller: caller, hint: hint).notice.text
        }
        var offer = AgentOffer(profile: "w", account: Account.ID(rawValue: "1"), accountName: "alice", scopes: "a b")
        var program = AgentCaller(program: "/bin/x", process: 7)
        #expect(AgentQuestion(offer: offer, caller: program, hint: nil).notice.title == "Hand out a token of 'w'?")
        #expect(
            text(program, offer, "y\u{202E}\n")
                == "/bin/x (process 7) asks for an access token of alice, with the scopes a b. "
                + "It calls itself 'y\u{FFFD}\u{FFFD}'."
        )
        program.asksByTool = true
        (offer.hasIDToken, offer.audience, offer.claims) = (true, "api", "{}")
        #expect(
            text(program, offer)
                == "/bin/x (process 7) asks through identityctl for an access token and an ID token of alice, "
                + "with the scopes a b, for the audience api, with the claims {}."
        )
        let long = AgentOffer(
            profile: "w",
            account: Account.ID(rawValue: "1"),
            accountName: "alice",
            scopes: String(repeating: "s", count: 309)
        )
        let ssh = AgentCaller(program: "/usr/bin/ssh", process: 7)
        #expect(
            text(ssh, long).hasPrefix(
                "/usr/bin/ssh (process 7) asks for another machine for an access token of alice, with"
            )
        )
        #expect(text(ssh, long).hasSuffix("ss… (9 more characters)."))
        let unknown = AgentCaller(program: nil, process: 7)
        #expect(text(unknown, long).hasPrefix("A program (process 7) asks, perhaps for another machine, for an access"))
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
