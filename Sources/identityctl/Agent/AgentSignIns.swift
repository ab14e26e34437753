// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Logging
import Synchronization
import SystemSupport

/// Tells the person that a profile needs a sign-in, or will soon: once, until a token was had again. Its button signs in.
final class AgentSignIns: Sendable {
    private struct Reminder {
        let number: Int
        let task: Task<Void, Never>
    }

    private enum Need: Hashable {
        case now, soon
    }

    private struct Key: Hashable {
        let profile: String
        let need: Need
    }

    /// An end that the provider announced, and how far it was at the first announcement.
    private struct ForetoldEnd {
        let end: Date
        let span: TimeInterval
    }

    private struct State {
        var last = 0
        var reminders: [Key: Reminder] = [:]
        var ends: [String: ForetoldEnd] = [:]
    }

    private let show: ShowNotice
    private let signIn: @Sendable (AgentProfile) async throws -> Bool
    private let logger: Logger
    private let state = Mutex(State())

    /// The longest time for which a notification stays. A later need brings another.
    private static let patience = Duration.seconds(86_400)

    /// - Parameter signIn: Signs in at this desktop, and returns whether that worked.
    init(show: @escaping ShowNotice, logger: Logger, signIn: @escaping @Sendable (AgentProfile) async throws -> Bool) {
        (self.show, self.logger, self.signIn) = (show, logger, signIn)
    }

    /// Reminds the person of a profile, unless that was done.
    func needed(for profile: AgentProfile) {
        let name = profile.name.printable
        remind(
            Key(profile: profile.name, need: .now),
            profile,
            "A program asks for a token of the profile '\(name)'. There is none until you sign in."
        )
    }

    /// Takes the reminder back, since there is a token.
    func done(for profile: AgentProfile, having result: AuthenticationResult, in application: PublicClientApplication) {
        done(for: profile, until: result.account.refreshTokenExpiresOn, at: application.configuration.clock.now)
    }

    /// Takes the reminder back, since there is a token, and reminds the person if the provider ends the sign-in within three
    /// days.
    ///
    /// An end that each refresh moves, as that of an idle session, is no reason: at least three quarters of the time that was
    /// left at first have to be over.
    func done(for profile: AgentProfile, until end: Date? = nil, at now: Date = .now) {
        takeBack(Key(profile: profile.name, need: .now))
        let soon = Key(profile: profile.name, need: .soon)
        guard let end else { return takeBack(soon) }
        let left = end.timeIntervalSince(now)
        let known = state.withLock { state in
            if let known = state.ends[profile.name], abs(known.end.timeIntervalSince(end)) < 60 { return known }
            let known = ForetoldEnd(end: end, span: left)
            state.ends[profile.name] = known
            return known
        }
        guard left <= min(3 * 86_400, known.span / 4) else { return takeBack(soon) }
        remind(
            soon,
            profile,
            "The sign-in of the profile '\(profile.name.printable)' ends on \(end.utcText). Sign in again before then."
        )
    }

    private func takeBack(_ key: Key) {
        state.withLock { $0.reminders.removeValue(forKey: key) }?.task.cancel()
    }

    private func remind(_ key: Key, _ profile: AgentProfile, _ text: String) {
        // A value that is not known forbids nothing.
        guard (try? Asking.ofAgent(profile.environment)) != .never else { return }
        state.withLock { state in
            guard state.reminders[key] == nil else { return }
            state.last += 1
            let number = state.last
            let task = Task { [self] in await remind(key, profile, text, number) }
            state.reminders[key] = Reminder(number: number, task: task)
        }
    }

    /// Takes all reminders back. A sign-in that has begun goes on.
    func end() {
        for key in state.withLock({ Array($0.reminders.keys) }) { takeBack(key) }
    }

    private func remind(_ key: Key, _ profile: AgentProfile, _ text: String, _ number: Int) async {
        let name = profile.name.printable
        let notice = Notice(
            title: "Sign in for '\(name)'",
            text: text,
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
            // No answer, or no desktop yet: the next need brings another reminder.
            logger.debug("No reminder of a sign-in", metadata: ["profile": "\(name)", "reason": "\(error)"])
        }
        state.withLock { state in
            if state.reminders[key]?.number == number { state.reminders[key] = nil }
        }
    }
}

extension AgentProfile {
    /// Signs in through the browser of this desktop.
    func signIn() async throws -> Bool { try await DesktopSignIn(login: login) { _ in keepsVariables }.run() }
}
