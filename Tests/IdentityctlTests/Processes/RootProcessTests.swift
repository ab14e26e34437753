// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

@testable import identityctl

/// The tool's help and version.
@Suite struct RootProcessTests {
    @Test(.timeLimit(.minutes(1)), arguments: [[:], ["IDENTITYCTL_JSON": "1"]])
    func saysItsVersion(variables: [String: String]) async throws {
        let outcome = try await Tool.run(["--version"], variables)
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
        #expect(outcome.output == "\(LibraryVersion.current)\n")
        #expect(LibraryVersion.current.wholeMatch(of: #/\d+\.\d+\.\d+(-dev)?/#) != nil)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [["--version"], ["--help"], ["help", "token"], ["--generate-completion-script", "bash"]]
    )
    func saysThatAFullDiskTookNothing(arguments: [String]) async throws {
        let outcome = try await Tool.run(arguments, outputPath: "/dev/full")
        #expect(outcome.status == 1 && outcome.errors.contains("Standard output could not be written"))
    }

    @Test(.timeLimit(.minutes(1)), arguments: [["help", "nosuch"], ["help", "cache", "nosuch"]])
    func knowsNoHelpForWhatIsNoCommand(arguments: [String]) async throws {
        let outcome = try await Tool.run(arguments)
        #expect(outcome.status == 64 && outcome.output.isEmpty && outcome.errors.contains("'nosuch' is not a command"))
        #expect(try await Tool.run(["help", "cache", "move"]).status == 0)
    }

    /// As in a chroot or a sandbox. Only a process with every right can make one here.
    @Test(
        .timeLimit(.minutes(1)),
        .enabled(if: (try? Shell.run("unshare -m true && echo yes")) == "yes\n", "mounts nothing"),
        arguments: ["token", "--help", "exec -- echo x", "helper keyring get https://a.test u"]
    )
    func handsOutNothingWithoutProc(arguments: String) throws {
        let tool = try Tool.executable.path
        func run(_ redirections: String) throws -> String {
            try Shell.run(
                "unshare -m sh -c 'mount -t tmpfs none /proc; \"\(tool)\" \(arguments) \(redirections); echo status $?'"
            )
        }
        #expect(try run("2>/dev/null") == "status 1\n")
        #expect(try run("2>&1").hasPrefix("identityctl: /proc is not mounted here"))
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [["helper", "git", "--help"], ["help", "helper", "git"], ["helper", "--help"]]
    )
    func helpsWithAHelper(arguments: [String]) async throws {
        let outcome = try await Tool.run(arguments)
        #expect(outcome.status == 0 && outcome.output.contains("git-credential-identityctl"), "\(outcome)")
    }

    @Test(.timeLimit(.minutes(1))) func saysThatItMayOpenTooFewFiles() throws {
        let tool = try Tool.executable.path
        let text = try Shell.run("(ulimit -n 6; '\(tool)' token; echo status $?) 2>&1")
        #expect(text.contains("ulimit -n") && text.hasSuffix("status 1\n"), "\(text)")
    }

    /// Bash evaluates the words that it completes, and the provider chooses the usernames.
    @Test(.timeLimit(.minutes(1))) func completesNoUsernameThatAShellWouldEvaluate() throws {
        let names = ["alice@example.test", "$(id)", "`id`", "-", "a b", "x;y"].joined(separator: "\\n")
        let listing = AccountOption.usernames.replacing(
            "identityctl accounts 2>/dev/null",
            with: "printf '\(names)\\n'"
        )
        #expect(try Shell.run(listing) == "alice@example.test\n")
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["bash", "zsh", "fish"])
    func completesWhatIsTypedInAShell(shell: String) async throws {
        let outcome = try await Tool.run(["--generate-completion-script", shell])
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
        for word in ["identityctl", "login", "device-code"] { #expect(outcome.output.contains(word)) }
        #expect(!outcome.output.contains("deliver-redirect"))
        #expect(outcome.output.contains("identityctl accounts 2>/dev/null"), "--account completes usernames")
    }
}
