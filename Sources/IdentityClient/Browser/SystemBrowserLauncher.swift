// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Opens the system's browser.
///
/// The launcher tries in this order, until a command starts and does not fail within two seconds: the given command, `$BROWSER`, under WSL Windows' own `rundll32.exe` and `wslview`, then `xdg-open`, `gio open`, `gnome-open`, `kde-open` and `microsoft-edge`. Commands start without a shell, only from absolute directories of `$PATH`, in their own session and without the program's standard streams, so that their output does not mix with the program's and closing the program does not close the browser. In a sandbox `xdg-open` asks the desktop's portal.
///
/// A program in an AppImage or a snap has paths into its bundle in `LD_LIBRARY_PATH`, `PATH` and others. The browser's
/// environment and the search for it omit them, because the browser needs the system's libraries.
///
/// The browser does not get the address itself, because other users can read its command line. It gets a one-time
/// address on the loopback interface, which redirects to the real address and answers no other user. If the launcher
/// cannot listen there, the browser gets the real address.
///
/// `$BROWSER` may name several commands, separated by `:`. In each command `%s` stands for the address, otherwise the
/// last argument, and `%%` for a percent sign. A program's path may contain spaces.
///
/// A private window knows nothing of the browser's sessions, and keeps none. With `inPrivateWindow`, the launcher tries only
/// browsers whose option for it is known: of the given command, of `$BROWSER`, and the desktop's default browser (Firefox,
/// LibreWolf, Chromium, Chrome, Brave, Vivaldi, Edge, Opera, GNOME Web, also as a Flatpak or snap). No ordinary window is
/// opened instead. A program in a sandbox, or under WSL, has to name the browser's command.
///
/// ```swift
/// configuration.browser = SystemBrowserLauncher(command: ["firefox", "--new-window"], withholding: ["MY_SECRET"])
/// ```
public struct SystemBrowserLauncher: BrowserLauncher {
    /// The browser's time to request its page.
    private static let loadingTime = Duration.seconds(300)

    private let command: [String]?
    private let inPrivateWindow: Bool
    private let withheld: Set<String>
    private let environment: @Sendable () -> LaunchEnvironment
    private let timeout: Duration
    private let passesAddress: Bool

    /// Creates a launcher.
    ///
    /// - Parameters:
    ///   - command: A program and its arguments, tried first; the address is added as the last argument.
    ///   - inPrivateWindow: Whether the address is opened in a private window of the browser, or not at all.
    ///   - variables: Names of environment variables that the browser does not get, such as secrets. The default is
    ///     none.
    public init(
        command: [String]? = nil,
        inPrivateWindow: Bool = false,
        withholding variables: Set<String> = []
    ) {
        self.init(
            command: command,
            inPrivateWindow: inPrivateWindow,
            withholding: variables,
            timeout: .seconds(2)
        ) { .current }
    }

    /// - Parameter passesAddress: Whether the command line has the address itself.
    init(
        command: [String]? = nil,
        inPrivateWindow: Bool = false,
        withholding variables: Set<String> = [],
        timeout: Duration,
        passesAddress: Bool = false,
        environment: @escaping @Sendable () -> LaunchEnvironment
    ) {
        self.command = command
        self.inPrivateWindow = inPrivateWindow
        withheld = variables
        self.passesAddress = passesAddress
        self.environment = environment
        self.timeout = timeout
    }

    /// Opens `url`, and returns when the browser has requested the page.
    ///
    /// Each tried command takes 2 s at most. If the browser then does not request the page, the call returns after 5
    /// min, or when the task is cancelled; then the address no longer works. A sign-in goes on meanwhile.
    /// - Throws: `AuthenticationError(.browserUnavailable, …)` if there is no graphical session and neither a command
    ///   nor `$BROWSER` opens a browser, if no command starts, if the program runs under `sudo`, or if a private window is
    ///   wanted and no browser with one is known;
    ///   `AuthenticationError(.invalidArgument, …)` if the address is neither `https` nor on the loopback interface;
    ///   `CancellationError`.
    public func open(_ url: URL) async throws {
        let target = try Self.checked(url)
        // Without a listener, a sign-in with another kind of redirect is still possible.
        let start = passesAddress ? nil : try? StartAddress(leadingTo: target)
        // `wslview` puts the address between double quotes of a PowerShell command, which would execute `$(…)`.
        try await launch(start?.url.absoluteString ?? target.replacing("$", with: "%24"))
        try await start?.visited(within: Self.loadingTime)
    }

    private func launch(_ address: String) async throws {
        var environment = environment()
        environment.variables = environment.variables.filter { !withheld.contains($0.key) }
        var attempts: [String] = []
        let candidates = inPrivateWindow ? PrivateWindow.candidates : BrowserCommand.candidates
        for candidate in candidates(command, environment) {
            guard let executable = environment.executable(candidate.program) else { continue }
            let outcome = try await DetachedProcess.run(
                executable,
                arguments: [candidate.program] + candidate.arguments(for: address),
                environment: environment.variables,
                timeout: timeout
            )
            switch outcome {
            case .running, .exited(status: 0): return
            case .exited(let status): attempts.append("\(candidate.program) ended with status \(status)")
            case .signalled(let signal): attempts.append("\(candidate.program) was ended by signal \(signal)")
            case .notStarted(let code): attempts.append("\(candidate.program) could not be started (error \(code))")
            }
        }
        if attempts.isEmpty, inPrivateWindow {
            throw AuthenticationError(
                .browserUnavailable,
                "No private window could be opened: \(PrivateWindow.problem(command: command, environment: environment))."
            )
        }
        if attempts.isEmpty, let problem = InteractionEnvironment(environment, command: command).browserProblem {
            attempts.append(problem)
        }
        throw AuthenticationError(
            .browserUnavailable,
            "No browser could be opened: \(attempts.joined(separator: "; ")). Open the address in a browser yourself."
        )
    }

    /// The address, checked: text that a browser or a script could misread is never passed on.
    private static func checked(_ url: URL) throws -> String {
        guard let address = url.addressForBrowser else {
            throw AuthenticationError(
                .invalidArgument,
                "Only https addresses, and http addresses on the loopback interface, are opened in a browser."
            )
        }
        return address
    }
}
