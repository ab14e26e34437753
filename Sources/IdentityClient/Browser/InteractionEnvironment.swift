// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What there is to sign a person in with, where the program runs; and what that speaks for, with the reason.
///
/// Facts, and a pure decision: nothing is started, and nothing is chosen. The library itself opens the browser when it is
/// told to, and never another way in its place; a program may look here first.
///
/// ```swift
/// let environment = InteractionEnvironment.current()
/// guard environment.recommendation.method == .browser else { return explain(environment.recommendation.reason) }
/// ```
public struct InteractionEnvironment: Hashable, Sendable {
    /// The programs that would be tried to open an address, as absolute paths, the first one first.
    public var browsers: [String] = []

    /// The programs that were looked for, too, and are not installed.
    public var missingBrowsers: [String] = []

    /// What windows are shown on, for example `X11 (:0)`; `nil` where there is nothing.
    public var display: String?

    /// Whether the person sits at another computer, and came over SSH.
    public var isSSH = false

    /// Whether the program runs in a container.
    public var isContainer = false

    /// Whether another user became root for the program.
    public var isSudo = false

    /// Whether somebody can be shown an address, and can paste one. Looked for is a terminal, on standard input and standard
    /// error; a program with windows knows better, and sets it.
    public var isAttended = false

    /// Nobody, and nothing.
    public init() {}
}

extension InteractionEnvironment {
    /// A way to sign in.
    public struct SignInMethod: Hashable, Sendable, CustomStringConvertible {
        /// Its name.
        public let description: String

        /// With the browser of this computer: ``PublicClientApplication/acquireTokenInteractively(_:)``.
        public static let browser = SignInMethod(description: "browser")

        /// With a browser elsewhere: the person is shown the address of
        /// ``PublicClientApplication/prepareAuthorization(_:)``, and pastes the one that the browser ends at.
        ///
        /// The device code needs no more than this. Whether it may stand in its place is the program's to say: many
        /// organisations forbid it, and so it is never recommended.
        public static let manualPaste = SignInMethod(description: "manual paste")
    }

    /// A way, and why.
    public struct Recommendation: Hashable, Sendable {
        /// How to sign in; `nil` where nobody is there to do so: the program best ends, and says what a person has to do.
        public let method: SignInMethod?
        /// Why, in words that fit into a sentence.
        public let reason: String
    }

    /// What the facts speak for: the browser where one can be opened, else manual paste where somebody is there.
    public var recommendation: Recommendation {
        guard let problem = browserProblem else {
            return Recommendation(method: .browser, reason: "\(browsers.first ?? "a browser") can show the page")
        }
        guard isAttended else {
            return Recommendation(
                method: nil,
                reason: "\(problem), and there is no terminal at which the address could be shown"
            )
        }
        return Recommendation(method: .manualPaste, reason: problem)
    }

    /// Why no browser can be opened, in words that fit into a sentence; `nil` where one can be tried.
    public var browserProblem: String? {
        if isSudo { return "under sudo none is started, because it would run as root (run the program as yourself)" }
        guard browsers.isEmpty else { return nil }
        let missing =
            missingBrowsers.isEmpty
            ? nil : "none of \(missingBrowsers.joined(separator: ", ")) is an installed program"
        let reasons = [missing, display == nil ? noSession : nil].compactMap(\.self)
        return reasons.isEmpty ? "no command is known" : reasons.joined(separator: ", and ")
    }

    private var noSession: String {
        let facts = [
            "DISPLAY and WAYLAND_DISPLAY are not set", isSSH ? "this is an SSH session" : nil,
            isContainer ? "this is a container" : nil,
        ]
        return "there is no graphical session (\(facts.compactMap(\.self).joined(separator: "; ")))"
    }
}

extension InteractionEnvironment {
    /// Looks around: at variables, terminals, and for programs in `$PATH`. Some system calls, no waiting.
    ///
    /// - Parameter browserCommand: A program and its arguments, tried first, as ``SystemBrowserLauncher`` is given it.
    public static func current(browserCommand: [String]? = nil) -> InteractionEnvironment {
        InteractionEnvironment(.current, command: browserCommand)
    }

    init(_ launch: LaunchEnvironment, command: [String]?) {
        for candidate in BrowserCommand.candidates(command: command, environment: launch) {
            if let path = launch.executable(candidate.program) {
                browsers.append(path)
            } else {
                missingBrowsers.append(candidate.program)
            }
        }
        display = launch.display
        isSSH = ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"].contains { launch.value($0) != nil }
        isContainer = launch.isContainer
        isSudo = launch.isSudo
        isAttended = launch.isAttended
    }
}
