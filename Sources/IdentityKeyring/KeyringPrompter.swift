// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

/// Asks the person to unlock the keyring, where the program lets it, one dialog at a time.
final class KeyringPrompter: Sendable {
    private enum State {
        case none
        case open(SharedResult<Bool>)
        /// The person said no, or nothing: nobody is asked again before the keyring has been seen unlocked.
        case over(AuthenticationError.Code)
    }

    private let prompting: KeyringPrompting
    /// Whether it is known that only the person can open the keyring: asking again would leave one more prompt unused.
    private let needsPerson = Mutex(false)
    private let state = Mutex(State.none)

    init(_ prompting: KeyringPrompting) {
        self.prompting = prompting
    }

    /// Notes that the collection is open: the next time it is locked the person may be asked.
    func sawUnlocked() {
        needsPerson.withLock { $0 = false }
        state.withLock { state in
            if case .over = state { state = .none }
        }
    }

    /// Has a locked collection unlocked. One without a password, as many have who log in without one, opens without a
    /// dialog, whether the person may be asked or not.
    ///
    /// - Throws: `.keyringLocked` where nobody is asked, `.keyringPromptDismissed` when the person closed the dialog,
    ///   `.keyringTimedOut` when nobody answered, `CancellationError`.
    func unlock(_ collection: String, with link: KeyringLink, within timeout: Duration) async throws {
        guard let deadline = prompting.deadline else {
            if try await opensByItself(collection, link, within: timeout) { return }
            throw AuthenticationError.keyring(.keyringLocked)
        }
        let (result, isNew) = try state.withLock { state -> (SharedResult<Bool>, Bool) in
            switch state {
            case .open(let result): return (result, false)
            case .over(let code): throw AuthenticationError.keyring(code)
            case .none:
                let result = SharedResult<Bool>()
                state = .open(result)
                return (result, true)
            }
        }
        if isNew { Task { await self.run(collection, link, result, deadline) } }
        guard try await result.value() else { throw AuthenticationError.keyring(.keyringPromptDismissed) }
    }

    /// Whether the collection could be opened without the person. A prompt that it would take is not opened.
    func opensByItself(_ collection: String, _ link: KeyringLink, within timeout: Duration) async throws -> Bool {
        guard !needsPerson.withLock({ $0 }) else { return false }
        guard try await prompt(for: collection, link, timeout) == nil else {
            needsPerson.withLock { $0 = true }
            return false
        }
        return true
    }

    private func run(
        _ collection: String,
        _ link: KeyringLink,
        _ result: SharedResult<Bool>,
        _ deadline: Duration
    ) async {
        let outcome: Result<Bool, any Error>
        do {
            outcome = .success(try await ask(collection, link, deadline))
        } catch {
            outcome = .failure(AuthenticationError.fromKeyring(error))
        }
        let next: State =
            switch outcome {
            case .success(false): .over(.keyringPromptDismissed)
            case .failure(AuthenticationError.Code.keyringTimedOut): .over(.keyringTimedOut)
            // The keyring ended, or could not ask.
            case .success(true), .failure: .none
            }
        state.withLock { $0 = next }
        result.finish(outcome)
    }

    private func ask(_ collection: String, _ link: KeyringLink, _ deadline: Duration) async throws -> Bool {
        guard let prompt = try await prompt(for: collection, link, deadline) else { return true }
        return try await PromptRun(link.bus, prompt).outcome(within: deadline) != nil
    }

    /// Has the keyring unlock a collection.
    /// - Returns: The prompt that it takes, which is not open yet; `nil` when it is done.
    private func prompt(for collection: String, _ link: KeyringLink, _ deadline: Duration) async throws -> String? {
        let reply = try await link.call(
            "Unlock",
            of: "Service",
            at: KeyringLink.root,
            "([objectpath '\(collection)'],)",
            "(aoo)",
            within: deadline
        )
        guard let prompt = reply[1]?.text, prompt != "/" else { return nil }
        return prompt
    }
}
