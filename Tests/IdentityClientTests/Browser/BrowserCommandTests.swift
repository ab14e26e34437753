// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

@Suite struct BrowserCommandTests {
    private static let desktop = ["xdg-open", "gio open", "gnome-open", "kde-open"]

    @Test(
        arguments: [
            ([:], false, nil, []),
            (["DISPLAY": "", "WAYLAND_DISPLAY": ""], false, nil, []),
            (["DISPLAY": ":0"], false, nil, desktop + ["microsoft-edge"]),
            (["WAYLAND_DISPLAY": "wayland-0"], false, nil, desktop + ["microsoft-edge"]),
            ([:], true, nil, desktop + ["wslview", "rundll32.exe url.dll,FileProtocolHandler", "microsoft-edge"]),
            (["BROWSER": "firefox"], false, nil, ["firefox"]),
            (["BROWSER": ":firefox -P  me: \t:/opt/b --url=%s"], false, nil, ["firefox -P me", "/opt/b --url=%s"]),
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
