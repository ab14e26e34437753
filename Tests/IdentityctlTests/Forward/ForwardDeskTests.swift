// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import SystemSupport
import Testing

@testable import TokenForwarding
@testable import identityctl

/// The tokens of a route, for the threads of many requests.
@Suite(.timeLimit(.minutes(1))) struct ForwardDeskTests {
    private static let login = SharedOptions().adding("--profile", "work")
    private static let needed = AuthenticationError(.loginRequired, "No account is signed in.")

    private static func desk(wait: Duration = .seconds(50), _ ask: @escaping ForwardDesk.Ask) -> ForwardDesk {
        ForwardDesk(wait: wait, explain: { ForwardingProblem($0, signingInBy: login) }, ask)
    }

    private static func token(_ text: String, left: Duration = .seconds(3600), isNew: Bool = true) -> ForwardDesk.Token
    {
        ForwardDesk.Token(text: text, left: left, isNew: isNew)
    }

    /// The answer of the desk, on a thread that may block.
    private static func answer(
        _ desk: ForwardDesk,
        begun: ContinuousClock.Instant = .now,
        refused: String? = nil,
        challenges: [String] = []
    ) async throws -> Result<String, ForwardingProblem> {
        var wish = TokenWish(begun: begun)
        (wish.refused, wish.challenges) = (refused, challenges)
        let promise = Promise<Result<String, ForwardingProblem>>()
        try DetachedThread.start { [wish] in
            let outcome: Result<String, ForwardingProblem>
            do throws(ForwardingProblem) {
                outcome = .success(try desk.token(for: wish))
            } catch { outcome = .failure(error) }
            promise.finish(.success(outcome))
        }
        return try await promise.value()
    }

    @Test func asksOnceForAllThatCome() async throws {
        let (asked, gate) = (Shared(0), Promise<Void>())
        let desk = Self.desk { _, _ in
            asked.withLock { $0 += 1 }
            try await gate.value()
            return Self.token("T1")
        }
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await Self.answer(desk).get() } }
            #expect(try await eventually { asked.value == 1 })
            gate.finish(.success(()))
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "T1", count: 100))
        #expect(try await Self.answer(desk).get() == "T1" && asked.value == 1)
    }

    @Test func renewsARefusedTokenOnceForAll() async throws {
        let refusals = Shared<[String?]>([])
        let desk = Self.desk { refused, _ in
            refusals.withLock { $0.append(refused) }
            return refused == nil ? Self.token("T1", isNew: false) : Self.token("T2")
        }
        #expect(try await Self.answer(desk).get() == "T1")
        // Two requests that were under way with the old token.
        let begun = ContinuousClock.now
        #expect(try await Self.answer(desk, begun: begun, refused: "T1").get() == "T2")
        #expect(try await Self.answer(desk, begun: begun, refused: "T1").get() == "T2")
        #expect(refusals.value == [nil, "T1"])
        // The new token is not what the server complains of: a server that refuses it causes no more requests to the provider.
        #expect(try await Self.answer(desk, begun: begun, refused: "T2").get() == "T2")
        #expect(try await Self.answer(desk, refused: "T2").get() == "T2")
        #expect(refusals.value.count == 2)
        // A while later it may have been taken back.
        #expect(try await Self.answer(desk, begun: .now + .seconds(31), refused: "T2").get() == "T2")
        #expect(refusals.value == [nil, "T1", "T2"])
    }

    /// A question that is under way may bring the very token that a request was refused with.
    @Test func asksAgainWhereAnOlderQuestionBringsTheRefusedToken() async throws {
        let (refusals, gate) = (Shared<[String?]>([]), Promise<Void>())
        let desk = Self.desk { refused, _ in
            refusals.withLock { $0.append(refused) }
            if refused == nil { try await gate.value() }
            return Self.token(refused == nil ? "T1" : "T2", isNew: false)
        }
        try await withThrowingTaskGroup(of: String.self) { group in
            group.addTask { try await Self.answer(desk).get() }
            let isAsked = try await eventually { refusals.value.count == 1 }
            group.addTask { try await Self.answer(desk, refused: "T1").get() }
            gate.finish(.success(()))
            let tokens: Set<String> = try await group.reduce(into: []) { $0.insert($1) }
            #expect(isAsked && tokens == ["T1", "T2"])
        }
        #expect(refusals.value == [nil, "T1"])
    }

    @Test func handsOutNoTokenThatIsAboutToEnd() async throws {
        let asked = Shared(0)
        let desk = Self.desk { _, _ in
            let count = asked.withLock { count in
                count += 1
                return count
            }
            return Self.token("T\(count)", left: .zero)
        }
        #expect(try await Self.answer(desk).get() == "T1")
        #expect(try await Self.answer(desk).get() == "T2")
    }

    @Test func waitsForThePersonAndGoesOn() async throws {
        let signedIn = Promise<Void>()
        let asked = Shared(0)
        let desk = Self.desk { _, onNeed in
            onNeed(Self.needed)
            asked.withLock { $0 += 1 }
            try await signedIn.value()
            return Self.token("T1")
        }
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await Self.answer(desk).get() } }
            #expect(try await eventually { asked.value == 1 })
            signedIn.finish(.success(()))
            for try await token in group { #expect(token == "T1") }
        }
        #expect(asked.value == 1)
    }

    /// The sign-in goes on after its requests were answered.
    @Test func saysWhatToRunWhereNoRequestMayWait() async throws {
        let (signedIn, asked) = (Promise<Void>(), Shared(0))
        let desk = Self.desk(wait: .zero) { _, onNeed in
            onNeed(Self.needed)
            asked.withLock { $0 += 1 }
            try await signedIn.value()
            return Self.token("T1")
        }
        for _ in 0..<2 {
            let refusal = await #expect(throws: ForwardingProblem.self) { try await Self.answer(desk).get() }
            #expect(refusal?.code == .signInNeeded && refusal?.status == 403)
            #expect(
                refusal?.detail
                    == "No account is signed in. To sign in, run: identityctl login --profile work"
            )
        }
        signedIn.finish(.success(()))
        #expect(try await eventually { (try? await Self.answer(desk).get()) == "T1" })
        #expect(asked.value == 1)
    }

    /// Sixty-four wait; the next one is told at once.
    @Test func letsOnlySoManyWait() async throws {
        let (signedIn, asked) = (Promise<Void>(), Shared(false))
        let desk = Self.desk { _, onNeed in
            onNeed(Self.needed)
            asked.withLock { $0 = true }
            try await signedIn.value()
            return Self.token("T1")
        }
        let answered = Shared(0)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<70 {
                group.addTask {
                    let outcome = try await Self.answer(desk)
                    answered.withLock { $0 += 1 }
                    return (try? outcome.get()) == "T1"
                }
            }
            let areTold = try await eventually { asked.value && answered.value == 6 }
            signedIn.finish(.success(()))
            let count = try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            #expect(areTold && count == 64)
        }
    }

    @Test(
        arguments: [
            (#"Bearer error="insufficient_scope", scope="files.write""#, "login --profile work --scope files.write"),
            (
                #"Bearer error="insufficient_claims", claims="eyJhY2Nlc3NfdG9rZW4iOnt9fQ""#,
                #"login --profile work --claims '{"access_token":{}}'"#
            ),
        ]
    )
    func namesTheSignInThatMeetsADemand(_ challenge: String, _ command: String) async throws {
        let desk = Self.desk { _, _ in Self.token("T2") }
        let refusal = await #expect(throws: ForwardingProblem.self) {
            try await Self.answer(desk, refused: "T1", challenges: [challenge]).get()
        }
        #expect(refusal?.code == .signInNeeded && refusal?.detail.contains("identityctl \(command)") == true)
    }

    @Test(
        arguments: [
            (AuthenticationError(.networkTimedOut, "No answer."), .offline, 5),
            (AuthenticationError.agent("locked", "Locked."), .agentLocked, 30),
            (AuthenticationError(.cacheBusy, "Busy."), .storeLocked, 30),
            (AuthenticationError(.blockedByPolicy, "No."), .refusedByPolicy, nil),
            (AccountNotChosen("Two."), .anotherAccount, nil), (UsageError("A mistake."), .refusedByPolicy, nil),
        ] as [(any Error & Sendable, ForwardingProblem.Code, Int?)]
    )
    func tellsFailuresApart(
        _ error: any Error & Sendable,
        _ code: ForwardingProblem.Code,
        _ retryAfter: Int?
    ) async throws {
        let desk = Self.desk { _, _ in throw error }
        let refusal = await #expect(throws: ForwardingProblem.self) { try await Self.answer(desk).get() }
        #expect(refusal?.code == code && refusal?.retryAfter == retryAfter, "\(refusal?.detail ?? "")")
    }
}
