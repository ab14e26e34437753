// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import Testing

@testable import IdentityClient
@testable import SystemSupport

/// A directory of small scripts that stand in for the system's programs.
private struct FakeSystem: ~Copyable {
    let directory = FileManager.default.temporaryDirectory.appending(path: "browsers-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    func path(_ name: String) -> String {
        directory.appending(path: name).path
    }

    func install(_ name: String, _ script: String, permissions: Int = 0o755) throws {
        try Data("#!/bin/sh\n\(script)\n".utf8).write(to: directory.appending(path: name))
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path(name))
    }

    /// Returns the lines that a script wrote, once they are complete.
    func report(_ name: String) async throws -> String {
        var text = ""
        _ = try await eventually {
            text = (try? String(contentsOfFile: path(name), encoding: .utf8)) ?? ""
            return text.hasSuffix("end\n")
        }
        return text
    }

    func launcher(
        _ command: [String]? = nil,
        inPrivateWindow: Bool = false,
        timeout: Duration = .seconds(30),
        variables: [String: String] = ["DISPLAY": ":0"],
        isSudo: Bool = false,
        passesAddress: Bool = true,
        withholding withheld: Set<String> = []
    ) -> SystemBrowserLauncher {
        let variables = variables.merging(["PATH": "relative:\(directory.path)::"]) { $1 }
        return SystemBrowserLauncher(
            command: command,
            inPrivateWindow: inPrivateWindow,
            withholding: withheld,
            timeout: timeout,
            passesAddress: passesAddress
        ) {
            LaunchEnvironment(variables: variables, isWSL: false, isSudo: isSudo)
        }
    }
}

