// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The arguments and variables of the browser.
@Suite struct BrowserProcessTests {
    @Test(.timeLimit(.minutes(1))) func startsTheBrowserOutsideTheAppImage() async throws {
        let setup = try ToolSetup()
        let bundle = setup.directory.path + "/bundle"
        try FileManager.default.createDirectory(atPath: "\(bundle)/usr/bin", withIntermediateDirectories: true)
        for (path, script) in [
            ("bundle/AppRun", ""), ("bundle/usr/bin/opener", "exit 0"),
            ("opener", "/usr/bin/env > '\(setup.directory.path)/variables'"),
        ] {
            let file = setup.directory.appendingPathComponent(path).path
            try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(fileURLWithPath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
        }
        let own = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":\($0)" } ?? ""
        let variables = setup.variables.merging([
            "APPDIR": bundle, "IDENTITYCTL_BROWSER": "opener", "GTK_PATH": "\(bundle)/usr/lib/gtk",
            "LD_LIBRARY_PATH": "\(bundle)/usr/lib:/nowhere/lib\(own)",
            "PATH": "\(bundle)/usr/bin:\(setup.directory.path):/usr/bin:/bin",
        ]) { $1 }
        let outcome = try await Tool.run(["login", "--timeout", "3"], variables)
        #expect(outcome.status == 6, "\(outcome.errors)")
        let seen = try String(contentsOfFile: setup.directory.path + "/variables", encoding: .utf8)
        let lines = seen.split(separator: "\n").map(String.init)
        #expect(lines.contains("LD_LIBRARY_PATH=/nowhere/lib\(own)"))
        #expect(lines.contains("PATH=\(setup.directory.path):/usr/bin:/bin"))
        #expect(!lines.contains { $0.hasPrefix("GTK_PATH=") } && lines.contains("APPDIR=\(bundle)"))
    }

    @Test(.timeLimit(.minutes(1))) func hidesTheClientSecretFromTheBrowser() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let (note, browser) = (setup.directory.path + "/variables", setup.directory.path + "/browser")
        try """
        #!/usr/bin/python3
        import http.client, os, sys, urllib.parse
        with open("\(note)", "a") as file:
            file.write(repr(dict(os.environ)))
        parts = urllib.parse.urlsplit(sys.argv[1])
        connection = http.client.HTTPConnection(parts.netloc)
        connection.request("GET", parts.path, headers={"Sec-Fetch-Mode": "navigate"})
        connection.getresponse()

        """.write(toFile: browser, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: browser)
        let variables = setup.variables.merging([
            "IDENTITYCTL_BROWSER": browser, "IDENTITYCTL_CLIENT_SECRET": "n0t-f0r-browsers",
        ]) { $1 }
        #expect(try await Tool.run(["logout", "--end-session"], variables).status == 0)
        let seenByLogout = try String(contentsOfFile: note, encoding: .utf8)
        #expect(try await Tool.run(["login", "--timeout", "2"], variables).status == 6)
        let seen = try String(contentsOfFile: note, encoding: .utf8)
        #expect(seenByLogout.contains("IDENTITYCTL_CLIENT_ID") && seen.utf8.count > seenByLogout.utf8.count)
        #expect(!seen.contains("n0t-f0r-browsers"))
    }
}
