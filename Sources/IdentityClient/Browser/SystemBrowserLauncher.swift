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
/// `$BROWSER` may name several commands, separated by `:`. In each of them `%s` stands for the address, which is else the
/// last argument, and `%%` for a percent sign. A program's path may have spaces in it. A `$` in the address is passed as
/// `%24`, because scripts on the way to a browser may expand it.
public struct SystemBrowserLauncher: BrowserLauncher {
    private let command: [String]?
    private let environment: @Sendable () -> LaunchEnvironment
    private let patience: Duration

    /// Creates a launcher.
    ///
    /// - Parameter command: A program and its arguments, tried first; the address is added as the last argument.
    public init(command: [String]? = nil) {
        self.init(command: command, patience: .seconds(2)) { .current }
    }

    init(
        command: [String]? = nil,
        patience: Duration,
        environment: @escaping @Sendable () -> LaunchEnvironment
    ) {
        self.command = command
        self.environment = environment
        self.patience = patience
    }

    /// Opens `url`, and returns when a browser was started, 2 s later at most for each that was tried.
    ///
    /// - Throws: `AuthenticationError(.browserUnavailable, …)` when there is no graphical session and neither a command
    ///   nor `$BROWSER` opens one, nothing could be started, or the program runs under `sudo`;
    ///   `AuthenticationError(.invalidArgument, …)` when the address is neither `https` nor on the loopback interface;
    ///   `CancellationError`.
    public func open(_ url: URL) async throws {
        let address = try Self.checked(url)
        let environment = environment()
        var attempts: [String] = []
        for candidate in BrowserCommand.candidates(command: command, environment: environment) {
            guard let executable = environment.executable(candidate.program) else { continue }
            let outcome = try await DetachedProcess.run(
                executable,
                arguments: [candidate.program] + candidate.arguments(for: address),
                environment: environment.variables,
                patience: patience
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
            "No browser could be opened: \(attempts.joined(separator: "; ")). Show the address instead."
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
        // `wslview` puts it between the double quotes of a PowerShell command, where `$(…)` would be carried out.
        return address.replacing("$", with: "%24")
    }
}
