// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import Synchronization
import SystemSupport

/// Shows a page to the person. The default opens the system's browser.
///
/// ```swift
/// struct PrintingLauncher: BrowserLauncher {
///     func open(_ url: URL) async throws { print("Open \(url.absoluteString)") }
/// }
/// ```
public protocol BrowserLauncher: Sendable {
    /// Opens `url` and returns as soon as the browser has it, without waiting for the page.
    ///
    /// - Throws: `AuthenticationError(.browserUnavailable, …)` if no browser can be started.
    func open(_ url: URL) async throws
}

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
    package static let loadingTime = Duration.seconds(300)

    /// The question that the browser asks before it goes to an address. `nil`, the default, for none.
    ///
    /// ``open(_:)`` then returns when the person has agreed, and throws `.userCancelled` if the person does not. Where the
    /// launcher cannot listen for the answer, it opens no address.
    public var question: BrowserQuestion?

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
    ///   `AuthenticationError(.userCancelled, …)` if the person does not agree to the ``question``;
    ///   `AuthenticationError(.invalidArgument, …)` if the address is neither `https` nor on the loopback interface;
    ///   `CancellationError`.
    public func open(_ url: URL) async throws {
        let target = try Self.checked(url)
        // Without a listener, a sign-in with another kind of redirect is still possible.
        let start = passesAddress ? nil : try? StartAddress(leadingTo: target, asking: question)
        guard question == nil || start != nil else { throw Self.noPort }
        // `wslview` puts the address between double quotes of a PowerShell command, which would execute `$(…)`.
        try await launch(start?.url.absoluteString ?? target.replacing("$", with: "%24"))
        try await start?.visited(within: Self.loadingTime)
    }

    private static var noPort: AuthenticationError {
        AuthenticationError(
            .browserUnavailable,
            "The question before this sign-in needs a port on the loopback interface, and none is free. Try again."
        )
    }

    /// Asks a question in the browser before the address that follows it is known.
    ///
    /// - Returns: The browser, which waits for the address.
    /// - Throws: As ``open(_:)``; `.interactionTimedOut` without an answer in `limit`.
    package func ask(_ question: BrowserQuestion, within limit: Duration = loadingTime) async throws -> AskedBrowser {
        let target = Promise<String>()
        guard let start = try? StartAddress(leadingTo: target, asking: question) else { throw Self.noPort }
        try await launch(start.url.absoluteString)
        do {
            try await start.agreed(within: limit)
        } catch is DeadlineExceeded {
            throw AuthenticationError(
                .interactionTimedOut,
                "The question in the browser was not answered in time. Try again."
            )
        }
        return AskedBrowser(launcher: self, start: start, target: target)
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
            let desktop = InteractionEnvironment(environment, command: nil).browserProblem
            let problem = PrivateWindow.problem(command: command, environment: environment, desktop)
            throw AuthenticationError(.browserUnavailable, "No private window could be opened: \(problem).")
        }
        if attempts.isEmpty, let problem = InteractionEnvironment(environment, command: command).browserProblem {
            attempts.append(problem)
        }
        throw AuthenticationError(
            .browserUnavailable,
            "No browser could be opened: \(attempts.joined(separator: "; "))."
        )
    }

    /// The address, checked: text that a browser or a script could misread is never passed on.
    fileprivate static func checked(_ url: URL) throws -> String {
        guard let address = url.addressForBrowser else {
            throw AuthenticationError(
                .invalidArgument,
                "Only https addresses, and http addresses on the loopback interface, are opened in a browser."
            )
        }
        return address
    }
}

/// A browser in which the person has agreed to a question, and which waits for the address that follows. Further addresses are
/// opened as usual.
package final class AskedBrowser: BrowserLauncher {
    private let launcher: SystemBrowserLauncher
    private let start: StartAddress
    private let target: Promise<String>
    private let isWaiting = Mutex(true)

    fileprivate init(launcher: SystemBrowserLauncher, start: StartAddress, target: Promise<String>) {
        (self.launcher, self.start, self.target) = (launcher, start, target)
    }

    deinit { target.finish(.failure(CancellationError())) }

    package func open(_ url: URL) async throws {
        let address = try SystemBrowserLauncher.checked(url)
        let isFirst = isWaiting.withLock { isWaiting in
            defer { isWaiting = false }
            return isWaiting
        }
        guard isFirst else { return try await launcher.open(url) }
        target.finish(.success(address))
        try await start.visited(within: SystemBrowserLauncher.loadingTime)
    }

    /// Shows why no address follows.
    package func end(_ error: any Error) { target.finish(.failure(error)) }
}
