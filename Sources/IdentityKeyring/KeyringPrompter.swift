// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

/// Asks the person to unlock the keyring or to create one, if the program allows it. Only one dialog is open at a time
/// among all programs of the user.
///
/// GNOME Keyring keeps a queue of simultaneous prompts. If there are three and the first dialog is closed, it forgets
/// the queue, and no further dialog is shown.
final class KeyringPrompter: Sendable {
    private enum State {
        case none
        case open(Promise<Void>)
        /// Another program's dialog stayed open for the whole time that a caller waited here. No caller waits for it
        /// again.
        case elsewhere
        /// The person refused or did not answer. The person is not asked again until the keyring has been seen
        /// unlocked.
        case over(AuthenticationError.Code)
    }

    private let prompting: KeyringPrompting
    /// Whether it is known that only the person can open the keyring: asking again would leave one more prompt unused.
    private let needsPerson = Mutex(false)
    private let state = Mutex(State.none)
    /// Those who would open a dialog pass one by one.
    private let semaphore = AsyncSemaphore()
    private let place: KeyringPlace
    private let quickestPerson: Duration

    init(_ prompting: KeyringPrompting, at place: KeyringPlace, _ settings: KeyringSettings) {
        self.prompting = prompting
        self.place = place
        quickestPerson = settings.quickestPerson
    }

    /// Notes that the collection is open: the next time it is locked the person may be asked.
    func sawUnlocked() {
        needsPerson.withLock { $0 = false }
        state.withLock { state in
            switch state {
            case .over, .elsewhere: state = .none
            case .none, .open: break
            }
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
            if try await vanishesByItself(obstacle, link, within: timeout) { return }
            throw obstacle.error
        }
        let end = ContinuousClock.now + deadline
        try await semaphore.wait()
        let dialog: Promise<Void>?
        do {
            defer { semaphore.signal() }
            dialog = try await self.dialog(for: obstacle, link, until: end, within: timeout)
        }
        try await dialog?.value()
    }

    /// The dialog that is open, or else a new one, as soon as no other program has one.
    /// - Returns: `nil` when the obstacle is gone by then.
    private func dialog(
        for obstacle: Obstacle,
        _ link: KeyringLink,
        until end: ContinuousClock.Instant,
        within timeout: Duration
    ) async throws -> Promise<Void>? {
        let timeout: Duration
        switch state.withLock({ $0 }) {
        case .open(let result): return result
        case .over(let code): throw Self.unanswered(code)
        case .none: timeout = ContinuousClock.now.duration(to: end)
        case .elsewhere: timeout = .zero
        }
        let right: HeldLock
        do {
            right = try await place.rightToPrompt(within: timeout)
        } catch AuthenticationError.Code.cacheBusy {
            state.withLock { $0 = .elsewhere }
            throw AuthenticationError.keyringDialogElsewhere
        }
        guard try await !link.isGone(obstacle, within: timeout) else { return nil }
        let result = Promise<Void>()
        state.withLock { $0 = .open(result) }
        let answer = Promise<Void>()
        Task {
            // Longer than anybody waits here: while the dialog is open, no other program is to open one. Not for good, as
            // some keyring may forget to tell that it is closed.
            await answer.finish { try await ask(obstacle, link, .seconds(600)) }
            right.end()
        }
        Task { await run(answer, result, ContinuousClock.now.duration(to: end)) }
        return result
    }

    /// Whether the obstacle could be removed without the person. A prompt that it would take is not opened, and no
    /// collection is made.
    func vanishesByItself(_ obstacle: Obstacle, _ link: KeyringLink, within timeout: Duration) async throws -> Bool {
        if case .noCollection = obstacle { return false }
        guard !needsPerson.withLock({ $0 }) else { return false }
        guard try await link.remove(obstacle, within: timeout) == nil else {
            needsPerson.withLock { $0 = true }
            return false
        }
        return true
    }

    /// Waits for the answer until the deadline; the dialog may stay open.
    private func run(_ answer: Promise<Void>, _ result: Promise<Void>, _ deadline: Duration) async {
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await withDeadline(deadline) { try await answer.value() })
        } catch is DeadlineExceeded {
            outcome = .failure(Self.unanswered(.keyringTimedOut))
        } catch {
            outcome = .failure(AuthenticationError.fromKeyring(error))
        }
        var next = State.none  // The keyring ended, or could not ask.
        if case .failure(let error as AuthenticationError) = outcome,
            error.code == .keyringPromptDismissed || error.code == .keyringTimedOut
        {
            next = .over(error.code)
        }
        state.withLock { $0 = next }
        result.finish(outcome)
    }

    private static func unanswered(_ code: AuthenticationError.Code) -> AuthenticationError {
        code == .keyringTimedOut ? .keyringDialogUnanswered : .keyring(code)
    }

    private func ask(_ obstacle: Obstacle, _ link: KeyringLink, _ deadline: Duration) async throws {
        guard let prompt = try await link.remove(obstacle, within: deadline) else { return }
        let start = ContinuousClock.now
        guard
            try await PromptRun(link.bus, prompt, parentWindow: prompting.parentWindow).outcome(within: deadline) == nil
        else { return }
        guard start.duration(to: .now) >= quickestPerson else {
            if case .noCollection = obstacle { throw obstacle.error }
            throw AuthenticationError.keyringWithoutDialog
        }
        throw AuthenticationError.keyring(.keyringPromptDismissed)
    }
}
