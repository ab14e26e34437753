// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

/// Git itself, set up for a profile.
@Suite struct IntegrateGitTests {
    private static let link = ".local/bin/git-credential-identityctl"
    private static let before = "# mine\n[user]\n\tname = Alice ; me\n[credential]\n\thelper = store\n"

    @Test(.timeLimit(.minutes(1))) func givesGitTheTokenUntilUndone() async throws {
        let person = try await Person(serves: "https://git.test", "https://forge.test/team")
        try person.write(Self.before, to: ".gitconfig")
        let token = try await person.login()
        let set = try await person.integrate("git", "--profile", "work")
        #expect(set.status == 0 && set.output.isEmpty, "\(set)")
        let program = try Person.program
        #expect(person.target(of: Self.link) == program)
        let helper = "\(person.home)/\(Self.link)"
        let shown = "Run: git config --global --add credential.https://git.test.helper \(helper)"
        #expect(set.errorLines.contains(shown), "\(set)")
        #expect(set.errors.contains("identityctl integrate git --profile work --undo"), "\(set)")

        let asked = "protocol=https\nhost=git.test\n"
        let filled = try await person.shell("git credential fill", asked)
        #expect(filled.output.contains("\nusername=oauth2\npassword=\(token)\n"), "\(filled)")
        // As in cron, and in systemd's units.
        let short = try await person.shell("PATH=/usr/bin:/bin git credential fill", asked)
        #expect(short.output == filled.output, "\(short)")
        let below = try await person.shell("git credential fill", "protocol=https\nhost=forge.test\npath=team/x.git\n")
        #expect(below.output.contains("\npassword=\(token)\n"), "\(below)")
        // The helper for all addresses is neither asked nor told to keep the token.
        _ = try await person.shell("git credential approve", filled.output)
        #expect(person.text(".git-credentials") == nil)

        let changed = person.text(".gitconfig")
        let again = try await person.integrate("git", "--profile", "work")
        #expect(again.status == 0 && again.errorLines == ["Nothing to change: git is set up."], "\(again)")
        #expect(person.text(".gitconfig") == changed)

        let undone = try await person.integrate("git", "--profile", "work", "--undo")
        #expect(undone.status == 0, "\(undone)")
        #expect(person.text(".gitconfig") == Self.before)
        #expect(person.target(of: Self.link) == nil)
        let nothing = try await person.integrate("git", "--undo")
        #expect(nothing.errorLines == ["Nothing to change: git is not set up."], "\(nothing)")
    }

    @Test(.timeLimit(.minutes(1))) func keepsAnotherHelperOfTheAddress() async throws {
        let person = try await Person(serves: "https://git.test")
        let before = "[credential \"https://git.test\"]\n\thelper = !gh auth git-credential\n"
        try person.write(before, to: ".gitconfig")
        let refused = try await person.integrate("git", "--profile", "work")
        #expect(refused.status == 64, "\(refused)")
        #expect(refused.errors.contains("git config --global --unset-all credential.https://git.test.helper"))
        #expect(person.text(".gitconfig") == before)
        #expect(person.target(of: Self.link) == nil)
    }

    /// As containers and CI set it. Run as root, git would put a file in the device's place.
    @Test(.timeLimit(.minutes(1))) func leavesADeviceAlone() async throws {
        var person = try await Person(serves: "https://git.test")
        person.variables["GIT_CONFIG_GLOBAL"] = "/dev/null"
        for words in [["--profile", "work", "--dry-run"], ["--undo", "--dry-run"]] {
            let refused = try await person.run(["integrate", "git"] + words)
            #expect(refused.status == 64 && refused.errors.contains("unset GIT_CONFIG_GLOBAL"), "\(refused)")
        }
        try person.makeLink(".gitconfig", to: "/dev/null")
        person.variables["GIT_CONFIG_GLOBAL"] = nil
        let home = try Home(Variables(person.variables))
        #expect(throws: UsageError.self) { try GitIntegration.checkFiles(home) }
        try person.remove(".gitconfig")
        #expect(throws: Never.self) { try GitIntegration.checkFiles(home) }
        try person.write("", to: ".gitconfig")
        #expect(throws: Never.self) { try GitIntegration.checkFiles(home) }
    }

