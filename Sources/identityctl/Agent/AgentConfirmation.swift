// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// Whether the person is asked before a token of a profile is handed out.
enum AgentConfirmation: Hashable, Sendable {
    case never
    case always
    /// A yes counts for this long.
    case remembered(Duration)

    /// - Throws: `UsageError` for anything but `never`, `always`, or a time such as `30s`, `15m` or `8h`, at most a day.
    init(_ given: Given?) throws {
        switch given?.text {
        case nil, "never": self = .never
        case "always": self = .always
        case let text?:
            let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600]
            guard let unit = text.last.flatMap({ units[$0] }), let number = Int(text.dropLast()), number > 0,
                number <= 86_400 / unit
            else {
                throw given?.error("'\(text.printable)' is neither never, nor always, nor a time such as 15m or 8h.")
                    ?? UsageError("")
            }
            self = .remembered(.seconds(number * unit))
        }
    }
}

/// A program that asks for a token.
struct AgentQuestion: Hashable, Sendable {
    let profile: String
    /// The wanted scopes, in order.
    let scopes: String
    /// The program's file, as the kernel tells; `nil` if it does not.
    let program: String?
    let process: Int32?
    /// The time at which the process was started, as the kernel counts it.
    let started: String?
    /// The name that the program gives itself.
    let hint: String?

    /// Whether the program passes on the requests of another machine.
    var isForwarded: Bool { program?.split(separator: "/").last == "ssh" }

    /// The question without details that change although the same program asks. Each connection of ssh leads elsewhere.
    fileprivate var remembered: [String] {
        // The number of a process that has ended may come again.
        let process = isForwarded || program == nil ? "\(process ?? 0) \(started ?? "")" : ""
        return [profile, scopes, program ?? "", process]
    }

    var notice: Notice {
        let name = program.map { "\($0) (process \(process ?? 0))" } ?? "A program"
        let asks = isForwarded ? "\(name) asks for another machine" : "\(name) asks"
        let calls = hint.map { " It calls itself '\($0.printable.prefix(80))'." } ?? ""
        let wanted = scopes.isEmpty ? "" : ", with the scopes \(scopes.printable.prefix(300))"
        return Notice(
            title: "Hand out a token of '\(profile)'?",
            text: "\(asks) for an access token\(wanted).\(calls)",
            buttons: [Notice.Button(key: "allow", label: "Allow"), Notice.Button(key: "deny", label: "Deny")],
            isUrgent: true
        )
    }
}

/// Asks the person, and remembers a yes in memory.
final class AgentConfirmations: Sendable {
    /// The time for an answer, shorter than the time that programs wait for a token.
    private static let patience = Duration.seconds(25)
    /// The questions at a time. More of them hide each other.
    private static let maximum = 4

    private struct State {
        var allowedUntil: [[String]: ContinuousClock.Instant] = [:]
        var open = 0
        /// Grows when all is forgotten: an older answer is not remembered.
        var generation = 0
    }

    private let show: ShowNotice
    private let state = Mutex(State())
    private let flights = SingleFlight<[String], Void>()

    init(_ show: @escaping ShowNotice) {
        self.show = show
    }

    /// Returns if the token may be handed out.
    ///
    /// - Throws: `.accessDenied` after a no, `.agent("unconfirmed")` if there is no answer; `CancellationError`.
    func confirm(
        _ question: AgentQuestion,
        _ rule: AgentConfirmation,
        at now: ContinuousClock.Instant = .now
    ) async throws {
        switch rule {
        case .never: return
        case .always: try await ask(question)
        case .remembered(let time):
            let key = question.remembered
            let (isAllowed, generation) = state.withLock { state in
                state.allowedUntil = state.allowedUntil.filter { $0.value > now }
                return (state.allowedUntil[key] != nil, state.generation)
            }
            guard !isAllowed else { return }
            // Requests of one program at the same time are one question.
            try await flights.run(key) { [self] in
                try await ask(question)
                state.withLock { state in
                    if state.generation == generation { state.allowedUntil[key] = now + time }
                }
            }
        }
    }

    /// Forgets all answers.
    func forget() {
        state.withLock { state in
            state.allowedUntil = [:]
            state.generation += 1
        }
    }

    private func ask(_ question: AgentQuestion) async throws {
        let hasRoom = state.withLock { state in
            guard state.open < Self.maximum else { return false }
            state.open += 1
            return true
        }
        guard hasRoom else { throw Self.unconfirmed("\(Self.maximum) other questions are open") }
        defer { state.withLock { $0.open -= 1 } }
        do {
            guard try await show(question.notice, Self.patience) == "allow" else {
                throw AuthenticationError(
                    .accessDenied,
                    "The person at the agent did not allow this token of the profile '\(question.profile)'."
                )
            }
        } catch is DeadlineExceeded {
            throw Self.unconfirmed("there was no answer within \(Self.patience.wholeSeconds) s")
        } catch let error as NoPersonToAsk {
            throw Self.unconfirmed("no person can be asked: \(error.reason.printable)")
        }
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
