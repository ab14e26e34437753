// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting
import Testing

@testable import identityctl

/// Redirects by custom scheme, through the desktop's own tools.
@Suite struct SchemeProcessTests {
    private func home(_ setup: ToolSetup) throws -> [String: String] {
        let home = setup.directory.appendingPathComponent("home")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        return ["HOME": home.path]
    }

    /// A scheme that no other test or program uses. Without a desktop, `xdg-open` does not accept digits in a scheme.
    private static func newScheme() -> String {
        let letters = UUID().uuidString.lowercased().utf8.map { byte in
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            return Character(UnicodeScalar(isDigit ? byte - UInt8(ascii: "0") + UInt8(ascii: "g") : byte))
        }
        return "test-\(String(letters)).example"
    }

    @Test(.timeLimit(.minutes(1))) func installsAndRemovesForTheUserAlone() async throws {
        let setup = try ToolSetup()
        let home = try home(setup)
        let scheme = Self.newScheme()
        let done = try await Tool.run(["register-scheme", scheme], home)
        #expect(done.status == 0, "\(done.errors)")
        let directory = setup.directory.appendingPathComponent("home/.local/share/applications")
        let entry = directory.appendingPathComponent("identityctl-redirect-\(scheme).desktop")
        let text = try String(contentsOf: entry, encoding: .utf8)
        #expect(text.contains("MimeType=x-scheme-handler/\(scheme);\n"))
        #expect(text.contains("identityctl deliver-redirect %u\n"))
        #expect(try await Tool.run(["register-scheme", scheme], home).status == 0)  // a second time
        let removed = try await Tool.run(["register-scheme", scheme, "--remove"], home)
        #expect(removed.status == 0 && removed.errors.contains("no longer"))
        #expect(!FileManager.default.fileExists(atPath: entry.path))
        for list in ["home/.config/mimeapps.list", "home/.local/share/applications/mimeapps.list"] {
            let choices = try? String(contentsOf: setup.directory.appendingPathComponent(list), encoding: .utf8)
            #expect(choices?.contains(scheme) != true)
        }
        #expect(
            try await Tool.run(["register-scheme", scheme, "--remove"], home).errors.contains("was not registered")
        )
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["https", "mailto", "file", "a;b", "../x", "x y"])
    func refusesSchemesThatAreNotItsOwn(_ scheme: String) async throws {
        let setup = try ToolSetup()
        let outcome = try await Tool.run(["register-scheme", scheme], try home(setup))
        #expect(outcome.status == 64, "\(outcome.errors)")
        #expect(try FileManager.default.subpathsOfDirectory(atPath: setup.directory.path) == ["home"])
    }

    /// The cause is the system, not wrong usage.
    @Test(.timeLimit(.minutes(1))) func saysWhereItCannotWrite() async throws {
        let setup = try ToolSetup()
        let home = try home(setup)
        try Data().write(to: setup.directory.appendingPathComponent("home/.local"))
        let outcome = try await Tool.run(["register-scheme", "com.example.app", "--json"], home)
        #expect(outcome.status == 1, "\(outcome.errors)")
        #expect(try TroubleProcessTests.code(of: outcome) == "other")
        #expect(outcome.errors.contains("could not be written: Not a directory."))
    }

    @Test(arguments: [
        ("/usr/bin/identityctl", "Exec=/usr/bin/identityctl deliver-redirect %u"),
        ("/opt/my tools/identityctl", #"Exec="/opt/my tools/identityctl" deliver-redirect %u"#),
        (#"/opt/a"b$%c"#, #"Exec="/opt/a\\"b\\$%%c" deliver-redirect %u"#),
        ("/opt/a\"\u{301}%\u{301}", "Exec=\"/opt/a\\\\\"\u{301}%%\u{301}\" deliver-redirect %u"),
    ])
    func quotesTheProgramsPath(_ program: String, _ line: String) throws {
        let text = try SchemeRegistration.entry(CustomScheme("com.example.app"), program: program)
        #expect(text.utf8.split(separator: UInt8(ascii: "\n")).contains { $0.elementsEqual(line.utf8) }, "\(text)")
        #expect(throws: UsageError.self) {
            try SchemeRegistration.entry(CustomScheme("com.example.app"), program: "/a\nExec=evil")
        }
    }

    @Test(.timeLimit(.minutes(1))) func signsInWithAnAddressThatTheDesktopDelivers() async throws {
        let setup = try ToolSetup()
        let scheme = Self.newScheme()
        setup.provider.add(TestIdentityProvider.Client(redirectURIs: ["\(scheme)://auth"]))
        let tool = try Tool(["login", "--redirect-uri", "\(scheme)://auth"], setup.variables)
        let browser = ScriptedBrowser(provider: nil)
        browser.followsRedirects = false
        try await browser.open(try await tool.shownAddress())
        let redirect = try await browser.redirectURL()
        let wrong = try await Tool.run(["deliver-redirect", "\(scheme)://auth?code=x&state=wrong"])
        #expect(wrong.status == 5 && !wrong.errors.contains("code=x"))
        let delivered = try await Tool.run(["deliver-redirect", redirect.absoluteString])
        #expect(delivered.status == 0, "\(delivered.errors)")
        let login = try await tool.outcome()
        #expect(login.status == 0, "\(login.errors)")
        #expect(setup.provider.accepts(accessToken: String(login.output.dropLast())))
        #expect(try await Tool.run(["deliver-redirect", redirect.absoluteString]).status == 5)
    }

    /// The openers of this machine. `xdg-open` requires a display before it considers schemes.
    private static let openers = ["/usr/bin/gio", "/usr/bin/xdg-open"].filter(FileManager.default.isExecutableFile)

    @Test(.timeLimit(.minutes(1)), arguments: openers)
    func isStartedByTheDesktopsOwnTools(_ opener: String) async throws {
        let setup = try ToolSetup()
        let home = try home(setup)
        let scheme = Self.newScheme()
        setup.provider.add(TestIdentityProvider.Client(redirectURIs: ["\(scheme)://auth"]))
        #expect(try await Tool.run(["register-scheme", scheme], home).status == 0)
        let tool = try Tool(["login", "--redirect-uri", "\(scheme)://auth"], setup.variables.merging(home) { $1 })
        let browser = ScriptedBrowser(provider: nil)
        browser.followsRedirects = false
        try await browser.open(try await tool.shownAddress())
        let redirect = try await browser.redirectURL()

        let process = Process()
        process.executableURL = URL(fileURLWithPath: opener)
        process.arguments = (opener.hasSuffix("gio") ? ["open"] : []) + [redirect.absoluteString]
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        process.environment = home.merging(["PATH": path, "DISPLAY": ":99"]) { $1 }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        let login = try await tool.outcome()
        #expect(login.status == 0, "\(login.errors)")
        #expect(!login.errors.contains("register-scheme"))
        #expect(setup.provider.accepts(accessToken: String(login.output.dropLast())))
    }
}
