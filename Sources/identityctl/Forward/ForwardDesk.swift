// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import Synchronization
import SystemSupport
import TokenForwarding

/// The tokens of a route for the threads of its requests. One question is under way at a time, for all that wait.
final class ForwardDesk: TokenDesk {
    struct Token: Sendable {
        let text: String
        /// The rest of its life.
        let left: Duration
        /// Whether the provider has just given it.
        let isNew: Bool
    }

    /// Asks for a token in place of a refused one. Calls its last argument before a person is asked.
    typealias Ask =
        @Sendable (_ refused: String?, _ onNeed: @escaping @Sendable (any Error) -> Void) async throws -> Token

    private struct Kept: Sendable {
        let text: String
        /// The time until which it is handed out without a question.
        let end: ContinuousClock.Instant
        /// The time when the provider gave it; `nil` if the cache had it.
        let issued: ContinuousClock.Instant?

        func answers(_ wish: TokenWish) -> Bool {
            guard wish.refused == text else { return end > .now }
            // A server that refuses what has just been issued refuses the next one as well.
            return issued.map { $0 > wish.begun - ForwardDesk.youth } ?? false
        }
    }

    private enum Step {
        case token(String)
        case question(Question, isNew: Bool)
    }

    private struct State {
        var kept: Kept?
        var question: Question?
        /// The requests that wait for a person.
        var waiting = 0
    }

    /// A token that was signed out or renewed elsewhere is handed out for this long at most.
    private static let lookInterval = Duration.seconds(5)
    private static let youth = Duration.seconds(30)
    private static let (patience, mostWaiting) = (Duration.seconds(60), 64)

    private let wait: Duration
    private let explain: @Sendable (any Error) -> ForwardingProblem
    private let ask: Ask
    private let state = Mutex(State())

    /// - Parameters:
    ///   - wait: How long a request waits for a person.
    ///   - explain: Returns an error's words for a program.
    init(
        wait: Duration,
        explain: @escaping @Sendable (any Error) -> ForwardingProblem,
        _ ask: @escaping Ask
    ) {
        (self.wait, self.explain, self.ask) = (wait, explain, ask)
    }

    func token(for wish: TokenWish) throws(ForwardingProblem) -> String {
        if let demand = AuthenticationError(inChallenges: wish.challenges) { throw explain(demand) }
        while true {
            let question: Question
            switch try step(for: wish) {
            case .token(let text): return text
            case .question(let found, let isNew):
                question = found
                if isNew { begin(found) }
            }
            let kept = try outcome(of: question)
            // A question that began without this refusal may have brought the refused token.
            if question.refused == wish.refused || kept.text != wish.refused { return kept.text }
        }
    }

    private func step(for wish: TokenWish) throws(ForwardingProblem) -> Step {
        try state.withLock { state throws(ForwardingProblem) in
            if let kept = state.kept, kept.answers(wish) { return .token(kept.text) }
            if let question = state.question { return .question(question, isNew: false) }
            // The one reason is that this process has no descriptor left.
            guard let question = try? Question(insteadOf: wish.refused) else {
                throw ForwardingProblem(.offline, "The forwarder has too many files open. Try again.")
            }
            state.question = question
            return .question(question, isNew: true)
        }
    }

    private func begin(_ question: Question) {
        Task { [self] in
            let outcome: Result<Kept, ForwardingProblem>
            do {
                let explain = explain
                let token = try await ask(question.refused) { question.needsPerson(explain($0)) }
                outcome = .success(keep(token))
            } catch {
                outcome = .failure(explain(error))
            }
            state.withLock { $0.question = nil }
            question.end(outcome)
        }
    }

    private func keep(_ token: Token) -> Kept {
        state.withLock { state in
            let life = max(.zero, token.left - min(.seconds(60), token.left / 2))
            let known = state.kept?.text == token.text ? state.kept?.issued : nil
            let kept = Kept(
                text: token.text,
                end: .now + min(life, Self.lookInterval),
                issued: token.isNew ? ContinuousClock.now : known
            )
            state.kept = kept
            return kept
        }
    }

    private func outcome(of question: Question) throws(ForwardingProblem) -> Kept {
        let begun = ContinuousClock.now
        if let outcome = question.outcome(before: begun + Self.patience, orPerson: true) { return try outcome.get() }
        guard let demand = question.demand else {
            throw ForwardingProblem(.offline, "The token did not come in time. Try again.")
        }
        let mayWait = state.withLock { state in
            guard wait > .zero, state.waiting < Self.mostWaiting else { return false }
            state.waiting += 1
            return true
        }
        guard mayWait else { throw demand }
        defer { state.withLock { $0.waiting -= 1 } }
        guard let outcome = question.outcome(before: begun + wait, orPerson: false) else { throw demand }
        return try outcome.get()
    }

    /// A question under way. Threads wait for it.
    private final class Question: Sendable {
        private struct State {
            var demand: ForwardingProblem?
            var outcome: Result<Kept, ForwardingProblem>?
        }

        let refused: String?
        private let state = Mutex(State())
        private let asked: Event
        private let ended: Event

        init(insteadOf refused: String?) throws {
            self.refused = refused
            (asked, ended) = (try Event(), try Event())
        }

        var demand: ForwardingProblem? { state.withLock { $0.demand } }

        func needsPerson(_ demand: ForwardingProblem) {
            state.withLock { $0.demand = demand }
            asked.happen()
        }

        func end(_ outcome: Result<Kept, ForwardingProblem>) {
            state.withLock { $0.outcome = outcome }
            ended.happen()
        }

        /// Blocks until it has ended; with `orPerson` also until a person is asked.
        func outcome(before deadline: ContinuousClock.Instant, orPerson: Bool) -> Result<Kept, ForwardingProblem>? {
            Event.wait(for: orPerson ? [ended, asked] : [ended], until: deadline)
            return state.withLock { $0.outcome }
        }
    }

    /// Something that happens once, and for which threads wait.
    private final class Event: Sendable {
        private let ends: (reading: SharedDescriptor, writing: SharedDescriptor)

        init() throws { ends = try SharedDescriptor.pair() }

        func happen() { _ = shutdown(ends.writing.raw, Int32(SHUT_RDWR)) }

        /// Blocks until one of the events has happened.
        static func wait(for events: [Event], until deadline: ContinuousClock.Instant) {
            let awaited = events.map { Poll.Awaited($0.ends.reading.raw) }
            // A signal ends a wait early.
            while ContinuousClock.now < deadline, Poll.wait(for: awaited, until: deadline).allSatisfy({ $0 == 0 }) {}
        }
    }
}

extension AuthenticationError {
    /// The demand in a server's refusal that no other token of the same sign-in meets; `nil` if there is none.
    fileprivate init?(inChallenges challenges: [String]) {
        guard !challenges.isEmpty else { return nil }
        let claims = SilentParameters.claims(inChallenges: challenges)
        let challenge = claims == nil ? ResourceChallenge(inChallenges: challenges) : nil
        guard claims != nil || challenge != nil else { return nil }
        self.init(.loginRequired, "The server demands more of the sign-in.", claims: claims, challenge: challenge)
    }
}
