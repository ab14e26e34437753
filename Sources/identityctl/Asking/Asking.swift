// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import SystemSupport

/// The answer to *may a person be asked* to sign in, by whom, and once.
///
/// Commands, helpers, the bridge and the agent ask here. An agent has its own person, so that a program that asks an agent asks no
/// other.
enum Asking: Hashable, Sendable {
    /// No person is asked: the error says what to run.
    case never
    /// A process of its own opens a page at this desktop, once for all programs that wait: see ``SignInTurn``.
    case atDesktop
    /// The command asks at its terminal, and opens a page.
    case here
}

extension Asking {
    /// A command that a person runs asks here, if there is a terminal or a screen.
    static func ofCommand(_ variables: Variables, isTerminal: Bool) -> Asking {
        guard variables.agent == nil else { return .never }
        return isTerminal || variables.hasScreen ? .here : .never
    }

    /// A helper asks only where the person has written that it may.
    ///
    /// - Throws: `UsageError` for a value that is not known.
    static func ofHelper(_ variables: Variables) throws -> Asking {
        guard variables.agent == nil, try isAllowed(variables) == true else { return .never }
        return try isAtDesktop(variables) ? .atDesktop : .never
    }

    /// A bridge asks unless the person has written that it may not.
    ///
    /// - Parameter showsPages: Whether the AI program shows pages itself, so that no desktop has to be here.
    /// - Throws: `UsageError` for a value that is not known.
    static func ofBridge(_ variables: Variables, showsPages: Bool) throws -> Asking {
        guard variables.agent == nil, try isAllowed(variables) != false else { return .never }
        return try showsPages || isAtDesktop(variables) ? .atDesktop : .never
    }

    /// An agent shows a notice, whose button signs in, unless the person has written that programs may begin no sign-in.
    ///
    /// - Throws: `UsageError` for a value that is not known.
    static func ofAgent(_ variables: Variables) throws -> Asking {
        try isAllowed(variables) == false ? .never : .atDesktop
    }

    /// Whether a page that opens by itself is before the person who wants the token.
    private static func isAtDesktop(_ variables: Variables) throws -> Bool {
        guard !SystemCall.hasRaisedRights else { return false }
        let isNamed = try variables.namesBrowser
        guard variables["SSH_CONNECTION"] != nil else { return variables.hasScreen || isNamed }
        // A person who came over SSH does not see this computer's screen. The remote window of an editor names a browser at theirs.
        return isNamed && !variables.hasScreenHere
    }

    /// Whether the person has written that programs may begin a sign-in; `nil` if nothing is written.
    ///
    /// - Throws: `UsageError` for a value that is not known.
    static func isAllowed(_ variables: Variables) throws -> Bool? {
        guard let given = try variables.given("sign-in", nil) else { return nil }
        switch given.text {
        case "when-needed": return true
        case "never": return false
        default: throw given.error("'\(given.text.printable)' is neither never nor when-needed.")
        }
    }

    /// Returns what `work` gives. Where that needs a person, and one may be asked, returns what it gives after the sign-in.
    ///
    /// - Parameters:
    ///   - asking: Whether a person may be asked, which only matters then.
    ///   - signIn: Signs in, or finds that another process has.
    /// - Throws: The errors of `work`, of `asking` and of `signIn`.
    static func result<Value>(
        _ asking: @autoclosure () throws -> Asking,
        of work: () async throws -> Value,
        signingIn signIn: (AuthenticationError) async throws -> Void
    ) async throws -> Value {
        do {
            return try await work()
        } catch let error as AuthenticationError where .interactionRequired ~= error.code {
            guard try asking() != .never else { throw error }
            try await signIn(error)
            return try await work()
        }
    }
}

/// A sign-in by a command of its own, which a program begins for the person at this desktop. The command shares its tab with others
/// like it, ends by itself after the time for a sign-in, and goes on if the program ends.
struct DesktopSignIn: Sendable {
    let login: SharedOptions
    /// Whether the command gets a variable `IDENTITYCTL_…`.
    let keeps: @Sendable (String) -> Bool

