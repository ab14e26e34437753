// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import IdentityClient
@testable import SystemSupport

@Suite struct InteractionEnvironmentTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var facts: String
        var method: InteractionEnvironment.SignInMethod?
        var reason: String

        var testDescription: String { facts }

        /// The facts, by their names.
        var environment: InteractionEnvironment {
            let words = facts.split(separator: " ")
            var environment = InteractionEnvironment()
            environment.browsers = words.contains("browser") ? ["/usr/bin/firefox", "/usr/bin/xdg-open"] : []
            environment.missingBrowsers = words.contains("missing") ? ["xdg-open", "gio"] : []
            environment.display = words.contains("display") ? "X11 (:0)" : nil
            environment.isSSH = words.contains("ssh")
            environment.isContainer = words.contains("container")
            environment.isSudo = words.contains("sudo")
            environment.isAttended = words.contains("person")
            return environment
        }
    }

    static let headless = "there is no graphical session (DISPLAY and WAYLAND_DISPLAY are not set)"
    static let overSSH =
        "there is no graphical session (DISPLAY and WAYLAND_DISPLAY are not set; this is an SSH session)"
    static let contained =
        "there is no graphical session (DISPLAY and WAYLAND_DISPLAY are not set; this is a container)"
    static let missing = "none of xdg-open, gio is an installed program"
    static let sudo = "under sudo none is started, because it would run as root (run the program as yourself)"
    static let opens = "/usr/bin/firefox can show the page"
    static let unattended = ", and there is no terminal at which the address could be shown"

    @Test(arguments: [
        Row(facts: "browser display person", method: .browser, reason: opens),
        // A program with windows can do as much as one at a terminal.
        Row(facts: "browser display", method: .browser, reason: opens),
        // $BROWSER counts without a display, because editors forward it to the person's computer.
        Row(facts: "browser person ssh", method: .browser, reason: opens),
        Row(facts: "browser missing display ssh container", method: .browser, reason: opens),
        Row(facts: "person", method: .manualPaste, reason: headless),
        Row(facts: "person ssh", method: .manualPaste, reason: overSSH),
        Row(facts: "person container", method: .manualPaste, reason: contained),
        Row(facts: "person display missing", method: .manualPaste, reason: missing),
        Row(facts: "person missing ssh", method: .manualPaste, reason: "\(missing), and \(overSSH)"),
        Row(facts: "person display", method: .manualPaste, reason: "no command is known"),
        Row(facts: "browser display person sudo", method: .manualPaste, reason: sudo),
        Row(facts: "", method: nil, reason: headless + unattended),
        Row(facts: "container", method: nil, reason: contained + unattended),
        Row(facts: "display missing", method: nil, reason: missing + unattended),
        Row(facts: "browser display sudo", method: nil, reason: sudo + unattended),
    ])
    func recommendsWithAReason(_ row: Row) {
        #expect(row.environment.recommendation.method == row.method)
        #expect(row.environment.recommendation.reason == row.reason)
    }

    @Test(
        arguments: [
            (["DISPLAY": ":7"], false, "X11 (:7)"), (["WAYLAND_DISPLAY": "w", "DISPLAY": ":7"], false, "Wayland (w)"),
            (["DISPLAY": ""], false, nil), ([:], true, "Windows (WSL)"),
        ] as [([String: String], Bool, String?)]
    )
    func knowsTheDisplay(_ variables: [String: String], _ isWSL: Bool, _ expected: String?) {
        let launch = LaunchEnvironment(variables: variables, isWSL: isWSL, isSudo: false)
        #expect(InteractionEnvironment(launch, command: nil).display == expected)
    }

    @Test func looksForTheProgramsThatWouldBeTried() {
        let variables = ["PATH": "/nowhere", "BROWSER": "/bin/true:no-such-browser", "SSH_TTY": "/dev/pts/1"]
        var launch = LaunchEnvironment(variables: variables, isWSL: false, isSudo: false)
        (launch.isContainer, launch.isAttended) = (true, true)
        let environment = InteractionEnvironment(launch, command: ["/bin/sh", "-c"])
        #expect(environment.browsers == ["/bin/sh", "/bin/true"])
        #expect(environment.missingBrowsers == ["no-such-browser"])
        #expect(environment.isSSH && environment.isContainer && environment.isAttended && !environment.isSudo)
        launch.isSudo = true
        #expect(InteractionEnvironment(launch, command: ["/bin/sh"]).browsers == [])
    }

    @Test func looksAroundWithoutStartingAnything() {
        let environment = InteractionEnvironment.current(browserCommand: ["/bin/false"])
        #expect(environment.isSudo || environment.browsers.first == "/bin/false")
        #expect(!environment.recommendation.reason.isEmpty)
    }
}
