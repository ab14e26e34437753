// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import identityctl

@Suite struct ProfileProcessTests {
    /// The setup with a profile in place of the variables.
    private struct Home {
        let setup: ToolSetup
        let variables: [String: String]

        init(_ name: String = "work") async throws {
            setup = try ToolSetup()
            variables = [
                "HOME": setup.directory.path, "IDENTITYCTL_BROWSER": BrowserStandIn.name,
                "IDENTITYCTL_PRINT_TOKEN": "1",
            ]
            let made = try await add(name)
            #expect(made.status == 0, "\(made)")
        }

        func add(
            _ name: String,
            _ more: String...,
            variables: [String: String] = [:]
        ) async throws -> Tool.Outcome {
            let options = [
                "--client-id", "test-client", "--issuer", setup.issuer, "--scope", "files.read",
                "--cache", "file:\(setup.directory.path)/cache",
            ]
            return try await run(["profile", "add", name] + options + more, variables)
        }

        func run(_ arguments: [String], _ more: [String: String] = [:]) async throws -> Tool.Outcome {
            try await Tool.run(arguments, variables.merging(more) { $1 })
        }

        func login(_ arguments: String...) async throws -> Tool.Outcome {
            let tool = try Tool(["login"] + arguments, variables)
            let browser = ScriptedBrowser(provider: nil, signingInAs: .alice, behaviour: .approve)
            try await browser.visit(try await tool.shownAddress())
            return try await tool.outcome()
        }

        var file: URL { setup.directory.appendingPathComponent(".config/identityctl/profiles/work.conf") }
    }

    @Test(.timeLimit(.minutes(1))) func standsInForTheOptions() async throws {
        let home = try await Home()
        let token = try await home.login("--profile", "work").output
        #expect(!token.isEmpty)
        #expect(try await home.run(["token", "--profile", "work"]).output == token)
        #expect(try await home.run(["token"], ["IDENTITYCTL_PROFILE": "work"]).output == token)
        // The only profile is the one that is meant.
        #expect(try await home.run(["token"]).output == token)
        #expect(try await home.add("second").status == 0)
        #expect(try await home.run(["token"]).status == 64)
        #expect(try await home.run(["profile", "default", "work"]).status == 0)
        #expect(try await home.run(["token"]).output == token)
        #expect(try await home.run(["token", "--profile", "none"]).status == 64)
        // A default profile gives its lines to no other client.
        let other = try await home.run(["token", "--client-id", "other"])
        #expect(other.status == 64 && other.errors.contains("Which provider?"), "\(other)")
    }

    @Test(.timeLimit(.minutes(1))) func advisesTheLoginOfTheProfile() async throws {
        let home = try await Home()
        let missing = try await home.run(["token", "--profile", "work"])
        #expect(missing.status == 2 && missing.errors.contains("identityctl login --profile work"), "\(missing)")
    }

