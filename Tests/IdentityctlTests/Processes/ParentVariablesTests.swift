// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import SystemSupport
import Testing

@testable import identityctl

/// The variables that a host keeps back.
@Suite(.timeLimit(.minutes(1)))
struct ParentVariablesTests {
    @Test func readsThoseOfTheDesktopInAProcessOfTheUser() async throws {
        let host = Process()
        host.executableURL = URL(fileURLWithPath: "/bin/sleep")
        host.arguments = ["100"]
        host.environment = [
            "DISPLAY": ":7", "SSH_CONNECTION": "a", "WAYLAND_DISPLAY": "", "https_proxy": "http://127.0.0.1:9",
            "IDENTITYCTL_PROXY": "http://127.0.0.1:9", "IDENTITYCTL_CA_FILE": "/ca.pem", "IDENTITYCTL_CACHE": "memory",
            "SSL_CERT_FILE": "/ca.pem", "BROWSER": "/bin/true",
        ]
        try host.run()
        defer { host.terminate() }
        // The kernel shows a process's variables a moment after its start.
        let started = try await eventually { !ParentVariables.of(process: host.processIdentifier).isEmpty }
        try #require(started)
        let found = ParentVariables.of(process: host.processIdentifier)
        #expect(Dictionary(found) { $1 } == ["DISPLAY": ":7", "SSH_CONNECTION": "a"])
        #expect(ParentVariables.of(process: host.processIdentifier, user: geteuid() &+ 1).isEmpty)
        #expect(ParentVariables.of(process: 0).isEmpty)
    }

    /// Codex starts a server with a few variables. The browser opens all the same, but not for a person who came over SSH, and a
    /// proxy is not taken.
    @Test(arguments: [false, true]) func comeFromTheHost(overSSH: Bool) async throws {
        let setup = try ToolSetup()
        setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        setup.provider.settings.registersClients = true
        let (url, browser) = (setup.provider.resourceAddress, BrowserStandIn())
        var host = [
            "DISPLAY": ":42", "XDG_RUNTIME_DIR": setup.directory.path, "IDENTITYCTL_PROXY": "http://127.0.0.1:9",
            "http_proxy": "http://127.0.0.1:9", "IDENTITYCTL_CACHE": "memory", "SSH_CONNECTION": "",
            "WAYLAND_DISPLAY": "",
        ]
        if overSSH { host["SSH_CONNECTION"] = "192.0.2.1 1 192.0.2.2 22" }
        let kept = [
            "PATH=/usr/bin:/bin", "HOME=\(setup.directory.path)", "IDENTITYCTL_BROWSER=\(try browser.command)",
            "IDENTITYCTL_CACHE=file:\(setup.directory.path)/cache", "IDENTITYCTL_TIMEOUT=50",
            "DBUS_SESSION_BUS_ADDRESS=disabled:",
        ].map(\.shellWord).joined(separator: " ")
        let bridge = try Tool(shell: "env -i \(kept) \(Person.program) mcp \(url); :", host)
        try bridge.type(#"{"id":1,"method":"x"}"#)
        if !overSSH {
            let address = try await bridge.poll("a page") { browser.address }
            try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
        }
        let text = try await bridge.answer(1).object("error")?.string("message") ?? ""
        #expect(text.contains(overSSH ? "To sign in, run" : "no method, result or error"), "\(text)")
        try bridge.closeInput()
        _ = try await bridge.outcome()
    }
}

extension Tool {
    /// The variables that a bridge takes from the process that started it.
    static let namesOfParent = ParentVariables.names
}
