// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Logging
import Synchronization
import SystemSupport

/// Tells the person that a profile needs a sign-in: once, until a token was had again. Its button signs in.
final class AgentSignIns: Sendable {
    private struct Reminder {
        let number: Int
        let task: Task<Void, Never>
    }

    private struct State {
        var last = 0
        var reminders: [String: Reminder] = [:]
    }

    private let show: ShowNotice
    private let signIn: @Sendable (AgentProfile) async throws -> Bool
    private let logger: Logger
    private let state = Mutex(State())

    /// The longest time for which a notification stays. A later need is told again.
    private static let patience = Duration.seconds(86_400)

    /// - Parameter signIn: Signs in at this desktop, and returns whether that worked.
    init(show: @escaping ShowNotice, logger: Logger, signIn: @escaping @Sendable (AgentProfile) async throws -> Bool) {
        (self.show, self.logger, self.signIn) = (show, logger, signIn)
    }

    /// Reminds the person of a profile, unless that was done.
    func needed(for profile: AgentProfile) {
        state.withLock { state in
            guard state.reminders[profile.name] == nil else { return }
            state.last += 1
            let number = state.last
            let task = Task { [self] in await remind(profile, number) }
            state.reminders[profile.name] = Reminder(number: number, task: task)
        }
    }

    /// Takes the reminder back, since there is a token.
    func done(for profile: String) {
        state.withLock { $0.reminders.removeValue(forKey: profile) }?.task.cancel()
    }

    /// Takes all reminders back. A sign-in that has begun goes on.
    func end() {
        for profile in state.withLock({ Array($0.reminders.keys) }) { done(for: profile) }
    }

    private func remind(_ profile: AgentProfile, _ number: Int) async {
        let name = profile.name.printable
        let notice = Notice(
            title: "Sign in for '\(name)'",
            text: "A program asks for a token of the profile '\(name)'. There is none until you sign in.",
            buttons: [Notice.Button(key: "sign-in", label: "Sign in")]
        )
        do {
            guard try await show(notice, Self.patience) == "sign-in" else { return }  // the person does not want to
            let isSignedIn = try await signIn(profile)
            logger.info(isSignedIn ? "Signed in" : "The sign-in failed", metadata: ["profile": "\(name)"])
            if !isSignedIn {
                let failure = Notice(
                    title: "No sign-in for '\(name)'",
                    text: "To see the reason, sign in from a terminal: \(profile.login.command("login"))"
                )
                _ = try await show(failure, .seconds(60))
            }
        } catch is CancellationError {
            return
        } catch {
            // No answer, or no desktop yet: the next need is told again.
            logger.debug("No reminder of a sign-in", metadata: ["profile": "\(name)", "reason": "\(error)"])
        }
        state.withLock { state in
            if state.reminders[profile.name]?.number == number { state.reminders[profile.name] = nil }
        }
    }
}

extension AgentProfile {
    /// Signs in through the browser of this desktop.
    func signIn() async throws -> Bool { try await DesktopSignIn.run(login) { _ in keepsVariables } }
}
