// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import identityctl

/// Each test begins with a breakage, runs the command that the doctor names, and finds that the thing works.
@Suite(.timeLimit(.minutes(1))) struct DoctorBreakageTests {
    private static let server = ["--resource", "https://mcp.example.test/mcp", "--profile", "work"]

    private func check(_ finding: JSONObject?, _ state: String, _ words: String = "") {
        #expect(finding?.string("state") == state, "\(finding?.line ?? "nothing was found")")
        let text = (finding?.string("found") ?? "") + " " + (finding?.string("advice") ?? "")
        #expect(words.isEmpty || text.contains(words), "\(text)")
    }

    // MARK: - Programs that tools start

    /// A tool, what sets it up, and its file.
    @Test(arguments: [
        ("claude-code", server, ".claude.json"), ("vscode", server, ".config/Code/User/mcp.json"),
        ("opencode", server, ".config/opencode/opencode.json"), ("codex", server, ".codex/config.toml"),
        ("aws", ["--profile", "work"], ".aws/config"), ("pnpm", ["--profile", "work"], ".npmrc"),
    ])
    func namesAProgramThatIsGone(_ tool: String, _ options: [String], _ file: String) async throws {
        let person = try await Person(serves: "https://site.test", "https://mcp.example.test")
        try await person.addProfile("other", serves: [])
        #expect(try await person.run(["profile", "default", "work"]).status == 0)
        _ = try await person.login()
        let set = try await person.run(["integrate", tool] + options)
        #expect(set.status == 0, "\(set)")
        let right = try #require(person.text(file))
        let program = tool == "pnpm" ? "\(person.home)/.local/bin/pnpm-token-identityctl" : try Person.program
        for wrong in ["\(person.home)/old/identityctl", "\(person.home)/plain/identityctl"] {
            try person.write("", to: "plain/identityctl")
            #expect(right.contains(program), "\(right)")
            try person.write(right.replacing(program, with: wrong), to: file)
            let broken = try await person.finding(tool)
            let isThere = FileManager.default.fileExists(atPath: wrong)
            check(broken, "lack", isThere ? "\(wrong) cannot be executed." : "There is no program \(wrong).")
            try await person.mend(broken)
            check(try await person.finding(tool), "ok")
            #expect(person.text(file) == right)
        }
    }

    /// A person puts the lines in. That of Google's libraries is not the words of the others.
    @Test(arguments: [
        ("msmtp", ".msmtprc", "passwordeval \"identityctl token --profile work\"\n"),
        ("google", ".config/gcloud/identityctl.json", "{\"command\": \"identityctl helper google --profile work\"}"),
    ])
    func namesAProgramThatIsGoneInALineOfThePersons(_ tool: String, _ file: String, _ line: String) async throws {
        let person = try await Person()
        _ = try await person.login()
        try person.write(line, to: file)
        let broken = try await person.finding(tool)
        check(broken, "lack", "There is no 'identityctl' in PATH.")
        let program = try Person.program
        let shown = try await person.mend(broken)
        #expect(shown.contains { $0.contains("\(program) ") }, "\(shown)")
        try person.write(line.replacing("identityctl ", with: "\(program) "), to: file)
        check(try await person.finding(tool), "ok")
    }

    @Test func keepsWhatAPersonAddedToAnEntryThatIsMended() async throws {
        let person = try await Person()
        _ = try await person.login()
        let entry =
            #"{"mcpServers": {"mine": {"command": "/old/identityctl", "args": ["mcp", "https://m.test"], "timeout": 5}}}"#
        try person.write(entry, to: ".gemini/settings.json")
        #expect(try await person.integrate("gemini", "--resource", "https://m.test", "--name", "mine").status == 0)
        let object = try JSONObject(parsing: Array(try #require(person.text(".gemini/settings.json")).utf8))
        let mended = object.object("mcpServers")?.object("mine")
        #expect(mended?.string("command") == (try Person.program) && mended?.integer("timeout") == 5, "\(object.line)")
    }

    /// kubectl is a script here, with a user whose command is gone until `set-credentials` is called.
    @Test func namesTheProgramOfAUserOfKubectl() async throws {
        let person = try await Person()
        _ = try await person.login()
        let user = """
            {"users":[{"name":"identityctl-work","user":{"exec":{"command":"COMMAND",\
            "args":["helper","kubectl","--profile","work"]}}}]}
            """
        let program = try Person.program
        try person.write(user.replacing("COMMAND", with: "/old/identityctl"), to: "config")
        try person.write(user.replacing("COMMAND", with: program), to: "mended")
        try person.install(
            "kubectl",
            "case \"$*\" in *view*) cat ~/config ;; *--help*) ;; *--exec-command=\(program)*) cp ~/mended ~/config ;; esac"
        )
        let broken = try await person.finding("kubectl")
        check(broken, "lack", "There is no program /old/identityctl.")
        try await person.mend(broken)
        check(try await person.finding("kubectl"), "ok")
    }

    @Test func undoesAnEntryWhoseProfileIsGone() async throws {
        let person = try await Person(serves: "https://mcp.example.test")
        _ = try await person.login()
        #expect(try await person.run(["integrate", "codex"] + Self.server).status == 0)
        try person.remove(".config/identityctl/profiles/work.conf")
        let broken = try await person.finding("codex")
        check(broken, "lack", "There is no profile 'work' any more.")
        try await person.mend(broken)
        #expect(try await person.finding("codex") == nil)
    }

    @Test func namesTheProgramThatTheBrowserStarts() async throws {
        let person = try await Person()
        #expect(try await person.run(["register-scheme", "org.example.test"]).status == 0)
        check(try await person.finding("scheme org.example.test"), "ok")
        let file = ".local/share/applications/identityctl-redirect-org.example.test.desktop"
        let right = try #require(person.text(file))
        try person.write(right.replacing("Exec=/", with: "Exec=/old/"), to: file, mode: 0o644)
        let broken = try await person.finding("scheme org.example.test")
        check(broken, "lack", "There is no program /old/")
        try await person.mend(broken)
        check(try await person.finding("scheme org.example.test"), "ok")
        #expect(person.text(file) == right)
    }

    // MARK: - Lines and files of this program

    @Test func namesAVariableThatIsMistyped() async throws {
        let person = try await Person()
        try await person.login()
        var other = person
        other.variables["IDENTITYCTL_PROFIL"] = "work"
        let hint = "IDENTITYCTL_PROFIL is none of this tool's variables. Did you mean IDENTITYCTL_PROFILE?"
        // The only profile is the usual one, so that nothing is missing.
        #expect(try await other.run(["token"]).errors.isEmpty)
        try await person.addProfile("second", serves: [])
        for arguments in [["token"], ["token", "--json"], ["helper", "headers"]] {
            let outcome = try await other.run(arguments)
            #expect(outcome.status == 64 && outcome.errorLines.filter { $0 == hint }.count == 1, "\(outcome)")
            #expect(!arguments.contains("--json") || outcome.errorLines.last?.first == "{", "\(outcome)")
        }
        let broken = try await other.finding("variable")
        check(broken, "lack", "Did you mean IDENTITYCTL_PROFILE?")
        other.variables["IDENTITYCTL_PROFIL"] = nil
        other.variables["IDENTITYCTL_PROFILE"] = "work"
        #expect(try await other.finding("variable") == nil)
        #expect(try await other.run(["token"]).status == 0)
    }

    @Test func goesOnAfterALineOfAMissingFile() async throws {
        let person = try await Person()
        _ = try await person.login()
        let (file, gone) = (".config/identityctl/profiles/work.conf", "\(try TemporaryDirectory().path)/ca.pem")
        let right = try #require(person.text(file))
        try person.write("\(right)ca-file = \(gone)\n", to: file)
        let words = "work.conf:5: there is no file \(gone)."
        check(try await person.finding("profile work"), "lack", words)
        check(try await person.finding("libcurl"), "ok")
        for arguments in [["--profile", "work"], [person.setup.issuer + "/api", "--profile", "work"]] {
            let found = try await person.run(["doctor", "--without-browser"] + arguments)
            #expect(found.status == 64 && found.output.contains(words) && found.errors.isEmpty, "\(found)")
        }
        #expect(try await person.run(["profile", "unset", "work", "ca-file"]).status == 0)
        check(try await person.finding("profile work"), "ok")
    }

    @Test func namesADefaultProfileThatIsGone() async throws {
        let person = try await Person()
        _ = try await person.login()
        try await person.addProfile("other", serves: [])
        #expect(try await person.run(["profile", "default", "other"]).status == 0)
        try person.remove(".config/identityctl/profiles/other.conf")
        #expect(try await person.run(["token"]).status == 64)
        let broken = try await person.finding("profile")
        check(broken, "lack", "There is no profile 'other', which is the default one.")
        check(try await person.finding("profile work"), "ok")
        try await person.mend(broken)
        #expect(try await person.finding("profile") == nil)
        #expect(try await person.run(["token"]).status == 0)
    }

    /// As after a disk that was full, or a copy that broke off.
    @Test func namesADamagedFileOfAProfilesAccount() async throws {
        let person = try await Person()
        _ = try await person.login()
        let file = ".local/state/identityctl/profile-accounts/work.json"
        let right = try #require(person.text(file))
        try person.write(String(right.prefix(9)), to: file)
        #expect(try await person.run(["token", "--profile", "work"]).status == 64)
        let broken = try await person.finding("profile work")
        check(broken, "lack", "this file is damaged")
        try await person.mend(broken)
        check(try await person.finding("profile work"), "ok")
        #expect(try await person.run(["token", "--profile", "work"]).status == 0)
    }

    @Test func saysThatAServerWithoutADescriptionDoesNotAnswer() async throws {
        let person = try await Person()
        let endpoint = "http://127.0.0.1:9"
        let lines =
            "client-id = c\nauthorization-endpoint = \(endpoint)/a\ntoken-endpoint = \(endpoint)/t\ncache = file\n"
        try person.write(lines, to: ".config/identityctl/profiles/work.conf")
        check(try await person.finding("provider"), "lack", "No connection")
        check(try await person.finding("clock"), "unknown")
    }

    // MARK: - Servers that are known by the address of an API

    private func resourcePerson() async throws -> (person: Person, url: String) {
        var person = try await Person()
        person.setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        person.setup.provider.settings.registersClients = true
        for (name, value) in [
            "DISPLAY": ":99", "XDG_RUNTIME_DIR": person.home, "IDENTITYCTL_CACHE": "file:\(person.home)/cache",
        ] {
            person.variables[name] = value
        }
        person.variables["IDENTITYCTL_PRINT_TOKEN"] = "0"
        return (person, person.setup.provider.resourceAddress)
    }

    private func signIn(_ person: Person, _ url: String) async throws {
        let tool = try Tool(["login", "--resource", url], person.variables)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0, "\(outcome)")
    }

    @Test func namesARegistrationThatTheServerHasForgotten() async throws {
        let (person, url) = try await resourcePerson()
        let provider = person.setup.provider
        let refusal = TestIdentityProvider.Fault.refusal("invalid_client", status: 401)
        try await signIn(person, url)
        check(try await person.finding("account", url), "ok")
        provider.failNext(.token, with: refusal)
        #expect(try await person.run(["token", "--resource", url, "--force-refresh"]).status != 0)
        check(
            try await person.finding("account", url),
            "unknown",
            "the server did not know this program's registration any more"
        )
        // That it is known again is seen as well.
        #expect(try await person.run(["token", "--resource", url, "--force-refresh"]).status == 0)
        check(try await person.finding("account", url), "ok")

        // The last token is still good, and the sign-in registers anew all the same, before it opens a page.
        provider.failNext(.token, with: refusal)
        let forgotten = try await person.run(["token", "--resource", url, "--force-refresh"])
        #expect(
            forgotten.status == 2 && forgotten.errorLines.last == "To sign in, run: identityctl login --resource \(url)"
        )
        #expect(forgotten.errors.contains("does not know this program's registration any more"), "\(forgotten)")
        #expect(!forgotten.errors.contains("Check the client id"))
        let tokens = provider.count(of: .token)
        let broken = try await person.finding("client", url)
        check(broken, "lack", "which the server did not know any more")
        #expect(provider.count(of: .token) == tokens)
        let registrations = provider.count(of: .registration)
        try await person.mend(broken)
        #expect(provider.count(of: .registration) == registrations + 1 && provider.count(of: .authorization) == 2)
        for check in ["client", "account"] { self.check(try await person.finding(check, url), "ok") }
        #expect(try await person.run(["token", "--resource", url, "--force-refresh"]).status == 0)
    }

    @Test func namesADamagedFileOfAServer() async throws {
        let (person, url) = try await resourcePerson()
        try await signIn(person, url)
        let folder = "\(person.home)/.local/state/identityctl/resources"
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            try Data("client-".utf8).write(to: URL(filePath: "\(folder)/\(name)"))
        }
        #expect(try await person.run(["token", "--resource", url]).status == 64)
        while let broken = try await person.finding("options", url) {
            check(broken, "lack", "this file is damaged")
            try await person.mend(broken)
        }
        try await person.mend(person.finding("account", url))
        check(try await person.finding("account", url), "ok")
        #expect(try await person.run(["token", "--resource", url]).status == 0)
    }

    // MARK: - Disks

    /// A network home without locks, here a preloaded `flock`.
    @Test func namesADiskWithoutLocks() async throws {
        let person = try await Person()
        try person.write("#include <errno.h>\nint flock(int f, int o) { errno = ENOLCK; return -1; }\n", to: "locks.c")
        let library = "\(person.home)/locks.so"
        let made = try Shell.run("clang -shared -fPIC -o '\(library)' '\(person.home)/locks.c' && echo made")
        try #require(made == "made\n")
        var broken = person
        broken.variables["LD_PRELOAD"] = library
        let words = "keeps no locks (No locks available)"
        let login = try await broken.run(["login", "--profile", "work"])
        #expect(login.status == 4 && login.errors.contains(words), "\(login)")
        check(try await broken.finding("token files", "--profile", "work"), "lack", words)
        check(try await person.finding("token files", "--profile", "work"), "ok")
    }

    /// ramfs is none of the file systems whose locks every program is known to see.
    @Test(.enabled(if: Mount.isPossible, "only root can mount"))
    func saysOnceAtTheSignInThatADiskMayBeShared() async throws {
        let person = try await Person()
        let mount = try Mount(at: "\(person.home)/cache")
        defer { mount.end() }
        let words = "may not see the locks of this file system"
        var notes: [Bool] = []
        for _ in 0..<2 {
            let tool = try Tool(["login", "--profile", "work"], person.variables)
            try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
            let outcome = try await tool.outcome()
            #expect(outcome.status == 0, "\(outcome)")
            notes.append(outcome.errors.contains(words))
            check(try await person.finding("token files"), "unknown", words)
        }
        #expect(notes == [true, false])
    }
}

/// A file system of which a test is not sure.
private struct Mount {
    static let isPossible = geteuid() == 0 && (try? Mount(at: "/tmp/.identityctl-mount-\(getpid())").end()) != nil

    struct Failed: Error {}

    private let path: String

    init(at path: String) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard try Shell.run("mount -t ramfs -o mode=700 ramfs '\(path)' && echo done") == "done\n" else {
            throw Failed()
        }
    }

    func end() {
        _ = try? Shell.run("umount -l '\(path)'; rmdir '\(path)'")
    }
}
