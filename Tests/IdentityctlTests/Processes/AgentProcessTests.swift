// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import SystemSupport
import Testing

/// A running agent, and programs that ask it.
@Suite struct AgentProcessTests {
    /// Starts an agent, with the variables of the programs that use it and have nothing else.
    private func start(_ setup: ToolSetup) async throws -> (agent: Tool, client: [String: String], path: String) {
        let path = "\(setup.directory.path)/run/agent.sock"
        let agent = try Tool(["agent", "--socket", path, "--log-level", "info"], setup.variables)
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        return (agent, ["IDENTITYCTL_AGENT": path], path)
    }

    @Test(.timeLimit(.minutes(1))) func takesTheSocketOfSystemd() async throws {
        let person = try await Person()
        let token = try await person.login()
        let path = "\(person.home)/a.sock"
        let socket = try UnixSocket.listen(at: path)
        let errors = "\(person.home)/errors"
        let agent = try ActivatedTool(["agent"], person.variables, [("a.socket", socket)], errorsIn: errors)
        let outcome = try await Tool.run(["token", "--profile", "work"], ["IDENTITYCTL_AGENT": path])
        #expect(outcome.output == "\(token)\n", "\(outcome) \(agent.errors)")
        let two = try ActivatedTool(["agent"], person.variables, [("a", socket), ("b", socket)], errorsIn: errors)
        #expect(try await two.status() == 1 && two.errors.contains("other than one socket"), "\(two.errors)")
    }

    @Test(.timeLimit(.minutes(1))) func givesATokenToAProgramThatHasNoProviderAndNoStore() async throws {
        let setup = try ToolSetup()
        let bearer = try await setup.signIn()
        let (agent, client, path) = try await start(setup)
        let token = try await Tool.run(["token"], client)
        #expect(token.status == 0 && token.output == bearer + "\n" && token.errors.isEmpty, "\(token.errors)")
        let json = try await Tool.run(["token", "--json", "--id-token"], client)
        let report = try JSONObject(parsing: Array(json.output.utf8))
        #expect(report.string("accessToken") == bearer)
        #expect(report.string("idToken") != nil && report.string("idTokenExpiresOn") != nil)
        for _ in 0..<2 {
            let plain = try await PlainAgentClient.ask(path, #"{"request":"access_token","account":"default"}"#)
            #expect(plain.string("access_token") == bearer)
        }
        let renewed = try await Tool.run(["token", "--force-refresh"], client)
        #expect(renewed.status == 0 && renewed.output != bearer + "\n")
        #expect(agent.interrupt(by: 15))
        let end = try await agent.outcome()
        #expect(end.status == 0)
        // A process that asks again, as the watcher of a file each minute, has one line.
        let lines = end.errorLines.filter { $0.contains("Handed out a token") }
        #expect(lines.filter { $0.contains(" pid=\(getpid()) ") }.count == 1 && lines.count == 4, "\(end.errors)")
        let dead = try await Tool.run(["token"], client)
        #expect(
            dead.status == 4 && dead.output.isEmpty && dead.errors.contains("No agent answers at"),
            "\(dead.errors)"
        )
    }

    @Test(.timeLimit(.minutes(1))) func callsAnAPIWithTheAgentsToken() async throws {
        let setup = try ToolSetup()
        let bearer = try await setup.signIn()
        let (agent, client, _) = try await start(setup)
        let api = setup.issuer + "/userinfo"
        let refusal = TestIdentityProvider.Fault.answer(
            status: 401,
            headers: [("WWW-Authenticate", "Bearer error=\"invalid_token\"")]
        )
        setup.provider.failNext(.userInfo, with: refusal)
        setup.provider.forgetRequests()
        let call = try await Tool.run(["call", api], client)
        #expect(call.status == 0 && call.output.contains("subject-alice"), "\(call)")
        #expect(setup.provider.count(of: .userInfo) == 2 && setup.provider.count(of: .token) == 1)
        #expect(try await Tool.run(["token"], client).output != bearer + "\n")
        let claims = #"{"access_token":{"acrs":{"essential":true}}}"#
        let challenge = "Bearer error=\"insufficient_claims\", claims=\"\(Base64URL.encode(Array(claims.utf8)))\""
        setup.provider.failNext(.userInfo, with: .answer(status: 401, headers: [("WWW-Authenticate", challenge)]))
        setup.provider.failNext(.token, with: .refusal("interaction_required"))
        let person = try await Tool.run(["call", api], client)
        let advice = "To sign in, run where the agent runs: identityctl login --claims '\(claims)'"
        #expect(person.status == 2 && person.errorLines.last == advice, "\(person)")
        agent.interrupt()
    }

