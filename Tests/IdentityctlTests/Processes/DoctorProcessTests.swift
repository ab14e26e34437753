// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import identityctl

/// A machine without display, session bus and keyring.
@Suite struct DoctorProcessTests {
    private func row(_ name: String, _ object: JSONObject) -> JSONObject? {
        guard case .array(let rows)? = object["checks"] else { return nil }
        for case .object(let row) in rows where row.string("check") == name { return row }
        return nil
    }

    private func doctor(_ arguments: [String] = [], _ variables: [String: String]) async throws -> JSONObject {
        let outcome = try await Tool.run(["doctor", "--json"] + arguments, variables)
        let object = try JSONObject(parsing: Array(outcome.output.utf8))
        #expect(object.integer("status").map(Int32.init) == outcome.status)
        return object
    }

    @Test(.timeLimit(.minutes(1)), arguments: KeyringLibrary.states)
    func saysWhatIsMissingAndComparesTheClock(_ library: KeyringLibrary) async throws {
        let setup = try ToolSetup()
        let variables = try [
            "IDENTITYCTL_ISSUER": setup.issuer, "XDG_STATE_HOME": setup.directory.path,
            "IDENTITYCTL_BROWSER": "/bin/true", "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        ].merging(library.variables(in: setup.directory)) { $1 }
        let found = try await doctor([], variables)
        #expect(found.integer("status") == 8)
        #expect(row("browser", found)?.string("found") == "/bin/true")
        #expect(row(library.isThere ? "session bus" : "secret service", found)?.string("state") == "lack")
        let service = row("secret service", found)?.string("found")
        #expect((service == "libsecret could not be loaded") == !library.isThere)
        #expect(row("provider", found)?.string("found") == setup.issuer)
        // This provider tells no time.
        #expect(row("clock", found)?.string("found") == "the provider does not tell the time")
        let table = try await Tool.run(["doctor"], variables.merging(["DISPLAY": ":7"]) { $1 })
        #expect(table.status == 4)
        #expect(table.output.contains("display         ok    X11 (:7)\n"))
    }

    /// Files in clear text need no keyring, and who signs in elsewhere needs no browser.
    @Test(.timeLimit(.minutes(1))) func findsNothingMissingOnAServerThatWorks() async throws {
        let setup = try ToolSetup()
        var variables = setup.variables
        variables["DBUS_SESSION_BUS_ADDRESS"] = "disabled:"
        let server = try await doctor(["--without-browser"], variables)
        #expect(server.integer("status") == 0, "\(server.line)")
        #expect(row("token store", server)?.string("found") == "file")
        #expect(row("display", server)?.string("state") == "unknown")
        #expect(try await doctor([], variables).integer("status") == 8)
    }

    /// Each answer is another fault, and none of them is the clock's.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (.answer(status: 404), 1, "404"),
            (.answer(status: 200, headers: [("Content-Type", "text/html")], body: "<html>"), 5, "JSON"),
            (.changing("issuer", to: #""https://other.example.test""#), 5, "another issuer"),
            (.serverError(), 3, "503"), (nil, 3, "No connection"),
        ] as [(TestIdentityProvider.Fault?, Int, String)]
    )
    func tellsWhatIsWrongWithAProvider(_ fault: TestIdentityProvider.Fault?, _ status: Int, _ words: String)
        async throws
    {
        let setup = try ToolSetup()
        if let fault { setup.provider.failAlways(.discovery, with: fault) } else { setup.provider.close() }
        let found = try await doctor(["--without-browser"], setup.variables)
        #expect(found.integer("status") == status, "\(found.line)")
        #expect(row("provider", found)?.string("state") == "lack")
        #expect(row("provider", found)?.string("advice")?.contains(words) == true, "\(found.line)")
        #expect(row("clock", found)?.string("state") != "lack")
    }

    @Test(.timeLimit(.minutes(1)), .enabled(if: CertificateAuthority.isAvailable, "needs the openssl command"))
    func saysThatTheProvidersCertificateIsNotTrusted() async throws {
        let setup = try ToolSetup()
        let authority = try await CertificateAuthority.make()
        let (server, port) = try await authority.server(for: "localhost", "-HTTP")
        defer { server.terminate() }
        let issuer = "https://localhost:\(port)"
        let folder = authority.directory.appendingPathComponent(".well-known")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let document = """
            HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n\
            {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/a","token_endpoint":"\(issuer)/t",\
            "jwks_uri":"\(issuer)/k"}
            """
        try Data(document.utf8).write(to: folder.appendingPathComponent("openid-configuration"))
        var variables = setup.variables.merging(["IDENTITYCTL_ISSUER": issuer]) { $1 }

        let found = try await doctor(["--without-browser"], variables)
        #expect(found.integer("status") == 5, "\(found.line)")
        #expect(row("provider", found)?.string("state") == "lack")
        let advice = try #require(row("provider", found)?.string("advice"))
        #expect(advice.contains("The certificate of localhost is not trusted"), "\(advice)")
        #expect(advice.contains("name its file in SSL_CERT_FILE"), "\(advice)")
        #expect(row("clock", found)?.string("state") == "unknown")

        variables["SSL_CERT_FILE"] = authority.certificate
        let trusting = try await doctor(["--without-browser"], variables)
        #expect(trusting.integer("status") == 0, "\(trusting.line)")
        #expect(row("provider", trusting)?.string("found") == issuer)
    }

    /// A setup that looks writable, where nothing more can be written.
    @Test(
        .timeLimit(.minutes(1)),
        .disabled(
            if: ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil,
            "ThreadSanitizer itself writes large files, and ends with the limit of this test"
        )
    )
    func triesToWriteWhereTokensRest() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let before = try setup.cacheContents()
        let variables = setup.variables.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
        let command = "\(variables) '\(try Tool.executable.path)' doctor --without-browser"
        let full = try Shell.run("trap '' XFSZ; ulimit -f 1; \(command) | cat; true")
        let row = full.split(separator: "\n").first { $0.hasPrefix("token files") }
        #expect(row?.hasPrefix("token files     lack") == true, "\(full)")
        #expect(try setup.cacheContents() == before)
        #expect(try Shell.run("\(command) | cat").contains("token files     ok "))
    }

