// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import SystemSupport

/// Describes which sign-in methods are available here and recommends one, with the reason.
///
/// It only reports facts and a recommendation; it starts nothing. The library itself opens the browser when a program
/// asks, and never switches to another method; a program may check here first.
///
/// ```swift
/// let environment = InteractionEnvironment.current()
/// guard environment.recommendation.method == .browser else { return explain(environment.recommendation.reason) }
/// ```
public struct InteractionEnvironment: Hashable, Sendable {
    /// The programs to try for opening an address, as absolute paths, in order.
    public var browsers: [String] = []

    /// The other known programs, which are not installed.
    public var missingBrowsers: [String] = []

    /// The display for windows, for example `X11 (:0)`; `nil` if there is none.
    public var display: String?

    /// Whether the person uses another computer, over SSH.
    public var isSSH = false

    /// Whether the program runs in a container.
    public var isContainer = false

    /// Whether another user became root for the program.
    public var isSudo = false

    /// Whether a person can see and paste an address. The default checks for a terminal on standard input and standard
    /// error; a program with windows sets the value itself.
    public var isAttended = false

    /// Creates an environment without a person and without a browser.
    public init() {}
}

extension InteractionEnvironment {
    /// A method to sign in.
    ///
    /// ```swift
    /// if recommendation.method == .manualPaste { try await signInByPasting() }
    /// ```
    public struct SignInMethod: Hashable, Sendable, CustomStringConvertible {
        /// Its name.
        public let description: String

        /// The browser of this computer: ``PublicClientApplication/acquireTokenInteractively(_:)``.
        public static let browser = SignInMethod(description: "browser")

        /// A browser elsewhere: the person opens the address of ``PublicClientApplication/prepareAuthorization(_:)``
        /// there, and pastes the browser's final address.
        ///
        /// The device code has the same requirements. The program decides whether to offer it instead: many
        /// organizations forbid it, so it is never recommended.
        public static let manualPaste = SignInMethod(description: "manual paste")
    }

    /// A sign-in method, and the reason.
    ///
    /// ```swift
    /// let recommendation = InteractionEnvironment.current().recommendation
    /// if recommendation.method == nil { print("Sign in at a terminal: \(recommendation.reason).") }
    /// ```
    public struct Recommendation: Hashable, Sendable {
        /// The recommended method; `nil` if no person is there: the program should end, and tell what a person must do.
        public let method: SignInMethod?
        /// The reason, in words that fit into a sentence.
        public let reason: String
    }

    /// The recommendation: the browser if it can be opened, otherwise manual paste if a person is there.
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

    /// The reason why no browser can be opened, in words that fit into a sentence; `nil` if a browser can be tried.
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
    /// Examines variables and terminals, and looks for programs in `$PATH`. Some system calls, no waiting.
    ///
    /// - Parameter browserCommand: A program and its arguments, tried first, as for ``SystemBrowserLauncher``.
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
