// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization
import SystemSupport

/// Whether the person is asked before a token of a profile is handed out.
enum AgentConfirmation: Hashable, Sendable {
    case never
    case always
    /// A yes counts for this long.
    case remembered(Duration)

    /// - Throws: `UsageError` for anything but `never`, `always`, or a time such as `30s`, `15m` or `8h`, at most a day.
    init(_ given: Given?) throws {
        guard let given, given.text != "never" else {
            self = .never
            return
        }
        guard given.text != "always" else {
            self = .always
            return
        }
        guard let time = given.time, time > .zero else {
            throw given.error("'\(given.text.printable)' is neither never, nor always, nor a time such as 15m or 8h.")
        }
        self = .remembered(time)
    }
}

/// The tokens that the agent is about to hand out. A yes counts for an equal offer alone.
struct AgentOffer: Hashable, Sendable {
    let profile: String
    let account: Account.ID
    /// The account's name, for people.
    var accountName: String
    /// The scopes that were asked for and those that the token has, in order.
    var scopes: String
    var audience: String?
    /// The claims that the request demands of the provider.
    var claims: String?
    /// Whether an ID token goes with the access token.
    var hasIDToken = false

    /// Whether a yes for this offer is one for what stands in its place now: it offers no more.
    func covers(_ other: AgentOffer) -> Bool {
        var narrowed = self
        let had = Set(scopes.split(separator: " "))
        if had.isSuperset(of: other.scopes.split(separator: " ")) { narrowed.scopes = other.scopes }
        narrowed.accountName = other.accountName
        return narrowed == other
    }

    fileprivate var text: String {
        let tokens = hasIDToken ? "an access token and an ID token" : "an access token"
        var details: [String] = []
        if !scopes.isEmpty { details.append("with the scopes \(Self.shortened(scopes))") }
        if let audience { details.append("for the audience \(Self.shortened(audience))") }
        if let claims { details.append("with the claims \(Self.shortened(claims))") }
        return (["\(tokens) of \(accountName)"] + details).joined(separator: ", ")
    }

    /// The beginning of a long text, with a word on its rest.
    private static func shortened(_ text: String) -> String {
        let text = text.printable
        return text.count <= 300 ? text : "\(text.prefix(300))… (\(text.count - 300) more characters)"
    }
}

/// A program that asks for a token.
struct AgentQuestion: Hashable, Sendable {
    let offer: AgentOffer
    /// `nil` if the kernel does not tell.
    let caller: AgentCaller?
    /// The name that the program gives itself.
    let hint: String?

    /// The offer and the caller that an answer counts for.
    fileprivate struct Key: Hashable, Sendable {
        /// `nil` for all that a caller may ask for.
        let offer: AgentOffer?
        let caller: AgentCaller?
    }

    fileprivate var allowed: Key { Key(offer: offer, caller: caller?.remembered) }

    /// The extent of a no. Another machine would ask for something else at once.
    fileprivate var denied: Key { Key(offer: isForwarded ? nil : offer, caller: caller?.remembered) }

    /// Whether the request comes from another machine, or may come from there.
    fileprivate var isForwarded: Bool { caller?.isForwarder ?? true }

    var notice: Notice {
        let process = (caller?.process).map { " (process \($0))" } ?? ""
        let name = "\(caller?.program ?? "A program")\(process)"
        let tool = caller?.asksByTool == true ? " through identityctl" : ""
        let machine =
            isForwarded ? caller?.program == nil ? ", perhaps for another machine," : " for another machine" : ""
        let calls = hint.map { " It calls itself '\($0.printable.prefix(80))'." } ?? ""
        return Notice(
            title: "Hand out a token of '\(offer.profile)'?",
            text: "\(name) asks\(tool)\(machine) for \(offer.text).\(calls)",
            buttons: [Notice.Button(key: "allow", label: "Allow"), Notice.Button(key: "deny", label: "Deny")],
            isUrgent: true
        )
    }
}

/// Asks the person, and remembers the answers in memory.
final class AgentConfirmations: Sendable {
    /// The time for an answer, shorter than the time that programs wait for a token.
    private static let patience = Duration.seconds(25)
    /// The questions at a time, in all and of other machines. More of them hide each other.
    private static let maximum = (all: 4, forwarded: 2)
    /// How long the same is not asked again after a no: at first, and after many.
    private static let pause = (first: Duration.seconds(60), longest: Duration.seconds(3600))

    private struct Denial {
        let until: ContinuousClock.Instant
        let pause: Duration
    }

