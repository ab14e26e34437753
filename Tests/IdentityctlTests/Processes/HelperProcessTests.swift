// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import SystemSupport
import Testing

@testable import identityctl

/// Git itself, and calls as docker makes them.
@Suite struct HelperProcessTests {
    private static let asked = "protocol=https\nhost=git.test\n"

    /// Runs git, which finds the program under its helper's name.
    private func git(_ operation: String, _ request: String, in setup: ToolSetup) async throws -> Tool.Outcome {
        try await run(
            "git -c credential.helper= -c credential.helper=identityctl credential \(operation)",
            request,
            setup
        )
    }

    private func run(_ line: String, _ request: String, _ setup: ToolSetup) async throws -> Tool.Outcome {
        let links = setup.directory.appendingPathComponent("links")
        for name in [
            "git-credential-identityctl", "docker-credential-identityctl", "keyring",
            "cargo-credential-identityctl", "bazel-credential-identityctl", "pnpm-token-identityctl", "identityctl",
        ] {
            let link = links.appendingPathComponent(name)
            guard !FileManager.default.fileExists(atPath: link.path) else { continue }
            try FileManager.default.createDirectory(at: links, withIntermediateDirectories: true)
            // Another call may have made it meanwhile.
            try? FileManager.default.createSymbolicLink(at: link, withDestinationURL: try Tool.executable)
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        var variables = setup.variables
        variables["PATH"] = "\(links.path):\(path)"
        variables["HOME"] = setup.directory.path
        variables["GIT_TERMINAL_PROMPT"] = "0"
        variables["GIT_ASKPASS"] = "true"
        variables["IDENTITYCTL_SERVES"] = "https://git.test"
        let tool = try Tool(shell: line, variables)
        if !request.isEmpty { try tool.type(request) }  // a helper may end without reading, and the pipe break
        try tool.closeInput()
        return try await tool.outcome()
    }

    @Test(.timeLimit(.minutes(1))) func givesGitTheTokenOfItsHost() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn() + "\n"
        let filled = try await git("fill", Self.asked, in: setup)
        #expect(filled.status == 0 && filled.output.contains("\nusername=oauth2\npassword=\(token)"), "\(filled)")
        let other = try await git("fill", "protocol=https\nhost=git.test.evil.test\n", in: setup)
        #expect(!other.output.contains(token.dropLast()), "\(other)")
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test(.timeLimit(.minutes(1))) func renewsTheTokenThatGitRejects() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn() + "\n"
        let rejected = Self.asked + "username=oauth2\npassword=\(token)"
        #expect(try await git("reject", Self.asked + "username=oauth2\npassword=older\n", in: setup).status == 0)
        #expect(setup.provider.count(of: .token) == 1)
        #expect(try await git("reject", rejected, in: setup).status == 0)
        #expect(setup.provider.count(of: .token) == 2)
        #expect(try await git("reject", rejected, in: setup).status == 0)
        #expect(setup.provider.count(of: .token) == 2)
        let filled = try await git("fill", Self.asked, in: setup)
        #expect(filled.output.contains("password=") && !filled.output.contains(token), "\(filled)")
    }