/// Serialized: a script cannot be started while a process that is just being forked has it open for writing.
@Suite(.serialized, .timeLimit(.minutes(1))) struct SystemBrowserLauncherTests {
    private let address = "https://login.example/authorize?a=1&b=%20%25s;$(x)&c='d'"
    /// The address as it is passed on: a script in between must not expand any part of it.
    private let passed = "https://login.example/authorize?a=1&b=%20%25s;%24(x)&c='d'"

    private func url(_ text: String) throws -> URL {
        try #require(URL(string: text))
    }

    private func failure(_ launcher: SystemBrowserLauncher, _ text: String = "https://login.example/") async throws
        -> AuthenticationError?
    {
        do {
            try await launcher.open(url(text))
            return nil
        } catch {
            return error as? AuthenticationError
        }
    }

    @Test func startsItWithTheAddressAloneAndNothingOfOurs() async throws {
        let system = try FakeSystem()
        // A descriptor that a careless library leaves open for child processes.
        let inherited = dup(STDERR_FILENO)
        defer { close(inherited) }
        try system.install(
            "xdg-open",
            """
            echo noise; echo noise >&2
            {
              printf '%s\\n' "$#" "$1"
              read -r pid name state parent group session rest < /proc/$$/stat
              test "$pid" = "$session" && echo 'own session'
              echo "DISPLAY=$DISPLAY"
            } > '\(system.path("report"))'
            (/bin/ls -l /proc/$$/fd >> '\(system.path("report"))')
            echo end >> '\(system.path("report"))'
            """
        )
        try await system.launcher().open(url(address))
        let lines = try await system.report("report").split(separator: "\n").map(String.init)
        #expect(lines.prefix(4) == ["1", passed, "own session", "DISPLAY=:0"])
        // `10 -> …/xdg-open` is the shell that reads its script.
        let descriptors = lines.filter { $0.contains(" -> ") && !$0.hasSuffix("/xdg-open") }
            .map { $0.split(separator: " ").suffix(3).joined(separator: " ") }
        #expect(descriptors == ["0 -> /dev/null", "1 -> /dev/null", "2 -> /dev/null"])
    }

    /// Other users can read command lines. The address there is useless to them.
    @Test func keepsTheAddressOutOfTheCommandLine() async throws {
        let system = try FakeSystem()
        try system.install("xdg-open", "echo \"$1\" end > '\(system.path("report"))'")
        let launcher = system.launcher(passesAddress: false)
        let target = try url(address)
        let opening = Task { try await launcher.open(target) }
        let told = try await system.report("report").replacing(" end\n", with: "")
        #expect(told.hasPrefix("http://127.0.0.1:") && !told.contains("login") && !told.contains("?"))
        let start = try url(told)
        let port = UInt16(try #require(start.port))
        let fields = "Host: 127.0.0.1:\(port)\r\nSec-Fetch-Mode: navigate\r\n"
        let answer = try await exchange("GET \(start.path) HTTP/1.1\r\n\(fields)\r\n", port: port)
        #expect(answer.contains("\r\nLocation: \(address)\r\n"))
        try await opening.value
    }

    @Test func withholdsVariables() async throws {
        let system = try FakeSystem()
        try system.install("xdg-open", "echo \"$A_SECRET,$DISPLAY end\" > '\(system.path("report"))'")
        let variables = ["DISPLAY": ":0", "A_SECRET": "s3cret"]
        try await system.launcher(variables: variables, withholding: ["A_SECRET"]).open(url(address))
        #expect(try await system.report("report") == ",:0 end\n")
    }

    @Test func goesOnToTheNextUntilOneWorks() async throws {
        let system = try FakeSystem()
        try system.install("hook", "exit 1")
        try system.install("firefox", "kill -9 $$")
        try system.install("xdg-open", "exit 3")
        try system.install("gio", "exit 0", permissions: 0o644)
        try system.install("gnome-open", "")
        try Data("neither a script nor a program".utf8).write(to: URL(filePath: system.path("gnome-open")))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: system.path("gnome-open"))
        try system.install("kde-open", "echo \"$1\" end > '\(system.path("report"))'")
        let launcher = system.launcher(["hook"], variables: ["DISPLAY": ":0", "BROWSER": "firefox"])
        try await launcher.open(url(address))
        #expect(try await system.report("report") == "\(passed) end\n")

        try system.install("kde-open", "exit 4")
        let message = try #require(await failure(launcher)).message
        for part in ["hook ended with status 1", "firefox was ended by signal 9", "xdg-open ended with status 3"] {
            #expect(message.contains(part))
        }
        #expect(message.contains("gnome-open could not be started") && message.contains("kde-open ended with status 4"))
        #expect(!message.contains("gio"))
    }

    /// An ordinary window would show the person's sessions.
    @Test func opensAPrivateWindowOrNone() async throws {
        let system = try FakeSystem()
        try system.install("xdg-open", "exit 0")
        let variables = [
            "DISPLAY": ":0", "XDG_CONFIG_HOME": system.directory.path, "XDG_DATA_HOME": system.directory.path,
        ]
        let launcher = system.launcher(
            inPrivateWindow: true,
            variables: variables.merging(["XDG_DATA_DIRS": "/none"]) { $1 }
        )
        let failure = try #require(await failure(launcher))
        #expect(failure.code == .browserUnavailable && failure.message.contains("no default browser"))

        try system.install("firefox", "echo \"$#,$1,$2\" end > '\(system.path("report"))'")
        try FileManager.default.createDirectory(atPath: system.path("applications"), withIntermediateDirectories: false)
        try Data("[Desktop Entry]\nExec=firefox %u\n".utf8).write(
            to: URL(filePath: system.path("applications/f.desktop"))
        )
        try Data("[Default Applications]\nx-scheme-handler/https=f.desktop\n".utf8)
            .write(to: URL(filePath: system.path("mimeapps.list")))
        try await launcher.open(url(address))
        #expect(try await system.report("report") == "2,--private-window,\(passed) end\n")
    }

    @Test func doesNotWaitForABrowserThatStays() async throws {
        let system = try FakeSystem()
        try system.install(
            "xdg-open",
            "echo $$ > '\(system.path("pid"))'; echo end >> '\(system.path("pid"))'; exec /bin/sleep 3600"
        )
        let started = ContinuousClock.now
        try await system.launcher(timeout: .milliseconds(200)).open(url(address))
        #expect(ContinuousClock.now - started < .seconds(10))
        let report = try await system.report("pid")
        let process = try #require(report.split(separator: "\n").first.flatMap { pid_t($0) })
        #expect(kill(process, 0) == 0)
        kill(process, SIGKILL)
        // The process is not left as a zombie either.
        #expect(try await eventually { !FileManager.default.fileExists(atPath: "/proc/\(process)") })
    }

    @Test func endsTheWaitWhenCancelled() async throws {
        let system = try FakeSystem()
        try system.install(
            "xdg-open",
            "echo $$ > '\(system.path("pid"))'; echo end >> '\(system.path("pid"))'; exec /bin/sleep 3600"
        )
        let launcher = system.launcher(timeout: .seconds(3600))
        let opening = Task { try await launcher.open(URL(filePath: "/").appending(path: "x")) }
        await #expect(throws: AuthenticationError.self) { try await opening.value }
        let address = try url(address)
        let waiting = Task { try await launcher.open(address) }
        let report = try await system.report("pid")
        let process = try #require(report.split(separator: "\n").first.flatMap { pid_t($0) })
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        kill(process, SIGKILL)
    }

    @Test func takesProgramsFromAbsoluteDirectoriesOnly() throws {
        let system = try FakeSystem()
        try system.install("browser", "exit 0")
        try FileManager.default.createDirectory(atPath: system.path("folder"), withIntermediateDirectories: false)
        func executable(_ name: String, path: String) -> String? {
            LaunchEnvironment(variables: ["PATH": path], isWSL: false, isSudo: false).executable(name)
        }
        #expect(executable("browser", path: system.directory.path) == system.path("browser"))
        #expect(executable("folder", path: system.directory.path) == nil)
        #expect(executable(system.path("browser"), path: "/nowhere") == system.path("browser"))
        #expect(executable("./browser", path: system.directory.path) == nil)
        let up = String(repeating: "../", count: 30)
        #expect(executable("browser", path: up + system.directory.path.dropFirst()) == nil)
        #expect(executable(up + system.path("browser").dropFirst(), path: "/nowhere") == nil)
    }

    @Test func saysWhyThereIsNone() async throws {
        let system = try FakeSystem()
        let headless = try #require(await failure(system.launcher(variables: ["SSH_CONNECTION": "a"])))
        #expect(headless.code == .browserUnavailable)
        #expect(headless.message.contains("no graphical session") && headless.message.contains("SSH"))
        let bare = try #require(await failure(system.launcher(["mybrowser"])))
        #expect(bare.code == .browserUnavailable)
        #expect(bare.message.contains("none of mybrowser, xdg-open") && !bare.message.contains("graphical"))
    }

    @Test func refusesUnderSudo() async throws {
        let system = try FakeSystem()
        try system.install("xdg-open", "exit 0")
        let error = try #require(await failure(system.launcher(isSudo: true)))
        #expect(error.code == .browserUnavailable && error.message.contains("sudo"))
    }

    @Test(arguments: [
        ("https://login.example/a?b#c", true),
        ("http://localhost:4711/a", true),
        ("http://127.0.0.1/a", true),
        ("http://[::1]:1/", true),
        ("http://login.example/", false),
        ("http://127.0.0.1.example/", false),
        ("http://localhost@login.example/", false),
        ("file:///etc/passwd", false),
        ("javascript:alert(1)", false),
        ("--help", false),
        ("https:", false),
    ])
    func opensSecureAddressesOnly(_ text: String, _ isOpened: Bool) async throws {
        let system = try FakeSystem()
        try system.install("xdg-open", "exit 0")
        let error = try await failure(system.launcher(), text)
        #expect(error?.code == (isOpened ? nil : .invalidArgument))
    }

    /// A provider's endpoint is one argument of one program, or is not opened at all.
    @Test(arguments: [
        ("https://login.example/$(touch${IFS}x)", true), ("https://login.example/a?b=`touch x`&c=|touch x", true),
        ("https://login.example/?a=%22;touch%20x;%22&calc.exe", true),
        ("file:///c:/windows/system32/calc.exe?response", false),
        ("a:$(cmd.exe%20/c%20calc)?response_type=code", false), ("http:calc.exe", false), ("ms-calculator:", false),
        ("-inetcpl.cpl", false),
    ])
    func cve_2025_6514_noEndpointReachesAShell(endpoint: String, isOpened: Bool) async throws {
        let system = try FakeSystem()
        let (report, mark) = (system.path("report"), system.path("x"))
        try system.install("xdg-open", "cd '\(system.path(""))'; printf '%s\\n' \"$#\" \"$1\" end > '\(report)'")
        let url = URL(string: endpoint)
        if let url, isOpened {
            try await system.launcher().open(url)
            let signs = [("$", "%24"), ("{", "%7B"), ("}", "%7D")]
            let told = signs.reduce(url.absoluteString) { $0.replacing($1.0, with: $1.1) }
            #expect(try await system.report("report") == "1\n\(told)\nend\n")
        } else if let url {
            let launcher = system.launcher()
            let error = await #expect(throws: AuthenticationError.self) { try await launcher.open(url) }
            #expect(error?.code == .invalidArgument && !FileManager.default.fileExists(atPath: report))
        }
        #expect(!FileManager.default.fileExists(atPath: mark))
    }
}