    @Test(.timeLimit(.minutes(1))) func changesNothingInADryRun() async throws {
        let person = try await Person(serves: "https://git.test")
        let shown = try await person.integrate("git", "--profile", "work", "--dry-run")
        #expect(shown.status == 0 && shown.errors.contains("Link ") && shown.errors.contains("Run: git config"))
        #expect(person.text(".gitconfig") == nil)
        #expect(person.target(of: Self.link) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func keepsTheLinkWhileAnotherProfileNeedsIt() async throws {
        let person = try await Person(serves: "https://git.test")
        try await person.addProfile("home", serves: ["https://forge.test"])
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        #expect(try await person.integrate("git", "--profile", "home").status == 0)
        #expect(try await person.integrate("git", "--profile", "work", "--undo").status == 0)
        #expect(person.target(of: Self.link) != nil)
        #expect(person.text(".gitconfig")?.contains("git.test") == false)
        #expect(try await person.integrate("git", "--undo").status == 0)
        #expect(person.target(of: Self.link) == nil)
        #expect(person.text(".gitconfig")?.contains("credential") == false)
    }

    @Test(.timeLimit(.minutes(1))) func makesNoLinkIfAPackageHasIt() async throws {
        let person = try await Person(serves: "https://git.test")
        try person.makeLink("tools/git-credential-identityctl", to: try Person.program)
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        #expect(person.target(of: Self.link) == nil)
    }

    /// The target of another link in that place, and whether the link is replaced.
    @Test(.timeLimit(.minutes(1)), arguments: [("/nowhere/identityctl", true), ("/bin/true", false)])
    func replacesOnlyALinkOfItsOwn(_ target: String, _ isReplaced: Bool) async throws {
        let person = try await Person(serves: "https://git.test")
        try person.makeLink(Self.link, to: target)
        let program = try Person.program
        let set = try await person.integrate("git", "--profile", "work")
        #expect(set.status == (isReplaced ? 0 : 64), "\(set)")
        #expect(person.target(of: Self.link) == (isReplaced ? program : target))
        #expect((person.text(".gitconfig") != nil) == isReplaced)
    }

    /// An upgrade replaces the file, and the name in `PATH` leads to the next one.
    @Test(.timeLimit(.minutes(1))) func linksTheNameInThePath() async throws {
        let person = try await Person(serves: "https://git.test")
        let name = "\(person.home)/tools/identityctl"
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        #expect(person.target(of: Self.link) == (try Person.program))
        try person.makeLink("tools/identityctl", to: try Person.program)
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        #expect(person.target(of: Self.link) == name)
        #expect(try await person.integrate("git", "--undo").status == 0)
        // Another program of the name is not linked.
        try person.remove("tools/identityctl")
        try person.install("identityctl", "exit 1")
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        #expect(person.target(of: Self.link) == (try Person.program))
    }

    @Test(.timeLimit(.minutes(1))) func saysThatTheLinkIsNotInThePath() async throws {
        var person = try await Person(serves: "https://git.test")
        person.variables["PATH"] = "/usr/bin:/bin"
        let set = try await person.integrate("git", "--profile", "work")
        #expect(set.status == 0 && set.errors.contains("/.local/bin is not in PATH"), "\(set)")
    }

