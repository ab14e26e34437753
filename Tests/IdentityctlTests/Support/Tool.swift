// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import Synchronization
import Testing

/// The built tool, running as a separate process.
final class Tool: Sendable {
    struct Outcome: Sendable {
        let status: Int32
        let output: String
        let errors: String

        /// The lines of standard error.
        var errorLines: [String] { errors.split(separator: "\n").map(String.init) }
    }

    private let process: Mutex<Process>
    private let input: PrivatePipe
    private let output: Collector
    private let errors: Collector
    private let browser = BrowserStandIn()

    /// The executable is beside the tests.
    static var executable: URL {
        get throws { try executable("identityctl") }
    }

    private static func executable(_ name: String) throws -> URL {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0) } ?? own
        let tool = bundle.deletingLastPathComponent().appendingPathComponent(name)
        try #require(FileManager.default.isExecutableFile(atPath: tool.path), "\(tool.path) is not there")
        return tool
    }

    /// Starts the tool in an environment with only `variables` and the search path.
    ///
    /// - Parameter redirections: Redirections of the tool's descriptors, in a shell's syntax.
    convenience init(
        _ arguments: [String],
        _ variables: [String: String] = [:],
        outputPath: String? = nil,
        terminal: FileHandle? = nil,
        redirections: String? = nil,
        program: String = "identityctl"
    ) throws {
        let process = Process()
        process.executableURL = try Self.executable(program)
        process.arguments = arguments
        if let redirections {
            process.executableURL = URL(fileURLWithPath: "/bin/bash")
            process.arguments = ["-c", "exec \"$0\" \"$@\" \(redirections)", try Self.executable.path] + arguments
        }
        try self.init(process, variables, outputPath: outputPath, terminal: terminal)
    }

    /// Starts the tool in the foreground of a terminal of its own (`/dev/tty`), whose mode is reported on standard error
    /// afterwards.
    convenience init(_ arguments: [String], _ variables: [String: String], controlledBy terminal: FileHandle) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        // When the session's first process ends, the terminal is hung up.
        let script = #"trap : INT; "$0" "$@"; status=$?; stty -a >&2; exit $status"#
        process.arguments = ["--ctty", "--wait", "/bin/sh", "-c", script, try Self.executable.path] + arguments
        try self.init(process, variables, outputPath: nil, terminal: terminal)
    }

    /// Runs a line that begins with the tool's name in a POSIX shell.
    convenience init(advised line: some StringProtocol, _ variables: [String: String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "exec \"$0\" \(line.trimmingPrefix("identityctl "))", try Self.executable.path]
        try self.init(process, variables, outputPath: nil, terminal: nil)
    }

    /// Runs a line of a POSIX shell that calls another program, which calls the tool.
    convenience init(shell line: String, _ variables: [String: String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", line]
        try self.init(process, variables, outputPath: nil, terminal: nil)
    }

    private init(
        _ process: Process,
        _ variables: [String: String],
        outputPath: String?,
        terminal: FileHandle?
    ) throws {
        var variables = variables
        if process.arguments?.first == "mcp" {
            // A bridge takes what is not set from the process that started it, which is the tests'.
            variables = Dictionary(Self.namesOfParent.map { ($0, "") }) { $1 }.merging(variables) { $1 }
        }
        let inherited = ProcessInfo.processInfo.environment.filter { ["PATH", "LD_LIBRARY_PATH"].contains($0.key) }
        var environment = inherited.merging(variables) { $1 }
        if environment["IDENTITYCTL_BROWSER"] == BrowserStandIn.name {
            environment["IDENTITYCTL_BROWSER"] = try browser.command
        }
        process.environment = environment
        let (input, outputPipe, errorPipe) = (try PrivatePipe(), try PrivatePipe(), try PrivatePipe())
        process.standardInput = terminal ?? input.reading
        process.standardOutput =
            try outputPath.map { try #require(FileHandle(forWritingAtPath: $0)) } ?? outputPipe.writing
        process.standardError = errorPipe.writing
        try process.run()
        for end in [input.reading, outputPipe.writing, errorPipe.writing] { try end.close() }
        self.input = input
        output = Collector(outputPipe)
        errors = Collector(errorPipe)
        self.process = Mutex(process)
    }

    deinit {
        process.withLock { if $0.isRunning { $0.terminate() } }
    }

    /// Runs the tool to its end, with nothing on standard input.
    static func run(
        _ arguments: [String],
        _ variables: [String: String] = [:],
        outputPath: String? = nil,
        redirections: String? = nil
    ) async throws -> Outcome {
        let tool = try Tool(arguments, variables, outputPath: outputPath, redirections: redirections)
        try tool.closeInput()
        return try await tool.outcome()
    }

    func type(_ line: String) throws {
        try typeBytes(Array("\(line)\n".utf8))
    }

    func typeBytes(_ bytes: [UInt8]) throws {
        try input.writing.write(contentsOf: Data(bytes))
    }

    func closeInput() throws {
        try input.writing.close()
    }

    /// The number of its process.
    var identifier: pid_t { process.withLock(\.processIdentifier) }

    /// Sends a signal, by default that of Ctrl-C.
    ///
    /// - Returns: Whether the tool was still running.
    @discardableResult
    func interrupt(by signal: Int32 = SIGINT) -> Bool {
        process.withLock { $0.isRunning && kill($0.processIdentifier, signal) == 0 }
    }

    enum SignalState { case usual, ignored, handled }

    /// Watches what a signal does to the tool, without a pause, until the tool handles it.
    ///
    /// - Returns: `nil` if it does not within a second.
    func statesUntilHandled(_ signal: Int32) -> Set<SignalState>? {
        let status = unsafe open("/proc/\(process.withLock(\.processIdentifier))/status", O_RDONLY | O_CLOEXEC)
        defer { close(status) }
        var buffer = [CChar](repeating: 0, count: 8192)
        var states: Set<SignalState> = []
        let deadline = ContinuousClock.now + .seconds(1)
        while ContinuousClock.now < deadline {
            guard unsafe pread(status, &buffer, buffer.count - 1, 0) > 0 else { return nil }
            func has(_ set: String) -> Bool {
                guard let line = unsafe strstr(buffer, set) else { return false }
                return unsafe strtoull(line + set.utf8.count, nil, 16) & 1 << (signal - 1) != 0
            }
            states.insert(has("SigCgt:\t") ? .handled : has("SigIgn:\t") ? .ignored : .usual)
            if states.contains(.handled) { return states }
        }
        return nil
    }

    /// Returns the line of standard error that `isWanted`.
    func errorLine(where isWanted: @escaping @Sendable (String) -> Bool) async throws -> String {
        try await poll("a line on standard error, which so far was: \(errors.text)") {
            self.errors.text.split(separator: "\n").map(String.init).first(where: isWanted)
        }
    }

    /// Whether its stand-in browser was started and has requested the page.
    var hasOpenedBrowser: Bool { browser.address != nil }

    /// The address that the tool shows, or that its browser was led to.
    func shownAddress() async throws -> URL {
        let line = try await poll("an address; standard error so far was: \(errors.text)") {
            self.browser.address
                ?? self.errors.text.split(separator: "\n").map(String.init).first { $0.hasPrefix("  http") }
        }
        return try #require(URL(string: line.trimmingCharacters(in: .whitespaces)))
    }

    /// Where the browser was led.
    var openedAddress: String? { browser.address }

    /// The page that the browser was asked with first.
    var question: String? { browser.question }

    /// Whether it is no longer running.
    var hasEnded: Bool { process.withLock { !$0.isRunning } }

    /// The standard output so far.
    var text: String { output.text }

    func outcome() async throws -> Outcome {
        try await poll("the tool's end; it wrote: \(errors.text)") {
            self.output.hasEnded && self.errors.hasEnded && self.process.withLock { !$0.isRunning } ? () : nil
        }
        return Outcome(status: process.withLock { $0.terminationStatus }, output: output.text, errors: errors.text)
    }

    /// Checks repeatedly, a little shorter than a test may take: the limit of a test does not say what was waited for.
    func poll<Value>(_ what: @autoclosure () -> String, _ look: () -> Value?) async throws -> Value {
        let deadline = ContinuousClock.now + .seconds(55)
        while ContinuousClock.now < deadline {
            if let value = look() { return value }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw TimedOut(what: what())
    }
}

struct TimedOut: Error {
    let what: String
}

/// The data that arrives on a pipe.
private final class Collector: Sendable {
    private let state = Mutex((bytes: [UInt8](), hasEnded: false))

    init(_ pipe: PrivatePipe) {
        let handle = pipe.reading
        Thread.detachNewThread { [self] in
            while true {
                let data = handle.availableData
                state.withLock { state in
                    state.bytes += data
                    state.hasEnded = data.isEmpty
                }
                guard data.isEmpty else { continue }
                // A detached thread does not let go of what it used: without this, each tool would cost two descriptors.
                try? handle.close()
                return
            }
        }
    }

    var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }
}