    /// A push with submodules makes git call the helper several times at once.
    @Test(.timeLimit(.minutes(1))) func renewsARejectedTokenOnce() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn() + "\n"
        let rejected = Self.asked + "username=oauth2\npassword=\(token)"
        try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<4 { group.addTask { try await git("reject", rejected, in: setup).status } }
            for try await status in group { #expect(status == 0) }
        }
        #expect(setup.provider.count(of: .token) == 2)
    }

    @Test(.timeLimit(.minutes(1))) func saysWhichCommandSignsIn() async throws {
        let setup = try ToolSetup()
        let helper = "docker-credential-identityctl"
        let missing = try await run("\(helper) get", "git.test", setup)
        #expect(missing.status == 1 && missing.errors.contains("identityctl login"), "\(missing)")
        // Podman asks for every registry of its file, and takes only this answer for none.
        #expect(missing.output == "credentials not found in native keychain\n", "\(missing)")
        // Git asks no person for a password that does not exist.
        let ended = try await git("fill", Self.asked, in: setup)
        #expect(ended.status == 128 && ended.output.isEmpty && ended.errors.contains("told us to quit"), "\(ended)")
        #expect(ended.errors.contains("identityctl login"), "\(ended)")
        let unknown = try await run("git-credential-identityctl nonsense", "", setup)
        #expect(unknown.status == 0 && unknown.output.isEmpty && unknown.errors.isEmpty, "\(unknown)")
    }

    @Test(.timeLimit(.minutes(1))) func answersDockerOnStandardOutput() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn()
        let helper = "docker-credential-identityctl"
        let found = try await run("\(helper) get", "git.test", setup)
        #expect(
            found.output == #"{"ServerURL":"git.test","Username":"oauth2","Secret":"\#(token)"}"# + "\n",
            "\(found)"
        )
        let miss = try await run("\(helper) get", "git.test.evil.test", setup)
        #expect(miss.status == 1 && miss.output == "credentials not found in native keychain\n" && miss.errors.isEmpty)
        #expect(try await run("\(helper) erase", "git.test", setup).status == 0)
        #expect(try await run("\(helper) get", "git.test", setup).output == found.output)
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["v1", "v1beta1"])
    func answersKubectlInItsVersion(version: String) async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn()
        let helper = "\"\(try Tool.executable.path)\" helper kubectl"
        func asking(_ server: String) -> String {
            let version = "client.authentication.k8s.io/\(version)"
            return #"KUBERNETES_EXEC_INFO='{"apiVersion":"\#(version)","kind":"ExecCredential","#
                + #""spec":{"interactive":false,"cluster":{"server":"\#(server)"}}}' "#
        }
        let idToken = try await setup.run("token", "--id-token").output.dropLast()
        let found = try await run(asking("https://git.test:443") + helper, "", setup)
        #expect(found.status == 0, "\(found)")
        let answer = try JSONObject(parsing: Array(found.output.utf8))
        #expect(answer.string("apiVersion") == "client.authentication.k8s.io/\(version)")
        #expect(found.output.contains(#""status":{"token":"\#(idToken)","expirationTimestamp":""#), "\(found)")
        let access = try await run(asking("https://git.test") + helper + " --access-token", "", setup)
        #expect(access.output.contains(#""token":"\#(token)""#), "\(access)")
        let other = try await run(asking("https://git.test.evil.test") + helper, "", setup)
        #expect(other.status == 64 && other.output.isEmpty, "\(other)")
        let wrong = try await run("KUBERNETES_EXEC_INFO='{}' " + helper, "", setup)
        #expect(wrong.status == 64 && wrong.output.isEmpty, "\(wrong)")
    }

    @Test(.timeLimit(.minutes(1))) func makesResponsesForMail() async throws {
        let setup = try ToolSetup()
        let missing = try await setup.run("helper", "xoauth2", "--user", "alice@mail.test")
        #expect(missing.status == 2 && missing.output.isEmpty && missing.errors.contains("identityctl login"))
        let token = try await setup.signIn()
        func decoded(_ outcome: Tool.Outcome) throws -> String {
            #expect(outcome.status == 0 && outcome.output.hasSuffix("\n"), "\(outcome)")
            return String(decoding: try #require(Data(base64Encoded: String(outcome.output.dropLast()))), as: UTF8.self)
        }
        let older = try await setup.run("helper", "xoauth2", "--user", "alice@mail.test")
        #expect(try decoded(older) == "user=alice@mail.test\u{1}auth=Bearer \(token)\u{1}\u{1}")
        let standard = try await setup.run(
            "helper",
            "oauthbearer",
            "--user",
            "alice@mail.test",
            "--host",
            "imap.mail.test",
            "--port",
            "993"
        )
        let fields = "host=imap.mail.test\u{1}port=993\u{1}auth=Bearer \(token)\u{1}\u{1}"
        #expect(try decoded(standard) == "n,a=alice@mail.test,\u{1}" + fields)
        let wrong = try await setup.run("helper", "xoauth2", "--user", "a\u{1}auth=x")
        #expect(wrong.status == 64 && wrong.output.isEmpty, "\(wrong)")
    }

    @Test(.timeLimit(.minutes(1))) func answersAsKeyringAndPassesOnTheRest() async throws {
        let setup = try ToolSetup()
        let missing = try await run("keyring get https://git.test/simple/ u", "", setup)
        #expect(missing.status == 2 && missing.output.isEmpty && missing.errors.contains("identityctl login"))
        let token = try await setup.signIn() + "\n"
        let found = try await run("keyring get https://git.test/simple/ oauth2", "", setup)
        #expect(found.status == 0 && found.output == token, "\(found)")
        #expect(try await run("keyring get https://git.test --mode creds", "", setup).output == "oauth2\n\(token)")
        let alone = try await run("PATH=\"${PATH%%:*}\"; keyring get git.test.evil.test u", "", setup)
        #expect(alone.status == 1 && alone.output.isEmpty && alone.errors.isEmpty, "\(alone)")

        let next = setup.directory.appendingPathComponent("next")
        try FileManager.default.createDirectory(at: next, withIntermediateDirectories: true)
        let program = Data("#!/bin/sh\nprintf '[%s]' \"$@\"\nkill -TERM $$\nexit 3\n".utf8)
        let path = next.appendingPathComponent("keyring").path
        #expect(FileManager.default.createFile(atPath: path, contents: program, attributes: [.posixPermissions: 0o700]))
        for arguments in [
            "get git.test.evil.test u", "get git.test u", "set git.test u", "get git.test 'u\n'", "-x '$(id) ;'",
        ] {
            let passed = try await run("PATH=\"${PATH%%:*}:\(next.path)\"; keyring \(arguments)", "", setup)
            #expect(
                passed.status != 3 && passed.output.hasPrefix("[\(arguments.split(separator: " ")[0])]"),
                "\(passed)"
            )
        }
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test(.timeLimit(.minutes(1))) func answersCargoLineByLine() async throws {
        let setup = try ToolSetup()
        func request(_ index: String, _ kind: String = "get") -> String {
            #"{"v":1,"registry":{"index-url":"\#(index)"},"kind":"\#(kind)","operation":"read","args":[]}"#
        }
        let helper = "cargo-credential-identityctl --cargo-plugin"
        let missing = try await run(helper, request("sparse+https://git.test/i/"), setup)
        #expect(missing.status == 0 && missing.output.hasPrefix(#"{"v":[1]}"# + "\n" + #"{"Err":{"kind":"other""#))
        #expect(missing.output.contains("identityctl login"), "\(missing)")
        let token = try await setup.signIn()
        let requests = [
            request("sparse+https://git.test/i/"), request("sparse+https://git.test.evil.test/"),
            request("https://git.test", "logout"), "nonsense",
        ]
        let found = try await run(helper, requests.joined(separator: "\n"), setup)
        let lines = found.output.split(separator: "\n")
        #expect(found.status == 0 && lines.count == 5, "\(found)")
        #expect(lines[1].hasPrefix(#"{"Ok":{"kind":"get","token":"Bearer \#(token)","cache":"expires","#), "\(found)")
        // Cargo asks its next provider for these.
        #expect(lines[2...3].allSatisfy { $0 == #"{"Err":{"kind":"url-not-supported"}}"# }, "\(found)")
        #expect(lines[4].hasPrefix(#"{"Err":{"kind":"other""#), "\(found)")
        #expect(try await run("cargo-credential-identityctl", "", setup).status == 64)
    }

    @Test(.timeLimit(.minutes(1))) func answersBazelAndPnpm() async throws {
        let setup = try ToolSetup()
        let bazel = "bazel-credential-identityctl get"
        let missing = try await run("pnpm-token-identityctl", "", setup)
        #expect(missing.status == 2 && missing.output.isEmpty && missing.errors.contains("identityctl login"))
        let token = try await setup.signIn()
        let found = try await run(bazel, #"{"uri":"https://git.test/a?b=c"}"#, setup)
        #expect(found.status == 0, "\(found)")
        #expect(found.output.hasPrefix(#"{"headers":{"Authorization":["Bearer \#(token)"]},"expires":""#), "\(found)")
        let other = try await run(bazel, #"{"uri":"https://git.test.evil.test/"}"#, setup)
        #expect(other.status == 64 && other.output.isEmpty, "\(other)")
        #expect(try await run("pnpm-token-identityctl", "", setup).output == "Bearer \(token)\n")
    }

    @Test(.timeLimit(.minutes(1))) func answersGoTwice() async throws {
        let setup = try ToolSetup()
        let (start, again) = ("identityctl helper go", "identityctl helper go https://git.test/mod/@v/list")
        #expect(try await run(start, "", setup).output.isEmpty)
        let token = try await setup.signIn()
        func block(_ token: String) -> String { "https://git.test/\n\nAuthorization: Bearer \(token)\n\n" }
        #expect(try await run(start, "", setup).output == block(token))
        for other in ["HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 403 Forbidden\r\n\r\n"] {
            #expect(try await run(again, other, setup).output.isEmpty)
        }
        let elsewhere = "identityctl helper go https://git.test.evil.test/mod"
        #expect(try await run(elsewhere, "HTTP/1.1 401 Unauthorized\r\n\r\n", setup).output.isEmpty)
        #expect(setup.provider.count(of: .token) == 1)
        // The token that Go has shown was refused: it is renewed, once.
        let renewed = try await run(again, "HTTP/1.1 401 Unauthorized\r\n\r\n", setup)
        #expect(
            renewed.status == 0 && renewed.output.hasPrefix("https://git.test/\n\nAuthorization: Bearer "),
            "\(renewed)"
        )
        #expect(renewed.output != block(token) && setup.provider.count(of: .token) == 2)
        #expect(try await run(start, "", setup).output == renewed.output)
    }

    /// A second call asks the gateway, because Codex calls twice at each start; a refused token is renewed, once in a minute.
    @Test(.timeLimit(.minutes(1))) func asksAGatewayBeforeItRenews() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn()
        let gateway = try ScriptedServer { request in
            let status = request.connection < 1 ? "200 OK" : "401 Unauthorized"
            return [.send(Array("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n".utf8)), .close]
        }
        defer { gateway.close() }
        let address = "http://127.0.0.1:\(gateway.port)"
        let command = "identityctl helper api-key --serves \(address) --gateway \(address)/"
        for asked in 0...1 {
            #expect(try await run(command, "", setup).output == "\(token)\n")
            #expect(gateway.requests.count == asked && setup.provider.count(of: .token) == 1)
        }
        #expect(gateway.requests.first?.line == "GET /v1/models HTTP/1.1")
        #expect(gateway.requests.first?.values("authorization") == ["Bearer \(token)"])
        let renewed = try await run(command, "", setup)
        #expect(
            renewed.status == 0 && renewed.output != "\(token)\n" && setup.provider.count(of: .token) == 2,
            "\(renewed)"
        )
        #expect(try await run(command, "", setup).output == renewed.output)
        #expect(gateway.requests.count == 2 && setup.provider.count(of: .token) == 2)
        // A gateway that is not served gets no token.
        let other = try await run("identityctl helper api-key --gateway https://gateway.test", "", setup)
        #expect(other.status == 64 && other.output.isEmpty && gateway.requests.count == 2, "\(other)")
    }

    /// Another agent may not look at the name that it is asked for.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("alice@example.test", "", true), ("1", "", true), ("bob@example.test", "", false),
            // A name that servers want, and none of a person.
            ("oauth2", "", true), ("oauth2", #","username":"oauth2""#, true),
            ("oauth2", #","username":"alice""#, true), ("x-access-token", #","username":"oauth2""#, true),
            ("bob@example.test", #","username":"oauth2""#, false),
        ]
    )
    func givesAnAgentsTokenUnderNoOtherPersonsName(name: String, own: String, isGiven: Bool) async throws {
        let directory = try TemporaryDirectory()
        let account = #"{"id":"1","username":"alice@example.test"}"#
        let token = #""access_token":"token","expires_at":4000000000,"serves":"https://git.test""#
        let answer = #"{"status":"success",\#(token),"report":{"account":\#(account)}\#(own)}"# + "\n"
        let path = "\(directory.path)/agent.sock"
        let server = try AgentServer(listeners: [UnixSocket.listen(at: path)], limits: AgentServer.Limits()) {
            Array("refused: \($0)".utf8)
        } respond: { _ in
            Array(answer.utf8)
        }
        let tool = try Tool(["helper", "git", "get"], ["IDENTITYCTL_AGENT": path, "HOME": directory.path])
        try tool.type("\(Self.asked)username=\(name)\n")
        try tool.closeInput()
        let outcome = try await tool.outcome()
        server.close()
        #expect(outcome.output.contains("password=token") == isGiven, "\(outcome)")
    }
}