    @Test(.timeLimit(.minutes(1))) func wantsAProfileThatServesTheAddress() async throws {
        let person = try await Person()
        let none = try await person.integrate("git", "--profile", "work")
        #expect(none.status == 64 && none.errors.contains("serves no address"), "\(none)")
        let missing = try await person.integrate("git")
        #expect(missing.status == 64 && missing.errors.contains("'work' serves no address"), "\(missing)")
        let other = try await person.integrate("git", "--profile", "work", "--serves", "https://git.test")
        #expect(other.status == 64 && other.errors.contains("does not serve https://git.test"), "\(other)")
        let wrong = try await person.integrate("git", "--profile", "work", "--serves", "--global")
        #expect(wrong.status == 64, "\(wrong)")
        try await person.addProfile("one", serves: ["https://git.test"])
        let profiles = ".config/identityctl/profiles"
        try person.write(try #require(person.text("\(profiles)/one.conf")), to: "\(profiles)/two.conf")
        #expect(try await person.integrate("git").errors.contains("--profile NAME"))
        let both = try await person.integrate("git", "--profile", "one")
        #expect(both.status == 64 && both.errors.contains("both serve https://git.test"), "\(both)")
        for name in ["one", "two"] { #expect(both.errors.contains("\(profiles)/\(name).conf"), "\(both)") }
        #expect(person.text(".gitconfig") == nil)
    }

    @Test(.timeLimit(.minutes(1))) func takesAnAddressOfTheAgent() async throws {
        var person = try await Person()
        person.variables["IDENTITYCTL_AGENT"] = "/nowhere"
        #expect(try await person.integrate("git").status == 64)
        #expect(try await person.integrate("git", "--serves", "https://git.test").status == 0)
        #expect(person.text(".gitconfig")?.contains("https://git.test") == true)
    }

    @Test(.timeLimit(.minutes(1))) func tellsWhatGitSaysOfItsFile() async throws {
        let person = try await Person(serves: "https://git.test")
        try person.write("[broken\n", to: ".gitconfig")
        let failed = try await person.integrate("git", "--profile", "work")
        #expect(failed.status == 1 && failed.errors.contains("bad config line 1"), "\(failed)")
        #expect(person.target(of: Self.link) == nil)
    }

    /// Values of `git config`, and the helpers of `https://a.test` that are added.
    @Test(arguments: [
        ("", ["", "identityctl"]), ("credential.https://a.test.helper\n\0", ["identityctl"]),
        ("credential.https://a.test.helper\nidentityctl\0", []),
        ("credential.https://a.test.helper\n/home/a\\ b/git-credential-identityctl\0", []),
        ("credential.https://a.test/x.helper\nidentityctl\0credential.helper\nstore\0", ["", "identityctl"]),
    ])
    func addsWhatIsMissing(_ output: String, _ added: [String]) throws {
        let settings = GitSettings(parsing: Array(output.utf8))
        let address = try #require(ServedAddress("https://a.test"))
        let key = "credential.https://a.test.helper"
        #expect(
            try settings.adding([address], helper: "identityctl") { _ in true }
                == added.map { ["git", "config", "--global", "--add", key, $0] }
        )
    }

    @Test func namesALinkForAShell() {
        #expect(GitSettings.word("/home/a b/$(c)/\u{FC}") == "/home/a\\ b/\\$\\(c\\)/\u{FC}")
        #expect(GitSettings.pattern("/a.b\\ +") == #"^/a\.b\\ \+$"#)
    }

    /// Keys and helpers in order, and a part of the advice on `https://a.test/x`; empty if this program is the only one.
    @Test(
        arguments: [
            ([("https://a.test/x", "identityctl")], ""),
            ([("", "store"), ("https://a.test/x", ""), ("https://a.test/x", "/b/git-credential-identityctl")], ""),
            (
                [("https://a.test/x", "identityctl"), ("", "store")],
                "--file /f --unset-all credential.helper '^store$'"
            ),
            ([("https://a.test/x", "!identityctl helper git"), ("https://a.test", "cache")], "'cache'"),
            ([("https://a.test/x", "identityctl"), ("a.test", "cache")], "'cache'"),
            ([("https://a.test/x", "identityctl"), ("https://*.test", "cache")], "'cache'"),
            ([("https://a.test/x", "identityctl"), ("https://b.test", "store"), ("https://a.test/y", "store")], ""),
            ([("https://a.test/x", "identityctl"), ("http://a.test", "store"), ("https://*", "store")], ""),
            ([("https://a.test/x", "identityctl"), ("", "")], "makes git forget identityctl"),
            ([("https://a.test/x", "identityctl"), ("", ""), ("", "store")], "makes git forget identityctl"),
        ] as [([(String, String)], String)]
    )
    func tellsWhoElseGetsTheToken(_ helpers: [(String, String)], _ advice: String) {
        let output = helpers.map { pattern, value in
            "file:/f\0credential\(pattern.isEmpty ? "" : ".\(pattern)").helper\n\(value)\0"
        }.joined()
        let problem = GitHelpers(parsing: Array(output.utf8)).problem("https://a.test/x") ?? ""
        #expect(advice.isEmpty ? problem.isEmpty : problem.contains(advice), "\(problem)")
    }

    /// A helper that is set later would get the token to keep.
    @Test(.timeLimit(.minutes(1))) func tellsOfAHelperThatKeepsTheToken() async throws {
        let person = try await Person(serves: "https://git.test")
        _ = try await person.login()
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        #expect(try await person.shell("git config --global credential.helper store").status == 0)
        let again = try await person.integrate("git", "--profile", "work")
        #expect(again.status == 0 && again.errors.contains("Note: Git also gives the token"), "\(again)")
        let doctor = try await person.run(["doctor", "--without-browser"]).output
        let advice = try #require(doctor.split(separator: "\n").first { $0.contains("run: git config") })
        #expect(try await person.shell(String(advice.split(separator: "run: ")[1])).status == 0)
        let after = try await person.run(["doctor", "--without-browser"])
        #expect(!after.output.contains("which may keep it"), "\(after)")
    }

    @Test func removesItselfFromAmongOthers() {
        let key = "credential.https://a.test.helper"
        let settings = GitSettings(parsing: Array("\(key)\nother\0\(key)\nidentityctl\0".utf8))
        #expect(settings.keys(of: nil) == [key])
        #expect(settings.removing([key]) == [["git", "config", "--global", "--unset-all", key, "^identityctl$"]])
    }
}
