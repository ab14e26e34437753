// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Opens the system's browser.
///
/// Tried in this order, until one starts and does not fail within two seconds: the command given, `$BROWSER`, under WSL
/// Windows' own `rundll32.exe` and `wslview`, then `xdg-open`, `gio open`, `gnome-open`, `kde-open` and `microsoft-edge`. They
/// are started without a shell, from absolute directories of `$PATH` only, in a session of their
/// own, without the program's standard streams, so that nothing they print mixes with its output and closing the program
/// does not close the browser. In a sandbox `xdg-open` asks the desktop's portal; it is not asked a second time here.
///
/// A program that comes as an AppImage or a snap has paths into its bundle in `LD_LIBRARY_PATH`, `PATH` and others. They are
/// left out of what the browser is given, and of the search for it, because its libraries are the system's.
///
/// The browser is not given the address itself, because other users of the computer can read its command line. It is given an
/// address on the loopback interface, of one use, which sends it on to the real one and answers no other user. If nothing can
/// listen there, the browser gets the real address.
///
/// `$BROWSER` may name several commands, separated by `:`. In each of them `%s` stands for the address, which is else the
/// last argument, and `%%` for a percent sign. A program's path may have spaces in it.
///
/// ```swift
/// configuration.browser = SystemBrowserLauncher(command: ["firefox", "--new-window"], withholding: ["MY_SECRET"])
/// ```
public struct SystemBrowserLauncher: BrowserLauncher {
    /// How long the browser may take to ask for its page.
    private static let loadingTime = Duration.seconds(300)

    private let command: [String]?
    private let withheld: Set<String>
    private let environment: @Sendable () -> LaunchEnvironment
    private let timeout: Duration
    private let passesAddress: Bool

    /// Creates a launcher.
    ///
    /// - Parameters:
    ///   - command: A program and its arguments, tried first; the address is added as the last argument.
    ///   - variables: Names of environment variables that the browser is not given, such as those with a secret in them.
    ///     The default is none.
    public init(command: [String]? = nil, withholding variables: Set<String> = []) {
        self.init(command: command, withholding: variables, timeout: .seconds(2)) { .current }
    }

    /// - Parameter passesAddress: Whether the command line has the address itself, as where nothing can listen.
    init(
        command: [String]? = nil,
        withholding variables: Set<String> = [],
        timeout: Duration,
        passesAddress: Bool = false,
        environment: @escaping @Sendable () -> LaunchEnvironment
    ) {
        self.command = command
        withheld = variables
        self.passesAddress = passesAddress
        self.environment = environment
        self.timeout = timeout
    }

    /// Opens `url`, and returns when the browser has asked for the page.
    ///
    /// A browser is started within 2 s for each that is tried. If it then does not ask for the page, the call returns after
    /// 5 min, or when the task is cancelled; the address does not work any longer then. A sign-in goes on meanwhile.
    /// - Throws: `AuthenticationError(.browserUnavailable, …)` when there is no graphical session and neither a command
    ///   nor `$BROWSER` opens one, nothing could be started, or the program runs under `sudo`;
    ///   `AuthenticationError(.invalidArgument, …)` when the address is neither `https` nor on the loopback interface;
    ///   `CancellationError`.
    public func open(_ url: URL) async throws {
        let target = try Self.checked(url)
        // Where nothing can listen, a sign-in whose answer comes another way is still possible.
        let start = passesAddress ? nil : try? StartAddress(leadingTo: target)
        // `wslview` puts it between the double quotes of a PowerShell command, where `$(…)` would be carried out.
        try await launch(start?.url.absoluteString ?? target.replacing("$", with: "%24"))
        try await start?.visited(within: Self.loadingTime)
    }

    private func launch(_ address: String) async throws {
        var environment = environment()
        environment.variables = environment.variables.filter { !withheld.contains($0.key) }
        var attempts: [String] = []
        for candidate in BrowserCommand.candidates(command: command, environment: environment) {
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
        if attempts.isEmpty, let problem = InteractionEnvironment(environment, command: command).browserProblem {
            attempts.append(problem)
        }
        throw AuthenticationError(
            .browserUnavailable,
            "No browser could be opened: \(attempts.joined(separator: "; ")). Open the address in a browser yourself."
        )
    }

    /// What a browser or one of the scripts on the way to it could take for something else is never passed on.
    private static func checked(_ url: URL) throws -> String {
        let address = url.absoluteString
        let isLoopback = ["localhost", "127.0.0.1", "::1", "[::1]"].contains(url.host()?.lowercased())
        let scheme = url.scheme?.lowercased()
        guard url.host()?.isEmpty == false, scheme == "https" || scheme == "http" && isLoopback,
            address.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\^`{|}"#.utf8.contains($0) })
        else {
            throw AuthenticationError(
                .invalidArgument,
                "Only https addresses, and http ones of the loopback interface, are opened in a browser."
            )
        }
        return address
    }
}
