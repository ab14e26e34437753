// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import Testing

@testable import IdentityClient
@testable import SystemSupport

@Suite struct BrowserCommandTests {
    private static let desktop = ["xdg-open", "gio open", "gnome-open", "kde-open"]

    @Test(
        arguments: [
            ([:], false, nil, []),
            (["DISPLAY": "", "WAYLAND_DISPLAY": ""], false, nil, []),
            (["DISPLAY": ":0"], false, nil, desktop + ["microsoft-edge"]),
            (["WAYLAND_DISPLAY": "wayland-0"], false, nil, desktop + ["microsoft-edge"]),
            // xdg-open may hang there.
            ([:], true, nil, ["rundll32.exe url.dll,FileProtocolHandler", "wslview"] + desktop + ["microsoft-edge"]),
            (["BROWSER": "firefox"], false, nil, ["firefox"]),
            (["BROWSER": ":firefox -P  me: \t:/opt/b --url=%s"], false, nil, ["firefox -P me", "/opt/b --url=%s"]),
            (["BROWSER": "\"/opt/a b/c\" --new 'x':'/d e' %s"], false, nil, ["/opt/a b/c --new 'x'", "/d e %s"]),
            (["BROWSER": "\"/opt/a b"], false, nil, ["\"/opt/a b"]),
            (["BROWSER": "firefox", "DISPLAY": ":0"], false, nil, ["firefox"] + desktop + ["microsoft-edge"]),
            ([:], false, ["chromium", "--app"], ["chromium --app"]),
            (["BROWSER": "firefox"], false, ["chromium"], ["chromium", "firefox"]),
            (["BROWSER": "firefox"], false, [], ["firefox"]),
        ] as [([String: String], Bool, [String]?, [String])]
    )
    func triesInOrder(_ variables: [String: String], _ isWSL: Bool, _ command: [String]?, _ expected: [String]) {
        let environment = LaunchEnvironment(variables: variables, isWSL: isWSL, isSudo: false)
        let candidates = BrowserCommand.candidates(command: command, environment: environment)
        #expect(candidates.map { ([$0.program] + $0.arguments).joined(separator: " ") } == expected)
    }

    /// Paths of Windows programs contain spaces. WSL finds them below `/mnt/c`.
    @Test(arguments: [
        ("DIR/Program Files/firefox", "DIR/Program Files/firefox", []),
        ("DIR/Program Files/firefox -P  me", "DIR/Program Files/firefox", ["-P", "me"]),
        (" DIR/Program Files/firefox %s ", "DIR/Program Files/firefox", ["%s"]),
        ("DIR/Program Files/chrome -P", "DIR/Program", ["Files/chrome", "-P"]),
    ])
    func takesAPathWithSpacesWhereItIsAProgram(_ entry: String, _ program: String, _ arguments: [String]) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "programs-\(UUID().uuidString)")
        let folder = directory.appending(path: "Program Files")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let firefox = folder.appending(path: "firefox").path
        try Data().write(to: URL(filePath: firefox))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: firefox)
        let variables = ["BROWSER": "w3m:\(entry.replacing("DIR", with: directory.path))"]
        let candidates = BrowserCommand.candidates(
            command: nil,
            environment: LaunchEnvironment(variables: variables, isWSL: false, isSudo: false)
        )
        let expected = BrowserCommand(
            program: program.replacing("DIR", with: directory.path),
            arguments: arguments,
            substitutes: true
        )
        #expect(candidates == [BrowserCommand(program: "w3m", substitutes: true), expected])
    }

    @Test(arguments: [
        ([], true, ["https://a/?b=%73%s%%"]),
        (["-P", "me"], true, ["-P", "me", "https://a/?b=%73%s%%"]),
        (["--url=%s", "%s", "100%%"], true, ["--url=https://a/?b=%73%s%%", "https://a/?b=%73%s%%", "100%"]),
        (["100%%"], true, ["100%", "https://a/?b=%73%s%%"]),
        (["%d%"], true, ["%d%", "https://a/?b=%73%s%%"]),
        (["%%s"], true, ["%s", "https://a/?b=%73%s%%"]),
        (["--profile=%s"], false, ["--profile=%s", "https://a/?b=%73%s%%"]),
    ])
    func putsTheAddressWhereItBelongs(_ arguments: [String], _ substitutes: Bool, _ expected: [String]) {
        let command = BrowserCommand(program: "x", arguments: arguments, substitutes: substitutes)
        #expect(command.arguments(for: "https://a/?b=%73%s%%") == expected)
    }
}
