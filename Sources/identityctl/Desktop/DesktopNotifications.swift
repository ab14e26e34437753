// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization
import SystemSupport

/// The notifications of the desktop, over the session bus.
///
/// - SeeAlso: [Desktop Notifications Specification](https://specifications.freedesktop.org/notification/latest/)
enum DesktopNotifications {
    private static let service = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    /// The time for one call.
    private static let patience = Duration.seconds(5)

    /// Shows a notice, as `ShowNotice` describes.
    static func show(_ notice: Notice, for limit: Duration) async throws -> String? {
        try await withDeadline(limit) {
            do {
                return try await answer(to: notice, limit)
            } catch let problem as LibraryProblem {
                throw NoPersonToAsk(problem)
            } catch let failure as GLibFailure {
                throw NoPersonToAsk(reason: "the desktop's notifications: \(failure.message)")
            }
        }
    }

    private static func answer(to notice: Notice, _ limit: Duration) async throws -> String? {
        let thread = try await GLibThread.running(library: MessageBus.library)
        guard let address = MessageBus.session() else { throw NoPersonToAsk(reason: "there is no session bus") }
        let bus = try await BusConnection.connect(to: address, on: thread).value()
        let answers = NoticeAnswers()
        bus.subscribe(to: service, interface: service, path: path, answers.receive)
        bus.whenOwnerLeaves(service, answers.end)
        bus.whenClosed(answers.end)
        let found = try await call("GetCapabilities", "()", "(as)", on: bus)
        let capabilities = Set(found[0]?.parts.compactMap(\.text) ?? [])
        guard capabilities.contains("body"), notice.buttons.isEmpty || capabilities.contains("actions") else {
            throw NoPersonToAsk(reason: "the desktop's notifications have no buttons")
        }
        let arguments = arguments(of: notice, isMarkup: capabilities.contains("body-markup"), limit)
        // A call that was sent is waited for even if this task is cancelled, so that the notice can be closed.
        let shown = Task { try await call("Notify", arguments, "(u)", on: bus)[0]?.uint32 ?? 0 }
        do {
            let key = try await answers.answer(to: shown.value)
            withExtendedLifetime(bus) {}
            return key
        } catch {
            Task {
                guard let number = try? await shown.value else { return }  // nothing is shown
                _ = try? await call("CloseNotification", "(uint32 \(number),)", "()", on: bus)
            }
            throw error
        }
    }

    private static func call(
        _ method: String,
        _ arguments: String,
        _ reply: String,
        on bus: BusConnection
    ) async throws -> Variant {
        try await bus.call(
            method,
            of: service,
            at: path,
            in: service,
            arguments,
            returning: reply,
            startsService: true,
            timeout: patience
        )
    }

    /// The arguments of `Notify` in GVariant's text form.
    static func arguments(of notice: Notice, isMarkup: Bool, _ limit: Duration) -> String {
        let buttons = notice.buttons.flatMap { [$0.key, $0.label] }.map(BusConnection.quoted).joined(separator: ", ")
        let texts = ["", notice.title, isMarkup ? notice.markup : notice.text].map(BusConnection.quoted)
        let hints = "{'urgency': <byte \(notice.isUrgent ? 2 : 1)>}"
        return """
            ('identityctl', uint32 0, \(texts.joined(separator: ", ")), @as [\(buttons)], \(hints), \
            int32 \(limit.wholeMilliseconds))
            """
    }
}

/// The answers to one notification, which may arrive before its number is known.
private final class NoticeAnswers: Sendable {
    private struct State {
        var number: UInt32?
        var early: [(number: UInt32, key: String?)] = []
    }

    private let state = Mutex(State())
    private let answer = Promise<String?>()

    @Sendable func receive(_ signal: BusConnection.Signal) {
        guard let number = signal.parameters[0]?.uint32 else { return }
        let key: String?
        switch signal.member {
        case "ActionInvoked":
            guard let name = signal.parameters[1]?.text else { return }
            key = name
        case "NotificationClosed": key = nil
        default: return
        }
        let isOurs = state.withLock { state in
            if state.number == nil, state.early.count < 64 { state.early.append((number, key)) }
            return state.number == number
        }
        if isOurs { answer.finish(.success(key)) }
    }

    /// No answer can come any more.
    @Sendable func end() {
        answer.finish(.success(nil))
    }

    func answer(to number: UInt32) async throws -> String? {
        let early = state.withLock { state in
            state.number = number
            return state.early.first { $0.number == number }
        }
        if let early { return early.key }
        return try await answer.value()
    }
}

extension NoPersonToAsk {
    init(_ problem: LibraryProblem) {
        switch problem {
        case .unloadable(let library, _): self.init(reason: "\(library) is not installed")
        case .unsuitable(let library): self.init(reason: "\(library) is too old")
        case .exhausted: self.init(reason: "out of memory or threads")
        }
    }
}
