// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization
import SystemSupport

/// Asks the person to unlock the keyring or to create one, if the program allows it. Only one dialog is open at a time
/// among all programs of the user.
///
/// GNOME Keyring keeps a queue of simultaneous prompts. If there are three and the first dialog is closed, it forgets
/// the queue, and no further dialog is shown.
final class KeyringPrompter: Sendable {
    private struct State {
        /// The outcome of the question to the person that is under way. All callers wait for the same one.
        var question: Promise<Void>?
        var waiters = 0
        /// The code of the last question that the person refused or did not answer. The person is not asked again until
        /// the keyring has been seen unlocked.
        var refusal: AuthenticationError.Code?
        /// Whether another program's dialog stayed open for the whole time that a caller waited. No caller waits for it
        /// again.
        var hasWaitedElsewhere = false
        /// Whether it is known that only the person can open the keyring. Each further attempt would leave one more unused
        /// prompt in the keyring.
        var needsPerson = false
    }

    private let prompting: KeyringPrompting
    private let files: KeyringFiles
    private let minimumDialogTime: Duration
    private let state = Mutex(State())

    init(_ prompting: KeyringPrompting, _ files: KeyringFiles, _ settings: KeyringSettings) {
        self.prompting = prompting
        self.files = files
        minimumDialogTime = settings.minimumDialogTime
    }

    /// The time that the person has, or `nil` if the person is not asked.
    var deadline: Duration? { prompting.deadline }

    /// Notes that the collection is open. If it is locked again, the person may be asked again.
    func noteUnlocked() {
        state.withLock { state in
            state.refusal = nil
            state.hasWaitedElsewhere = false
            state.needsPerson = false
        }
    }

    /// Removes an obstacle. A collection without a password, common for people who log in without one, opens without a
    /// dialog, whether the person may be asked or not.
    ///
    /// - Throws: The obstacle's error if the person must not or cannot be asked; `.keyringPromptDismissed` if the
    ///   person closed the dialog; `.keyringTimedOut` if the person did not answer, here or in the other program that
    ///   asks; `CancellationError`.
    func remove(_ obstacle: Obstacle, with link: KeyringLink, within timeout: Duration) async throws {
        guard let deadline = prompting.deadline else {
            if try await removeWithoutPerson(obstacle, link, within: timeout) { return }
            throw obstacle.error
        }
        let (question, isNew) = try state.withLock { state in
            if let code = state.refusal { throw Self.refused(code) }
            state.waiters += 1
            if let question = state.question { return (question, false) }
            let question = Promise<Void>()
            state.question = question
            return (question, true)
        }
        defer { state.withLock { $0.waiters -= 1 } }
        if isNew {
            Task {
                let outcome: Result<Void, any Error>
                do {
                    outcome = .success(try await ask(obstacle, link, deadline, within: timeout))
                } catch {
                    outcome = .failure(AuthenticationError.fromKeyring(error))
                }
                state.withLock { if $0.question === question { $0.question = nil } }
                question.finish(outcome)
            }
        }
        try await question.value()
    }

    /// Removes an obstacle if that is possible without the person. Opens no prompt, and makes no collection.
    /// - Returns: Whether the obstacle is gone.
    func removeWithoutPerson(_ obstacle: Obstacle, _ link: KeyringLink, within timeout: Duration) async throws -> Bool {
        if case .noCollection = obstacle { return false }
        guard !state.withLock({ $0.needsPerson }) else { return false }
        guard try await link.remove(obstacle, within: timeout) == nil else {
            state.withLock { $0.needsPerson = true }
            return false
        }
        return true
    }

    /// Asks the person, as soon as no other program's dialog is open. The dialog stays open after `deadline`.
    private func ask(
        _ obstacle: Obstacle,
        _ link: KeyringLink,
        _ deadline: Duration,
        within timeout: Duration
    ) async throws {
        let end = ContinuousClock.now + deadline
        let lock: HeldLock
        do {
            lock = try await files.promptLock(within: state.withLock { $0.hasWaitedElsewhere } ? .zero : deadline)
        } catch AuthenticationError.Code.cacheBusy {
            state.withLock { $0.hasWaitedElsewhere = true }
            throw AuthenticationError.keyringDialogElsewhere
        }
        let isWanted = state.withLock { state in
            state.hasWaitedElsewhere = false
            if state.waiters == 0 { state.question = nil }
            return state.waiters > 0
        }
        // If not, all callers were cancelled while another program's dialog was open.
        guard isWanted else { throw CancellationError() }
        // The other dialog may have removed the obstacle.
        guard try await !link.isGone(obstacle, within: timeout) else { return }
        let answer = Promise<Void>()
        Task {
            // The lock is held while the dialog is open, even if no caller waits any more, so that no other program opens a
            // dialog. The limit is for a keyring that does not report the dialog's end.
            await answer.finish { try await self.runPrompt(for: obstacle, link, within: .seconds(600)) }
            lock.end()
        }
        do {
            try await withDeadline(ContinuousClock.now.duration(to: end)) { try await answer.value() }
        } catch is DeadlineExceeded {
            throw refusal(.keyringTimedOut)
        } catch AuthenticationError.Code.keyringPromptDismissed {
            throw refusal(.keyringPromptDismissed)
        }
    }

    /// Remembers that the person refused or did not answer, and returns the error for it.
    private func refusal(_ code: AuthenticationError.Code) -> AuthenticationError {
        state.withLock { $0.refusal = code }
        return Self.refused(code)
    }

    private static func refused(_ code: AuthenticationError.Code) -> AuthenticationError {
        code == .keyringTimedOut ? .keyringDialogUnanswered : .keyring(code)
    }

    /// Shows the keyring's dialog, and waits until the person has answered it.
    private func runPrompt(for obstacle: Obstacle, _ link: KeyringLink, within timeout: Duration) async throws {
        guard let path = try await link.remove(obstacle, within: timeout) else { return }
        let prompt = PromptRun(link.bus, path, parentWindow: prompting.parentWindow)
        let start = ContinuousClock.now
        guard try await prompt.outcome(within: timeout) == nil else { return }
        guard start.duration(to: .now) >= minimumDialogTime else {
            if case .noCollection = obstacle { throw obstacle.error }
            throw AuthenticationError.keyringWithoutDialog
        }
        throw AuthenticationError.keyring(.keyringPromptDismissed)
    }
}