    @Test(.timeLimit(.minutes(1))) func keepsAProfileReadableByItsPersonAlone() async throws {
        let home = try await Home()
        let path = home.file.path
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let before = FileManager.default.contents(atPath: path)
        #expect(try await home.add("work").status == 64)
        #expect(
            try await home.run(["profile", "add", "work", "--replace", "--client-id", "c", "--issuer", "x"]).status
                == 64
        )
        #expect(FileManager.default.contents(atPath: path) == before)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: home.file.deletingLastPathComponent().path) == [
                "work.conf"
            ]
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o622], ofItemAtPath: path)
        let open = try await home.run(["token", "--profile", "work"])
        #expect(open.status == 64 && open.errors.contains("chmod go-w"), "\(open)")
    }

    /// An old account's name may be Latin-1.
    @Test(.timeLimit(.minutes(1)), arguments: ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"])
    func writesNothingBesideADirectoryThatIsNoText(variable: String) throws {
        let directory = try TemporaryDirectory()
        let tool = try Tool.executable.path
        let add = "profile add p --client-id c --issuer https://a.test"
        let text = try Shell.run(
            """
            cd '\(directory.path)' && name=$(printf 'caf\\351') && mkdir "$name"
            unset XDG_CONFIG_HOME XDG_STATE_HOME  # these stand above HOME
            export HOME="$PWD/h"; export \(variable)="$PWD/$name"; '\(tool)' \(add) 2>&1; ls -d caf* | wc -l
            """
        )
        #expect(text.contains(variable) && text.hasSuffix("1\n"), "\(text)")
    }

    @Test(.timeLimit(.minutes(1))) func neverHangsOnAFileThatIsNone() async throws {
        let home = try await Home()
        try FileManager.default.removeItem(at: home.file)
        let isMade = unsafe mkfifo(home.file.path, 0o600) == 0
        #expect(isMade)
        let refused = try await home.run(["token", "--profile", "work"])
        #expect(refused.status == 64 && refused.errors.contains("not a plain file"), "\(refused)")
    }

    @Test(.timeLimit(.minutes(1))) func listsShowsAndRemovesProfiles() async throws {
        let home = try await Home()
        let secret = ["IDENTITYCTL_CLIENT_SECRET": "hush"]
        #expect(try await home.add("b", "--set", "redirect-uri=http://localhost", variables: secret).status == 0)
        #expect(try await home.add("c", "--set", "client-secret=hush").status == 64)
        _ = try await home.run(["profile", "default", "b"])
        let issuer = home.setup.issuer
        #expect(
            try await home.run(["profile", "list"]).output
                == "b\t\(issuer)\ttest-client\tdefault\nwork\t\(issuer)\ttest-client\n"
        )
        let shown = try await home.run(["profile", "show", "b"]).output
        #expect(shown.contains("client-id = test-client\n") && shown.contains("redirect-uri = http://localhost\n"))
        #expect(!shown.contains("hush"))
        #expect(try await !home.run(["profile", "show", "b", "--json"]).output.contains("hush"))
        #expect(try await home.run(["profile", "show", "work", "--path"]).output == home.file.path + "\n")
        #expect(try await home.run(["profile", "remove", "b"]).status == 0)
        #expect(try await home.run(["profile", "default"]).output == "none\n")
        #expect(try await home.run(["profile", "show", "b"]).status == 64)
        #expect(try await home.run(["profile", "show", "../work"]).status == 64)
    }

    @Test(.timeLimit(.minutes(1))) func isFoundByTheHostThatAHelperAsksFor() async throws {
        let home = try await Home()
        #expect(try await home.add("team", "--serves", "https://git.test/team").status == 0)
        let token = try await home.login("--profile", "team").output
        func git(_ path: String) async throws -> Tool.Outcome {
            let tool = try Tool(["helper", "git", "get"], home.variables)
            try tool.type("protocol=https\nhost=git.test\npath=\(path)\n\n")
            try tool.closeInput()
            return try await tool.outcome()
        }
        #expect(try await git("team/repo.git").output.contains("password=\(token)"))
        #expect(try await git("teams/repo.git").output.isEmpty)
        let rival = ["rival", "--serves", "https://git.test/team/"]
        let refused = try await home.add(rival[0], rival[1], rival[2])
        #expect(refused.status == 64 && refused.errors.contains("The profile 'team' serves"), "\(refused)")
        // Two names tell them apart, but this request has none.
        #expect(try await home.add(rival[0], rival[1], rival[2], "--set", "username=r").status == 64)
        let profiles = home.file.deletingLastPathComponent()
        try FileManager.default.copyItem(
            at: profiles.appendingPathComponent("team.conf"),
            to: profiles.appendingPathComponent("rival.conf")
        )
        let both = try await git("team/repo.git")
        #expect(both.status == 64 && both.output.isEmpty && both.errors.contains("'rival'"), "\(both)")
    }

    /// `editor` is a shell's line whose argument `$1` is the file.
    private func edit(_ home: Home, _ editor: String) async throws -> Tool.Outcome {
        let script = home.setup.directory.appendingPathComponent("editor")
        try "#!/bin/sh\nshift\n\(editor)\n".write(to: script, atomically: false, encoding: .utf8)
        let terminal = try PseudoTerminal()
        let tool = try Tool(
            ["profile", "edit", "work"],
            home.variables.merging([
                "VISUAL": "/bin/sh \(script.path) --wait", "IDENTITYCTL_CLIENT_SECRET": "hush",
            ]) { $1 },
            outputPath: terminal.path,
            terminal: terminal.terminal
        )
        return try await tool.outcome()
    }

    @Test(.timeLimit(.minutes(1))) func replacesAProfileByWhatTheEditorLeft() async throws {
        let home = try await Home()
        let seen = home.setup.directory.appendingPathComponent("seen").path
        let edited = try await edit(home, "env >'\(seen)'; echo 'timeout = 9' >>\"$1\"")
        #expect(edited.status == 0 && edited.errors.contains("Changed"), "\(edited)")
        #expect(try String(contentsOf: home.file, encoding: .utf8).hasSuffix("timeout = 9\n"))
        #expect(try String(contentsOfFile: seen, encoding: .utf8).contains("VISUAL"))
        #expect(try !String(contentsOfFile: seen, encoding: .utf8).contains("hush"))
        let mode = try FileManager.default.attributesOfItem(atPath: home.file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test(.timeLimit(.minutes(1))) func keepsTheProfileAndTheTextOfAnEditWithAMistake() async throws {
        let home = try await Home()
        let before = try String(contentsOf: home.file, encoding: .utf8)
        let lines = before.split(separator: "\n").count
        let wrong = try await edit(home, "echo 'timeout = soon' >>\"$1\"")
        #expect(wrong.status == 64 && wrong.errors.contains(".work.edit.conf:\(lines + 1): "), "\(wrong)")
        #expect(try String(contentsOf: home.file, encoding: .utf8) == before)
        #expect(try await home.run(["profile", "list"]).output.split(separator: "\n").count == 1)
        let failed = try await edit(home, "exit 1")
        #expect(failed.status == 64 && failed.errors.contains("failed"), "\(failed)")
        #expect(try await edit(home, "sed -i 's/soon/8/' \"$1\"").status == 0)
        #expect(try String(contentsOf: home.file, encoding: .utf8) == before + "timeout = 8\n")
        #expect(try await edit(home, "exit 1").errors.contains("unchanged"))
        #expect(try await home.run(["profile", "edit", "work"]).status == 64)
        // A program that needs no terminal is as good.
        let script = home.setup.directory.appendingPathComponent("script")
        try "echo 'max-age = 7' >>\"$1\"\n".write(to: script, atomically: false, encoding: .utf8)
        let edited = try await home.run(["profile", "edit", "work"], ["EDITOR": "/bin/sh \(script.path)"])
        #expect(edited.status == 0 && edited.errors.contains("Changed"), "\(edited)")
        let files = try FileManager.default.contentsOfDirectory(atPath: home.file.deletingLastPathComponent().path)
        #expect(files == ["work.conf"])
    }

    @Test(.timeLimit(.minutes(1))) func keepsASymbolicLinkThatIsReplaced() async throws {
        let home = try await Home()
        let target = home.setup.directory.appendingPathComponent("elsewhere.conf")
        try FileManager.default.moveItem(at: home.file, to: target)
        try FileManager.default.createSymbolicLink(at: home.file, withDestinationURL: target)
        #expect(try await home.add("work", "--replace", "--set", "timeout=7").status == 0)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: home.file.path) == target.path)
        #expect(try String(contentsOf: target, encoding: .utf8).contains("timeout = 7\n"))
    }

    @Test(.timeLimit(.minutes(1))) func refusesAValueThatALoginRefuses() async throws {
        let home = try await Home()
        for line in [
            "timeout=0", "device-code=maybe", "redirect-uri=https://a.test", "log-level=x", "serves=http://a.test",
        ] {
            let refused = try await home.add("b", "--set", line)
            #expect(refused.status == 64 && refused.errors.contains("b.conf:"), "\(line): \(refused)")
        }
        #expect(try await home.run(["profile", "show", "b"]).status == 64)
    }

    @Test(.timeLimit(.minutes(1))) func saysWhereToRegisterAClient() async throws {
        let home = try await Home()
        let page = "https://github.com/settings/developers"
        let missing = try await home.run(["profile", "add", "gh", "--preset", "github"])
        #expect(
            missing.status == 64 && missing.errors.contains(page) && missing.errors.contains("--client-id"),
            "\(missing)"
        )
        let made = try await home.run(["profile", "add", "gh", "--preset", "github", "--client-id", "c"])
        #expect(made.status == 0 && made.errors.contains(page), "\(made)")
        let lines = try await home.run(["profile", "show", "gh"]).output
        #expect(lines.contains("token-endpoint = https://github.com/login/oauth/access_token\n"))
    }

    @Test(.timeLimit(.minutes(1))) func keepsEachOptionOfTheClient() async throws {
        let home = try await Home()
        let added = try await home.add(
            "b",
            "--token-parameter",
            "resource=https://api.example.test",
            "--token-parameter",
            "a=b",
            "--extended-lifetime",
            "--instance-aware"
        )
        #expect(added.status == 0, "\(added)")
        let lines = try await home.run(["profile", "show", "b"]).output
        for line in [
            "token-parameter = resource=https://api.example.test", "token-parameter = a=b", "extended-lifetime = on",
            "instance-aware = on",
        ] {
            #expect(lines.contains(line + "\n"), "\(lines)")
        }
    }

    @Test(.timeLimit(.minutes(1))) func changesLinesAndKeepsComments() async throws {
        let home = try await Home()
        let before = try String(contentsOf: home.file, encoding: .utf8)
        try ("# mine\n" + before).write(to: home.file, atomically: false, encoding: .utf8)
        #expect(try await home.run(["profile", "set", "work", "scope=a", "scope=b c", "prompt=login"]).status == 0)
        let text = before.replacing("scope = files.read\n", with: "scope = a\nscope = b c\n")
        #expect(try String(contentsOf: home.file, encoding: .utf8) == "# mine\n\(text)prompt = login\n")
        #expect(try await home.run(["profile", "unset", "work", "prompt", "scope"]).status == 0)
        let rest = before.replacing("scope = files.read\n", with: "")
        #expect(try String(contentsOf: home.file, encoding: .utf8) == "# mine\n\(rest)")
    }

    @Test(.timeLimit(.minutes(1))) func addsALineToAListAndTakesOneAway() async throws {
        let home = try await Home()
        let (git, registry) = ("https://git.example.com", "https://registry.example.com")
        let added = try await home.run([
            "profile", "set", "work", "serves+=\(git)", "serves+=\(registry)", "serves+=\(git)",
        ])
        #expect(added.status == 0 && !added.errors.contains("Gone"), "\(added)")
        let both = try String(contentsOf: home.file, encoding: .utf8)
        #expect(both.hasSuffix("serves = \(git)\nserves = \(registry)\n"), "\(both)")
        let taken = try await home.run(["profile", "set", "work", "serves-=\(git)", "--json"])
        #expect(taken.status == 0 && taken.output.hasPrefix(#"{"done":"Changed "#), "\(taken)")
        #expect(
            taken.output.contains("Gone: serves = \(git).".replacing("/", with: #"\/"#)) || taken.output.contains(git)
        )
        let replaced = try await home.run(["profile", "set", "work", "serves=https://other.example.com"])
        #expect(replaced.errors.contains("Gone: serves = \(registry)."), "\(replaced)")
        #expect(try await home.run(["profile", "set", "work", "serves-=https://other.example.com"]).status == 0)
        #expect(try await !home.run(["profile", "show", "work"]).output.contains("serves"))
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (["set", "work", "issuer+=https://id.example.com"], "one line only"),
            (["set", "work", "serves-=https://git.example.com"], "has no line 'serves"),
            (["set", "work", "scoep=a"], "Did you mean 'scope'?"),
            (["set", "wrok", "scope=a"], "Did you mean 'work'?"),
            (["set", "work", "scope"], "NAME=VALUE"), (["set", "work", "max-age=x"], "whole number"),
            (["set", "work", "client-secret=s"], "command lines"), (["set", "work", "to=file"], "not an option"),
            (["set", "work", "scope=a\u{1B}"], "control character"), (["unset", "work", "prompt"], "no line 'prompt'"),
            (["set", "none-such", "scope=a"], "There is no profile"), (["unset", "work", "client-id"], "client"),
        ]
    )
    func keepsAProfileThatACommandWouldRefuse(words: [String], said: String) async throws {
        let home = try await Home()
        let before = try String(contentsOf: home.file, encoding: .utf8)
        let refused = try await home.run(["profile"] + words)
        #expect(refused.status == 64 && refused.errors.contains(said), "\(refused)")
        #expect(try String(contentsOf: home.file, encoding: .utf8) == before)
    }
}