    /// - Returns: Whether the person is signed in.
    func run() async throws -> Bool {
        let outcome = try await DetachedProcess.run(
            "/proc/self/exe",
            arguments: ["identityctl", "login", "--if-needed"] + login.words,
            environment: Self.variables(keeping: keeps),
            timeout: .seconds(90_000)
        )
        return outcome == .exited(status: 0)
    }

    /// Signs in once for all programs that wait for the turn.
    ///
    /// - Parameter isSignedIn: Whether the program that had the turn before has signed in.
    /// - Throws: `error` if the person is not signed in then; `CancellationError`: the sign-in that has begun goes on.
    func run(
        inTurn turns: SignInTurn,
        after error: AuthenticationError,
        _ console: Console,
        unless isSignedIn: () async throws -> Bool
    ) async throws {
        let turn: HeldLock
        do {
            turn = try await turns.take(within: .seconds(SignInTurn.pause))
        } catch let failure {
            // Where there can be no lock, it is as without the setting.
            throw failure is CancellationError ? failure : error
        }
        defer { turn.end() }
        if try await isSignedIn() { return }
        guard !turns.isDeclined else {
            console.line(SignInTurn.wasDeclined)
            throw error
        }
        console.line(
            "Opening the browser to sign in, as the setting 'sign-in' allows. The same from a terminal: \(login.command("login"))"
        )
        guard try await run() else {
            try turns.decline()
            throw error
        }
    }

    /// The variables of a process that goes on by itself. The person looks at a browser, and at no terminal.
    ///
    /// - Parameter keeps: Whether it gets a variable `IDENTITYCTL_…`.
    static func variables(keeping keeps: (String) -> Bool = { _ in true }) -> [String: String] {
        var variables = SystemCall.hasRaisedRights ? [:] : ProcessInfo.processInfo.environment
        variables = variables.filter { !$0.key.hasPrefix("IDENTITYCTL_") || keeps($0.key) }
        for name in ["manual", "device-code", "print-token", "json"] {
            variables[Variables.variable(for: name)] = "0"
        }
        return variables
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

    /// The course of the last sign-in, as its process reports it.
    func lastCourse() -> SignInCourse {
        let read = try? PlainFile.read(course, atMost: 64 << 10) { _ in }  // nothing is known then
        return SignInCourse(read?.bytes ?? [])
    }

    /// Reports to the others how the sign-in goes on. A failure to report it changes nothing.
    func report(_ course: SignInCourse) { try? PlainFile.write(course.bytes, to: self.course) }

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
}

extension SignInTurn {
    /// Waits for the turn to sign in to a provider with a client, or for a resource, in a group. If no lock can be had, as in a
    /// container whose user has no home, that is said, and every process has its turn at once.
    static func ofCommand(
        in directory: @autoclosure () throws -> String,
        of names: [String],
        _ group: CacheGroup,
        _ timeout: Duration,
        _ console: Console
    ) async throws -> HeldLock? {
        let key = CacheKey(group: group, kind: .application, name: Digest.hexadecimal(of: names))
        func take(_ timeout: Duration) async throws -> HeldLock {
            let directory = try directory() + "/sign-in"
            return try await SharedLocks(directory: directory, timeout: timeout, pause: .milliseconds(100)).take(
                for: key
            )
        }
        do {
            do {
                return try await take(.zero)
            } catch AuthenticationError.Code.cacheBusy {
                console.line("Another sign-in for this client is under way. Waiting for its end; Ctrl-C gives up.")
            }
            return try await take(timeout)
        } catch AuthenticationError.Code.cacheBusy {
            throw AuthenticationError(
                .interactionTimedOut,
                "Another sign-in for this client did not end in time. Finish it in the browser, or end it, and try again."
            )
        } catch let error as AuthenticationError where .cache ~= error.code {
            console.line(
                "Commands that sign in at the same time cannot wait for each other here, so each opens a page. \(error.message)"
            )
            return nil
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