    /// A forwarded socket has none for control beside it.
    @Test(.timeLimit(.minutes(1))) func leavesSignInsToTheMachineOfTheAgent() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let (agent, client, path) = try await start(setup)
        let forwarded = "\(setup.directory.path)/forwarded"
        try FileManager.default.createSymbolicLink(atPath: forwarded, withDestinationPath: path)
        let far = setup.variables.merging(["IDENTITYCTL_AGENT": forwarded]) { $1 }
        for command in ["login", "logout", "accounts", "userinfo", "cache", "cache move --to file"] {
            let refused = try await Tool.run(command.split(separator: " ").map(String.init), far)
            #expect(refused.status == 64 && refused.errors.contains("is another machine's"), "\(refused)")
        }
        for command in ["unlock", "stop"] {
            let refused = try await Tool.run(["agent", command], far)
            #expect(refused.status == 7 && refused.errors.contains("on the machine where it runs"), "\(refused)")
        }
        let here = try await Tool.run(["accounts"], setup.variables.merging(client) { $1 })
        #expect(here.status == 0 && here.output.contains("alice"), "\(here)")
        let doctor = try await Tool.run(["doctor"], far)
        #expect(doctor.status == 0, "\(doctor)")
        let agentLine = "agent           ok    \(forwarded), profiles: default, version \(LibraryVersion.current)\n"
        #expect(doctor.output.contains(agentLine), "\(doctor)")
        #expect(doctor.output.contains("; not needed with the agent"), "\(doctor)")
        #expect(try await Tool.run(["agent", "lock"], far).status == 0)
        let locked = try await Tool.run(["doctor", "--without-browser"], far)
        #expect(locked.status == 4 && locked.output.contains("agent           lack  \(forwarded), locked"), "\(locked)")
        agent.interrupt()
    }

    @Test(.timeLimit(.minutes(1))) func locksUnlocksAndEnds() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let (agent, client, _) = try await start(setup)
        #expect(try await Tool.run(["agent", "lock"], client).errors == "The agent is locked.\n")
        let status = try await Tool.run(["agent", "status"], client)
        #expect(status.output == "locked\ndefault\n" && status.errors.isEmpty, "\(status)")
        let locked = try await Tool.run(["token"], client)
        #expect(locked.status == 4 && locked.errors.contains("identityctl agent unlock"), "\(locked.errors)")
        #expect(try await Tool.run(["agent", "unlock"], client).errors == "The agent is unlocked.\n")
        #expect(try await Tool.run(["token"], client).status == 0)
        #expect(try await Tool.run(["agent", "stop"], client).errors == "The agent ends.\n")
        #expect(try await agent.outcome().status == 0)
        #expect(try await Tool.run(["agent", "status"], client).status == 4)
    }

    @Test(.timeLimit(.minutes(1))) func takesThePlaceOfADeadAgentAndOfNoOther() async throws {
        let setup = try ToolSetup()
        let (first, client, path) = try await start(setup)
        let second = try await Tool.run(["agent", "--socket", path], setup.variables)
        #expect(second.status == 1 && second.errors.contains("An agent listens on \(path) already"), "\(second)")
        #expect(try await Tool.run(["agent", "status"], client).status == 0)
        #expect(first.interrupt(by: SIGKILL))
        _ = try await first.outcome()
        let (third, _, _) = try await start(setup)
        #expect(try await Tool.run(["agent", "status"], client).status == 0)
        third.interrupt()
    }

    /// `sshd` leaves the socket of a connection that has ended, and another machine may have forwarded to its path.
    @Test(.timeLimit(.minutes(1))) func saysWhatToDoAboutAForwardedSocketThatIsDead() async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/far.sock"
        do { _ = try UnixSocket.listen(at: path) }
        let dead = try await Tool.run(["token"], ["IDENTITYCTL_AGENT": path])
        #expect(dead.status == 4 && dead.errors.contains("each machine with a path of its own"), "\(dead)")
        try FileManager.default.removeItem(atPath: path)
        let missing = try await Tool.run(["token"], ["IDENTITYCTL_AGENT": path])
        #expect(missing.status == 4 && missing.errors.contains("Start it ('identityctl agent')"), "\(missing)")
        #expect(!missing.errors.contains("of its own"), "\(missing)")
    }

    /// The kernel gives the files in `/proc` of a process that hides its memory to root.
    @Test(.timeLimit(.minutes(1))) func hidesItsMemoryFromThePersonsOtherPrograms() async throws {
        let directory = try TemporaryDirectory()
        let isRoot = geteuid() == 0
        let user: UInt32 = isRoot ? 65534 : geteuid()
        let tool = "\(directory.path)/identityctl"
        _ = try Shell.run("cp '\(try Tool.executable.path)' '\(tool)'")
        #expect(unsafe chmod(directory.path, 0o755) == 0)
        try FileManager.default.createDirectory(atPath: "\(directory.path)/run", withIntermediateDirectories: false)
        if isRoot { try #require(unsafe chown("\(directory.path)/run", user, user) == 0) }
        let person = isRoot ? "setpriv --reuid=\(user) --regid=\(user) --clear-groups" : ""
        let line = "echo number $$ >&2; exec \(person) '\(tool)' agent --socket '\(directory.path)/run/a.sock'"
        let variables = [
            "IDENTITYCTL_CLIENT_ID": "c", "IDENTITYCTL_ISSUER": "https://id.test", "IDENTITYCTL_CACHE": "memory",
        ]
        let agent = try Tool(shell: line, variables)
        let number = try await agent.errorLine { $0.hasPrefix("number ") }.dropFirst(7)
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        #expect(try Shell.run("stat -c %u /proc/\(number)/mem /proc/\(number)/environ") == "0\n0\n")
        #expect(try Shell.run("grep -c '^Uid:.*\(user)' /proc/\(number)/status") == "1\n")
        agent.interrupt()
        #expect(try await agent.outcome().status == 0)
    }

    @Test(.timeLimit(.minutes(1))) func tellsWhatAPersonHasToDo() async throws {
        let setup = try ToolSetup()
        let (agent, client, _) = try await start(setup)
        let nobody = try await Tool.run(["token"], client)
        #expect(nobody.status == 2, "\(nobody.errors)")
        #expect(nobody.errors.contains("To sign in, run where the agent runs: identityctl login"), "\(nobody.errors)")
        let scope = try await Tool.run(["token", "--scope", "files.write"], client)
        #expect(scope.status == 7, "\(scope.errors)")
        let option = try await Tool.run(["token", "--cache", "memory"], client)
        #expect(option.status == 64 && option.errors.contains("--cache"), "\(option.errors)")
        let second = try await Tool.run(["agent"], setup.variables.merging(["XDG_RUNTIME_DIR": "relative"]) { $1 })
        #expect(second.status == 64, "\(second.errors)")
        agent.interrupt()
    }

    /// A home with profiles, in which an agent runs, and another home without any.
    private struct Homes {
        let setup: ToolSetup
        let own: [String: String]
        let far: [String: String]

        init() throws {
            setup = try ToolSetup()
            own = ["HOME": setup.directory.path, "IDENTITYCTL_BROWSER": BrowserStandIn.name]
            let home = setup.directory.appendingPathComponent("far")
            try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
            far = ["HOME": home.path, "IDENTITYCTL_AGENT": "\(setup.directory.path)/run/agent.sock"]
        }

        func add(_ name: String, _ more: String...) async throws {
            let options = [
                "--client-id", "test-client", "--issuer", setup.issuer, "--scope", "files.read",
                "--cache", "file:\(setup.directory.path)/cache",
            ]
            let made = try await Tool.run(["profile", "add", name] + options + more, own)
            #expect(made.status == 0, "\(made)")
        }

        func change(_ name: String, _ change: (String) -> String) throws {
            let file = setup.directory.appendingPathComponent(".config/identityctl/profiles/\(name).conf")
            let old = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            try change(old).write(to: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        }

        /// Starts the agent. Its own variables are for other commands.
        func start() async throws -> Tool {
            let variables = own.merging(["IDENTITYCTL_ACCOUNT": "bob", "IDENTITYCTL_SCOPE": "files.write"]) { $1 }
            let agent = try Tool(["agent", "--socket", "\(setup.directory.path)/run/agent.sock"], variables)
            _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
            return agent
        }

        func run(_ arguments: String...) async throws -> Tool.Outcome {
            try await Tool.run(arguments, far)
        }

        func helper(_ arguments: [String], _ request: String) async throws -> Tool.Outcome {
            let tool = try Tool(["helper"] + arguments, far)
            try tool.type(request)
            try tool.closeInput()
            return try await tool.outcome()
        }
    }

    @Test(.timeLimit(.minutes(2))) func servesAllProfilesToAHomeThatHasNone() async throws {
        let homes = try Homes()
        let token = try await homes.setup.signIn() + "\n"
        try await homes.add("work")
        try await homes.add("other", "--set", "agent-scope=mail.read")
        try homes.change("broken") { _ in "client-id = a\nnonsense\n" }
        let agent = try await homes.start()
        let found = try await homes.run("token", "--profile", "work")
        #expect(found.status == 0 && found.output == token, "\(found)")
        #expect(try await homes.run("agent", "status").output == "unlocked\nbroken\nother\nwork\n")
        let broken = try await homes.run("token", "--profile", "broken")
        #expect(broken.status == 64 && broken.errors.contains("broken.conf:2: "), "\(broken)")
        #expect(try await homes.run("token", "--profile", "other").status == 7)
        let missing = try await homes.run("token", "--profile", "missing")
        #expect(missing.status == 64 && missing.errors.contains("account not loaded"), "\(missing)")
        let unnamed = try await homes.run("token")
        #expect(unnamed.status == 64 && unnamed.errors.contains("broken, other, work"), "\(unnamed)")
        #expect(try await Tool.run(["profile", "default", "work"], homes.own).status == 0)
        #expect(try await homes.run("token").output == token)
        // A change counts at once: here to a store without tokens.
        try homes.change("work") { $0.replacingOccurrences(of: "/cache\n", with: "/empty\n") }
        let changed = try await homes.run("token", "--profile", "work")
        #expect(changed.status == 2 && changed.errors.contains("identityctl login --profile work"), "\(changed)")
        agent.interrupt()
    }

    @Test(.timeLimit(.minutes(2))) func findsTheProfileThatServesWhatAHelperAsksFor() async throws {
        let homes = try Homes()
        let token = try await homes.setup.signIn() + "\n"
        let idToken = try await homes.setup.run("token", "--id-token").output.dropLast()
        try await homes.add("work")
        try await homes.add("team", "--serves", "https://git.test/team", "--set", "username=bot")
        try homes.change("broken") { _ in "nonsense\n" }
        #expect(try await Tool.run(["profile", "default", "work"], homes.own).status == 0)
        let agent = try await homes.start()
        let asked = "protocol=https\nhost=git.test\npath=team/repo.git\n\n"
        let found = try await homes.helper(["git", "get"], asked)
        #expect(found.status == 0 && found.output.contains("username=bot\npassword=\(token)"), "\(found)")
        for arguments in [["git", "get"], ["git", "--profile", "team", "get"], ["git", "--profile", "work", "get"]] {
            let other = try await homes.helper(arguments, asked.replacing("team/", with: "teams/"))
            #expect(other.status == 0 && other.output.isEmpty, "\(other)")
        }
        let docker = try await homes.helper(
            ["docker", "--profile", "work", "--serves", "https://r.test", "get"],
            "r.test"
        )
        #expect(docker.output.contains("\"Secret\":\"\(token.dropLast())\""), "\(docker)")
        let miss = try await homes.helper(["docker", "get"], "r.test")
        #expect(miss.status == 1 && miss.output.contains("credentials not found"), "\(miss)")
        let kubectl = try await homes.run("helper", "kubectl", "--profile", "work")
        #expect(kubectl.output.contains("\"token\":\"\(idToken)\""), "\(kubectl)")
        // A 'keyring' passes on what the agent does not serve, and what it serves under another username.
        let next = homes.setup.directory.appendingPathComponent("next")
        try FileManager.default.createDirectory(at: next, withIntermediateDirectories: false)
        try Data("#!/bin/sh\necho other $3\n".utf8).write(to: next.appendingPathComponent("keyring"))
        #expect(unsafe chmod(next.appendingPathComponent("keyring").path, 0o700) == 0)
        let keyring = homes.far.merging(["PATH": "\(next.path):/usr/bin:/bin"]) { $1 }
        for (call, answer) in [
            ("https://git.test/team/ bot", token), ("https://git.test/team/ u", "other u\n"),
            ("https://git.test/teams/ bot", "other bot\n"),
        ] {
            let words = ["helper", "keyring", "get"] + call.split(separator: " ").map(String.init)
            let found = try await Tool.run(words, keyring)
            #expect(found.status == 0 && found.output == answer, "\(found)")
        }
        // Git itself, which tells the helper that the token was refused.
        let git =
            "git -c credential.helper= -c credential.useHttpPath=true -c 'credential.helper=!\"$TOOL\" helper git' credential"
        let line = "printf %s \"$ASKED\" | \(git) fill >\"$HOME/filled\" && \(git) reject <\"$HOME/filled\""
        let variables = ["TOOL": try Tool.executable.path, "ASKED": asked, "GIT_TERMINAL_PROMPT": "0"]
        let rejected = try await Tool(shell: line, homes.far.merging(variables) { $1 }).outcome()
        #expect(rejected.status == 0, "\(rejected)")
        let renewed = try await homes.helper(["git", "get"], asked)
        #expect(renewed.output.contains("password=") && !renewed.output.contains(token), "\(renewed)")
        agent.interrupt()
    }
}