    /// A backup that was put back by another program, for example; of records in clear text and encrypted, and of their locks.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("file", "account-", 0o644), ("file", "account-", 0), ("file", ".lock-", 0o666),
            ("encrypted", "account-", 0o640),
        ]
    )
    func looksAtEachRecord(_ store: String, _ prefix: String, _ mode: Int) async throws {
        let setup = try ToolSetup()
        var variables = setup.variables
        if store == "encrypted" {
            let key = "\(setup.directory.path)/key"
            #expect(try await Tool.run(["cache", "create-key", key], variables).status == 0)
            variables["IDENTITYCTL_CACHE"] = "encrypted:key-file=\(key)"
            variables["XDG_STATE_HOME"] = "\(setup.directory.path)/cache"
        }
        let login = try Tool(["login"], variables)
        try await ScriptedBrowser(provider: nil).visit(try await login.shownAddress())
        #expect(try await login.outcome().status == 0)
        let names = try FileManager.default.subpathsOfDirectory(atPath: setup.directory.path)
        let name = try #require(names.first { $0.contains("/\(prefix)") })
        let path = setup.directory.appendingPathComponent(name).path
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        let found = try await doctor(["--without-browser"], variables)
        #expect(found.integer("status") == 4, "\(found.line)")
        #expect(row("token files", found)?.string("state") == "lack")
        let advice = try #require(row("token files", found)?.string("advice"))
        let command = try #require(advice.firstMatch(of: /chmod 600 \S+/))
        _ = try Shell.run(String(command.0))
        #expect(try await doctor(["--without-browser"], variables).integer("status") == 0)
        #expect(try await Tool.run(["token"], variables).status == 0)
    }

    @Test(.timeLimit(.minutes(1))) func looksAtTheFilesOfEachProfile() async throws {
        let person = try await Person()
        #expect(try await person.run(["profile", "default", "work"]).status == 0)
        try await person.addProfile("other", serves: [])
        #expect(try await person.run(["profile", "set", "other", "cache=file:\(person.home)/elsewhere"]).status == 0)
        _ = try await person.login("other")
        let names = try FileManager.default.subpathsOfDirectory(atPath: "\(person.home)/elsewhere")
        let path = "\(person.home)/elsewhere/\(try #require(names.first { $0.contains("/account-") }))"
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let found = try await doctor(["--without-browser"], person.variables)
        let files = (found.array("checks") ?? []).compactMap { value -> JSONObject? in
            guard case .object(let row) = value, row.string("check") == "token files" else { return nil }
            return row
        }
        #expect(files.map { $0.string("state") } == ["ok", "lack"], "\(found.line)")
        #expect(files.last?.string("advice")?.contains("chmod 600 \(path)") == true, "\(found.line)")
    }

    /// The chosen store counts where none is remembered yet.
    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func asksForNoBusThatTheChosenStoreDoesNotNeed(isNamed: Bool) async throws {
        let directory = try TemporaryDirectory()
        var variables = ["XDG_STATE_HOME": directory.path, "DBUS_SESSION_BUS_ADDRESS": "disabled:"]
        if isNamed { variables["IDENTITYCTL_CLIENT_ID"] = "test-client" }
        let file = try await doctor(["--without-browser", "--cache", "file"], variables)
        #expect(file.integer("status") == 0, "\(file.line)")
        #expect(row("session bus", file)?.string("found") == "there is none; not needed by the stores in use")
        let keyring = try await doctor(["--without-browser", "--cache", "keyring"], variables)
        #expect(keyring.integer("status") == 4)
    }

    @Test(.timeLimit(.minutes(1))) func looksAtEachProfile() async throws {
        let person = try await Person()
        try await person.addProfile("other", serves: [])
        _ = try await person.login()
        try person.write("issuer = https://a.test\nnonsense\n", to: ".config/identityctl/profiles/z.conf")
        let found = try await doctor(["--without-browser"], person.variables)
        // The keyring that is not there is needed by neither.
        #expect(found.integer("status") == 64, "\(found.line)")
        #expect(row("profile work", found)?.string("found") == "alice@example.test, tokens in 'file'")
        #expect(row("profile other", found)?.string("state") == "ok")
        #expect(row("profile z", found)?.string("advice")?.contains("z.conf:2: ") == true)
        #expect(row("provider", found)?.string("found") == person.setup.issuer)
        try person.remove(".config/identityctl/profiles/z.conf")
        let path = ".config/identityctl/profiles/other.conf"
        let other = try #require(person.text(path))
        try person.write(other + "scope = email\n", to: path)
        let missing = row("profile other", try await doctor(["--without-browser"], person.variables))
        let words = "the sign-in did not bring email. To ask for it, run identityctl login --profile other"
        #expect(missing?.string("found") == "alice@example.test, tokens in 'file'; \(words)")
        #expect(missing?.string("state") == "unknown")
        try person.write(other, to: path)
        #expect(try await person.run(["logout", "--profile", "work"]).status == 0)
        let signedOut = try await doctor(["--without-browser"], person.variables)
        #expect(signedOut.integer("status") == 0, "\(signedOut.line)")
        let advice = row("profile other", signedOut)?.string("found")
        #expect(advice == "not signed in; to sign in, run: identityctl login --profile other")
        #expect(row("profile other", try await doctor(["--profile", "work"], person.variables)) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func tellsTheEndOfASignIn() async throws {
        let person = try await Person()
        person.setup.provider.settings.tellsRefreshTokenLifetime = true
        _ = try await person.login()
        let accounts = try await person.run(["accounts", "--json", "--profile", "work"])
        let end = try #require(accounts.output.firstMatch(of: /"refreshTokenExpiresOn":"([^"]+)"/)?.1)
        let text = try await person.run(["accounts", "--profile", "work"])
        #expect(text.output.hasSuffix("\tuntil \(end)\n"), "\(text.output)")
        let found = try await doctor(["--without-browser"], person.variables)
        let words = "alice@example.test, tokens in 'file', signed in until \(end) at the latest"
        #expect(row("profile work", found)?.string("found") == words)
    }

    @Test(.timeLimit(.minutes(1))) func saysWhereTheTokensOfAClientRest() async throws {
        let setup = try ToolSetup()
        var variables = ["XDG_STATE_HOME": setup.directory.path, "DBUS_SESSION_BUS_ADDRESS": "disabled:"]
        func row() async throws -> String? {
            let table = try await Tool.run(["doctor"], variables)
            return table.output.split(separator: "\n").first { $0.hasPrefix("token store") }.map(String.init)
        }
        #expect(try await row() == "token store     -     not asked: give --profile, --client-id or --group")
        variables["IDENTITYCTL_CLIENT_ID"] = "test-client"
        #expect(try await row() == "token store     -     none yet: the first sign-in decides")
        #expect(try await Tool.run(["cache", "move", "--to", "file"], variables).status == 0)
        #expect(try await row() == "token store     ok    file")
    }
}
