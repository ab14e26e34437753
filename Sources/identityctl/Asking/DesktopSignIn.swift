// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import SystemSupport

/// A sign-in that a program begins for the person at this desktop.
enum DesktopSignIn {
    /// Signs in through the browser, by a command of its own that shares its tab with others like it. The command ends by itself
    /// after the time for a sign-in.
    ///
    /// - Parameter keeps: Whether the command gets a variable `IDENTITYCTL_…`.
    /// - Returns: Whether the person is signed in.
    static func run(_ login: SharedOptions, keeping keeps: (String) -> Bool) async throws -> Bool {
        var variables = SystemCall.hasRaisedRights ? [:] : ProcessInfo.processInfo.environment
        variables = variables.filter { !$0.key.hasPrefix("IDENTITYCTL_") || keeps($0.key) }
        // The person looks at a browser, and at no terminal.
        for name in ["manual", "device-code"] { variables[Environment.variable(for: name)] = "0" }
        let outcome = try await DetachedProcess.run(
            "/proc/self/exe",
            arguments: ["identityctl", "login", "--if-needed"] + login.words,
            environment: variables,
            timeout: .seconds(90_000)
        )
        return outcome == .exited(status: 0)
    }
}

/// The turn to sign in, which one process has at a time. After a sign-in that came to nothing, no tab opens for ten minutes.
struct SignInTurn: Sendable {
    static let pause = 600
    /// The least number of seconds between two pages for one address after its first sign-in.
    static let interval = 60
    private static let turns = CacheKey(group: .application("helper"), kind: .application, name: "turn")

    /// The place of the lock by which one process has the turn, and of the note about a sign-in that came to nothing.
    let directory: String

    /// Waits for the turn.
    ///
    /// - Throws: `.cacheBusy` if another process still has it then, and the errors of a lock.
    func take(within time: Duration) async throws -> HeldLock {
        try await SharedLocks(directory: directory, timeout: time, pause: .milliseconds(100)).take(for: Self.turns)
    }

    private var declined: String { "\(directory)/declined" }

    /// Notes that a sign-in came to nothing.
    func decline() throws { try PlainFile.write([], to: declined) }

    /// Whether a sign-in came to nothing a short time ago.
    var isDeclined: Bool { Self.wasWritten(declined, within: Self.pause) }

    private var course: String { "\(directory)/course" }

    /// The course of the last sign-in, as its process has told it.
    func lastCourse() -> SignInCourse {
        let read = try? PlainFile.read(course, atMost: 64 << 10) { _ in }  // nothing is told then
        return SignInCourse(read?.bytes ?? [])
    }

    /// Tells the others how the sign-in goes on. A failure to tell it changes nothing.
    func tell(_ course: SignInCourse) { try? PlainFile.write(course.bytes, to: self.course) }

    private var asked: String { "\(directory)/asked" }

    /// Notes that a page opens where the person was signed in before.
    func noteQuestion() throws { try PlainFile.write([], to: asked) }

    /// Takes that back: no page opened.
    func forgetQuestion() { _ = PlainFile.remove(asked) }

    /// Whether such a page opened in the last minute: a server could demand one for each message.
    var hasAskedLately: Bool { Self.wasWritten(asked, within: Self.interval) }

    private static func wasWritten(_ path: String, within seconds: Int) -> Bool {
        guard let written = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        else { return false }
        return (0..<Double(seconds)).contains(Date.now.timeIntervalSince(written))
    }

    static let hasAsked = "A page for this server was opened in the last minute, so that none opens now."

    static let wasDeclined = "The last sign-in came to nothing, so that no browser is opened for ten minutes."

    /// Whether a page that opens by itself is before the person who wants the token.
    static func isPossible(_ environment: Environment) throws -> Bool {
        guard !SystemCall.hasRaisedRights else { return false }
        let isNamed = try environment.namesBrowser
        guard environment["SSH_CONNECTION"] != nil else { return environment.hasScreen || isNamed }
        // A person who came over SSH does not see this computer's screen. The remote window of an editor names a browser at theirs.
        return isNamed && !environment.hasScreenHere
    }

    /// Whether the person has written that programs may begin a sign-in; `nil` if nothing is written.
    ///
    /// - Throws: `UsageError` for a value that is not known.
    static func isAllowed(_ environment: Environment) throws -> Bool? {
        guard let given = try environment.given("sign-in", nil) else { return nil }
        switch given.text {
        case "when-needed": return true
        case "never": return false
        default: throw given.error("'\(given.text.printable)' is neither never nor when-needed.")
        }
    }
}

/// The course of a sign-in in a process of its own.
struct SignInCourse: Hashable {
    /// Whether a page was opened.
    var hasPage = false
    /// The reason why it came to nothing, or why it waits; empty if it waits for the person at the page.
    var text = ""
    /// The advice if it came to nothing.
    var advice = ""

    init() {}

    /// The advice of a sign-in that came to nothing, beside an error that has its reason.
    struct Advice: Error {
        let text: String
    }

    fileprivate init(_ bytes: [UInt8]) {
        let lines = String(decoding: bytes.dropFirst(), as: UTF8.self).split(
            separator: "\n",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        hasPage = bytes.first == UInt8(ascii: "+")
        (text, advice) = (String(lines.first ?? ""), lines.count > 1 ? String(lines[1]) : "")
    }

    fileprivate var bytes: [UInt8] { Array("\(hasPage ? "+" : "-")\(text)\n\(advice)".utf8) }
}

/// The sign-in of a helper, which opens the browser by itself where a line `sign-in = when-needed` allows it.
///
/// One tab serves all callers.
struct HelperSignIn {
    private let login: SharedOptions
    private let environment: Environment
    private let turns: SignInTurn

    /// - Returns: `nil` if no sign-in may be begun here.
    /// - Throws: `UsageError` for a value that is not known.
    init?(_ environment: Environment, _ login: SharedOptions) throws {
        guard try SignInTurn.isAllowed(environment) == true, try SignInTurn.isPossible(environment),
            let directory = try ProfileDirectory(environment).signInPath(of: environment.profile)
        else { return nil }
        (self.login, self.environment, turns) = (login, environment, SignInTurn(directory: directory))
    }

    /// Returns what `acquire` gives after the sign-in.
    ///
    /// - Throws: `error` if the person is not signed in then; `CancellationError`: the sign-in that has begun goes on.
    func result<Value>(
        after error: AuthenticationError,
        _ console: Console,
        _ acquire: () async throws -> Value
    ) async throws -> Value {
        let turn: HeldLock
        do {
            turn = try await turns.take(within: .seconds(SignInTurn.pause))
        } catch let failure {
            // Where there can be no lock, it is as without the setting.
            throw failure is CancellationError ? failure : error
        }
        defer { turn.end() }
        // The helper that had the turn before may have signed in.
        do { return try await acquire() } catch AuthenticationError.interactionRequired {}
        guard !turns.isDeclined else {
            console.line(SignInTurn.wasDeclined)
            throw error
        }
        console.line(
            "Opening the browser to sign in, as the setting 'sign-in' allows. The same from a terminal: \(login.command("login"))"
        )
        guard try await DesktopSignIn.run(login, keeping: { environment[$0] != nil }) else {
            try turns.decline()
            throw error
        }
        return try await acquire()
    }
}