    private struct State {
        var allowedUntil: [AgentQuestion.Key: ContinuousClock.Instant] = [:]
        var denials: [AgentQuestion.Key: Denial] = [:]
        var open = (all: 0, forwarded: 0)
        /// Grows when all is forgotten: an older answer is not remembered.
        var generation = 0
    }

    private let show: ShowNotice
    private let state = Mutex(State())
    private let flights = SingleFlight<AgentQuestion.Key, Void>()

    init(_ show: @escaping ShowNotice) {
        self.show = show
    }

    /// Returns if the token may be handed out.
    ///
    /// - Throws: `.accessDenied` after a no, for a while without a question; `.agent("unconfirmed")` if there is no answer;
    ///   `CancellationError`.
    func confirm(
        _ question: AgentQuestion,
        _ rule: AgentConfirmation,
        at now: ContinuousClock.Instant = .now
    ) async throws {
        switch rule {
        case .never: return
        case .always: try await ask(question, at: now)
        case .remembered(let time):
            let key = question.allowed
            let (isAllowed, generation) = state.withLock { state in
                state.allowedUntil = state.allowedUntil.filter { $0.value > now }
                return (state.allowedUntil[key] != nil, state.generation)
            }
            guard !isAllowed else { return }
            // Requests of one program at the same time are one question.
            try await flights.run(key) { [self] in
                try await ask(question, at: now)
                state.withLock { state in
                    if state.generation == generation { state.allowedUntil[key] = now + time }
                }
            }
        }
    }

    /// Forgets each yes. A no stays, because every caller may lock the agent.
    func forget() {
        state.withLock { state in
            state.allowedUntil = [:]
            state.generation += 1
        }
    }

    private func ask(_ question: AgentQuestion, at now: ContinuousClock.Instant) async throws {
        try begin(question, at: now)
        defer {
            state.withLock { state in
                state.open.all -= 1
                if question.isForwarded { state.open.forwarded -= 1 }
            }
        }
        do {
            let isAllowed = try await show(question.notice, Self.patience) == "allow"
            guard let pause = note(isAllowed, of: question, at: now) else { return }
            throw Self.denied(question, askedAgainIn: pause)
        } catch is DeadlineExceeded {
            throw Self.unconfirmed("there was no answer within \(Self.patience.wholeSeconds) s")
        } catch let error as NoPersonToAsk {
            throw Self.unconfirmed("no person can be asked: \(error.reason.printable)")
        }
    }

    /// Takes a place for a question.
    private func begin(_ question: AgentQuestion, at now: ContinuousClock.Instant) throws {
        try state.withLock { state in
            if let denial = state.denials[question.denied], denial.until > now {
                throw Self.denied(question, askedAgainIn: denial.until - now)
            }
            guard state.open.all < Self.maximum.all,
                !question.isForwarded || state.open.forwarded < Self.maximum.forwarded
            else { throw Self.unconfirmed("other questions are open, as many as a person can look through") }
            state.open.all += 1
            if question.isForwarded { state.open.forwarded += 1 }
        }
    }

    /// Returns the pause after a no; `nil` for a yes.
    private func note(_ isAllowed: Bool, of question: AgentQuestion, at now: ContinuousClock.Instant) -> Duration? {
        state.withLock { state in
            state.denials = state.denials.filter { $0.value.until + Self.pause.longest > now }
            guard !isAllowed else {
                state.denials[question.denied] = nil
                return nil
            }
            let pause = state.denials[question.denied].map { min($0.pause * 2, Self.pause.longest) } ?? Self.pause.first
            state.denials[question.denied] = Denial(until: now + pause, pause: pause)
            return pause
        }
    }

    private static func denied(_ question: AgentQuestion, askedAgainIn pause: Duration) -> AuthenticationError {
        let seconds = max(1, pause.wholeSeconds)
        return AuthenticationError(
            .accessDenied,
            """
            The person at the agent did not allow this token of the profile '\(question.offer.profile)'. The agent asks again \
            if a request comes after \(seconds) s.
            """,
            retryAfter: .seconds(seconds)
        )
    }

    private static func unconfirmed(_ reason: String) -> AuthenticationError {
        .agent(
            "unconfirmed",
            """
            The agent's profile wants each token confirmed, and \(reason). Answer where the agent runs: at the \
            desktop, in the program that SSH_ASKPASS names, or at the terminal in which the agent runs. Or remove the line \
            agent-confirm there.
            """
        )
    }
}
