// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// `identityctl call`, with the provider's UserInfo endpoint as the API.
@Suite struct CallProcessTests {
    private func signedIn() async throws -> (ToolSetup, String) {
        let setup = try ToolSetup()
        try await setup.signIn()
        setup.provider.forgetRequests()
        return (setup, setup.issuer + "/userinfo")
    }

    @Test(.timeLimit(.minutes(1))) func printsTheAnswersBodyAndNothingElse() async throws {
        let (setup, api) = try await signedIn()
        let call = try await setup.run("call", api, "--header", "X-Trace: a b")
        #expect(call.status == 0 && call.errors.isEmpty)
        #expect(try JSONObject(parsing: Array(call.output.utf8)).string("sub") == "subject-alice")
        let request = try #require(setup.provider.requests.first)
        #expect(request.method == "GET" && request.header("X-Trace") == "a b")
        #expect(setup.provider.requests.count == 1)
    }

    @Test(.timeLimit(.minutes(1))) func renewsATokenThatTheAPIRefuses() async throws {
        let (setup, api) = try await signedIn()
        setup.provider.failNext(
            .userInfo,
            with: .answer(status: 401, headers: [("WWW-Authenticate", "Bearer error=\"invalid_token\"")])
        )
        let call = try await setup.run("call", api)
        #expect(call.status == 0 && call.output.contains("subject-alice"))
        #expect(setup.provider.count(of: .userInfo) == 2 && setup.provider.count(of: .token) == 1)
    }

    @Test(.timeLimit(.minutes(1))) func tellsHowToSignInForAClaimsChallenge() async throws {
        let (setup, api) = try await signedIn()
        let claims = #"{"access_token":{"acrs":{"essential":true,"value":"it's"}}}"#
        let challenge = "Bearer error=\"insufficient_claims\", claims=\"\(Base64URL.encode(Array(claims.utf8)))\""
        let fault = TestIdentityProvider.Fault.answer(status: 401, headers: [("WWW-Authenticate", challenge)])
        setup.provider.failNext(.userInfo, with: fault)
        setup.provider.failNext(.token, with: .refusal("interaction_required"))
        let call = try await setup.run("call", api)
        #expect(call.status == 2 && call.output.isEmpty)
        let quoted = claims.replacingOccurrences(of: "'", with: #"'\''"#)
        #expect(call.errorLines.last == "To sign in, run: identityctl login --claims '\(quoted)'")
    }

    /// RFC 6750 §3.1, RFC 9470 §3
    @Test(.timeLimit(.minutes(1))) func tellsHowToSignInForWhatTheAPIDemands() async throws {
        let (setup, api) = try await signedIn()
        let scope = #"Bearer error="insufficient_scope", error_description="Read \#u{9B}only.", scope="api.write""#
        let refusal = TestIdentityProvider.Fault.answer(status: 403, headers: [("WWW-Authenticate", scope)], body: "no")
        let stepUp = #"Bearer error="insufficient_user_authentication", acr_values="gold", max_age="60""#
        let another = TestIdentityProvider.Fault.answer(status: 401, headers: [("WWW-Authenticate", stepUp)])
        setup.provider.failNext(.userInfo, with: refusal, another)
        let call = try await setup.run("call", api)
        #expect(call.status == 2 && call.output.isEmpty)
        #expect(call.errorLines.contains("  The server said: insufficient_scope: Read only."))
        #expect(call.errorLines.last == "To sign in, run: identityctl login --scope 'api.write files.read'")
        let json = try await setup.run("call", api, "--json")
        let error = try JSONObject(parsing: Array(try #require(json.errorLines.last).utf8)).object("error")
        #expect(json.status == 2 && error?.string("code") == "interaction_required.insufficient_user_authentication")
        #expect(error?.object("challenge")?.members.map(\.name) == ["acrValues", "maxAge"])
        let advice = "To sign in, run: identityctl login --acr-values gold --max-age 60"
        #expect(json.errorLines.dropLast().last == advice)
        #expect(setup.provider.count(of: .token) == 0)
    }

    @Test(.timeLimit(.minutes(1))) func endsWith22WhenTheAPIRefuses() async throws {
        let (setup, api) = try await signedIn()
        setup.provider.failAlways(.userInfo, with: .answer(status: 404, body: "no such thing"))
        let plain = try await setup.run("call", api)
        #expect(plain.status == 22 && plain.output == "no such thing")
        #expect(plain.errors == "identityctl: The resource answered with status 404.\n")
        let json = try await setup.run("call", api, "--json")
        #expect(json.status == 22 && json.output == "no such thing")
        let error = try JSONObject(parsing: Array(try #require(json.errorLines.last).utf8)).object("error")
        #expect(error?.string("code") == "unexpected_response" && error?.integer("httpStatus") == 404)
    }

    @Test(.timeLimit(.minutes(1))) func writesNothingToATerminalThatItObeys() async throws {
        let (setup, api) = try await signedIn()
        setup.provider.failAlways(.userInfo, with: .answer(status: 200, body: "\u{1B}]0;title\u{7}done\n"))
        let names = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        for arguments in [["call", api]] + names.map({ ["call", api, "--output", $0] }) {
            let terminal = try PseudoTerminal()
            let call = try await Tool.run(arguments, setup.variables, outputPath: terminal.path)
            #expect(call.status == 0, "\(call.errors)")
            #expect(terminal.shown() == "\\u001B]0;title\\u0007done\r\n", "\(arguments)")
        }
        // Another terminal than that of standard output.
        let other = try PseudoTerminal()
        let name = try FileManager.default.destinationOfSymbolicLink(atPath: other.path)
        let named = try await setup.run("call", api, "--output", name)
        #expect(named.status == 0 && named.output.isEmpty, "\(named.errors)")
        #expect(other.shown() == "\\u001B]0;title\\u0007done\r\n")
        let piped = try await setup.run("call", api)
        #expect(piped.output == "\u{1B}]0;title\u{7}done\n")
    }

    @Test(.timeLimit(.minutes(1))) func printsTheHeadOfTheAnswer() async throws {
        let (setup, api) = try await signedIn()
        setup.provider.failAlways(.userInfo, with: .answer(status: 404, headers: [("X-Reason", "gone")], body: "no"))
        let call = try await setup.run("call", api, "-i")
        #expect(call.status == 22 && call.output.hasPrefix("HTTP 404 "))
        #expect(call.output.contains("\nX-Reason: gone\n") && call.output.hasSuffix("\n\nno"))
    }

    @Test(.timeLimit(.minutes(1))) func saysWhatItDoesAndNoSecret() async throws {
        let (setup, api) = try await signedIn()
        setup.provider.failNext(
            .userInfo,
            with: .answer(status: 401, headers: [("WWW-Authenticate", "Bearer error=\"invalid_token\"")])
        )
        let before = try await setup.run("token")
        let call = try await setup.run("call", api + "?key=c4n4ry", "-v")
        let after = try await setup.run("token")
        #expect(call.status == 0 && before.output != after.output)
        for text in [
            "http.method=GET http.status=401 identity.address=\(api)",
            "http.method=POST http.status=200 identity.address=\(setup.issuer)/token",
        ] { #expect(call.errors.contains(text), "\(call.errors)") }
        let refreshTokens = setup.provider.requests.compactMap { $0["refresh_token"] }
        #expect(!refreshTokens.isEmpty)
        for secret in [before.output, after.output].map({ String($0.dropLast()) }) + refreshTokens + ["c4n4ry"] {
            #expect(!call.errors.contains(secret))
        }
    }

    @Test(.timeLimit(.minutes(1))) func endsWhereTheAnswerDoesNotBegin() async throws {
        let (setup, api) = try await signedIn()
        let gate = TestGate()
        defer { gate.open() }
        setup.provider.failAlways(.userInfo, with: .held(by: gate))
        let call = try await setup.run("call", api, "--timeout", "1", "--data", "x")
        #expect(call.status == 3 && call.errors.contains("network.timed_out"), "\(call.errors)")
        #expect(call.errorLines.last == "To allow more time, give --timeout SECONDS.")
    }

    @Test(.timeLimit(.minutes(1)), arguments: [("POST", 1), ("GET", 2)])
    func repeatsNoPOSTForABusyAPI(_ method: String, _ count: Int) async throws {
        let (setup, api) = try await signedIn()
        setup.provider.failNext(.userInfo, with: .answer(status: 503, headers: [("Retry-After", "0")]))
        let call = try await setup.run("call", api, "--method", method, "--json")
        #expect(setup.provider.count(of: .userInfo) == count)
        guard count == 1 else { return }
        let error = try JSONObject(parsing: Array(try #require(call.errorLines.last).utf8)).object("error")
        #expect(call.status == 22 && error?.integer("retryAfter") == 0)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [[], ["--output", "/dev/null"], ["--upload", "/etc/passwd"]])
    func saysThatTheAPIAsksToWait(_ options: [String]) async throws {
        let (setup, api) = try await signedIn()
        setup.provider.failNext(.userInfo, with: .answer(status: 503, headers: [("Retry-After", "1")]))
        let call = try await Tool.run(["call", api] + options, setup.variables)
        #expect(call.status == 0)
        #expect(call.errors.contains(" asks to wait: trying again in 1 s"), "\(call.errors)")
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["example.com", "example.com/x", "localhost:8080/x"])
    func saysHowAnAddressBegins(_ address: String) async throws {
        let (setup, _) = try await signedIn()
        let call = try await setup.run("call", address)
        #expect(call.status == 64 && call.errors.contains("Start it with https://"), "\(call.errors)")
    }

    /// Like other programs before `| head`.
    @Test(.timeLimit(.minutes(1))) func endsBySIGPIPEWithoutAWordWhereTheReaderIsGone() async throws {
        let (setup, api) = try await signedIn()
        let path = setup.directory.path + "/fifo"
        try #require(unsafe mkfifo(path, 0o600) == 0)
        let reader = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let gate = TestGate()
        setup.provider.failAlways(.userInfo, with: .held(by: gate))
        let tool = try Tool(["call", api], setup.variables, outputPath: path)
        try await setup.provider.waitForRequest(.userInfo)
        close(reader)
        gate.open()
        let outcome = try await tool.outcome()
        #expect(outcome.status == SIGPIPE && outcome.errors.isEmpty, "\(outcome)")
    }

    @Test(.timeLimit(.minutes(1))) func sendsABodyFromTextFileAndStandardInput() async throws {
        let (setup, api) = try await signedIn()
        let file = setup.directory.appendingPathComponent("body.json").path
        try Data("{\"b\":2}".utf8).write(to: URL(fileURLWithPath: file))
        // The provider records form fields.
        let form = ["--header", "Content-Type: application/x-www-form-urlencoded"]
        try Data("from=file".utf8).write(to: URL(fileURLWithPath: file))
        for (data, expected) in [("from=text", "text"), ("@\(file)", "file")] {
            _ = try await Tool.run(["call", api, "--data", data] + form, setup.variables)
            let request = try #require(setup.provider.requests.last)
            #expect(request.method == "POST" && request["from"] == expected)
        }
        let piped = try Tool(["call", api, "--data", "@-", "--method", "PATCH"] + form, setup.variables)
        try piped.type("from=pipe")
        try piped.closeInput()
        #expect(try await piped.outcome().status == 0)
        let request = try #require(setup.provider.requests.last)
        #expect(request.method == "PATCH" && request["from"]?.hasPrefix("pipe") == true)
        _ = try await setup.run("call", api, "--data", "{}")
        #expect(setup.provider.requests.last?.header("Content-Type") == "application/json")
    }

    @Test(.timeLimit(.minutes(1))) func uploadsAFileQuietlyIntoAPipe() async throws {
        let (setup, api) = try await signedIn()
        let file = setup.directory.appendingPathComponent("photo").path
        try Data(repeating: 1, count: 50_000).write(to: URL(fileURLWithPath: file))
        let call = try await setup.run("call", api, "--upload", file)
        #expect(call.status == 0 && call.errors.isEmpty && call.output.contains("subject-alice"))
        let request = try #require(setup.provider.requests.last)
        #expect(request.method == "PUT" && request.header("Content-Length") == "50000")
        #expect(request.header("Content-Type") == "application/octet-stream")
        let absent = try await setup.run("call", api, "--upload", file + "-absent")
        #expect(absent.status == 1 && absent.errors.contains("photo-absent"))
    }

    @Test(.timeLimit(.minutes(1))) func writesTheBodyToAFile() async throws {
        let (setup, api) = try await signedIn()
        let file = setup.directory.appendingPathComponent("me.json").path
        let call = try await setup.run("call", api, "--output", file)
        #expect(call.status == 0 && call.output.isEmpty && call.errors.isEmpty)
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("subject-alice"))
        setup.provider.failNext(.userInfo, with: .answer(status: 500, body: "broken"))
        let refused = try await setup.run("call", api, "--output", file + "2")
        #expect(refused.status == 22 && refused.output == "broken")
        #expect(!FileManager.default.fileExists(atPath: file + "2"))
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ["http://api.example.test/"], ["ftp://api.example.test/"], ["", "--method", "A B"],
            ["", "--header", "nothing"],
            ["", "--header", "Authorization: Basic x"], ["", "--data", "x", "--upload", "y"],
            ["", "--output", ""], ["", "--data", "x", "--output", ""], ["", "--upload", ""],
        ]
    ) func refusesWhatIsNoRequest(arguments: [String]) async throws {
        let (setup, api) = try await signedIn()
        let url = arguments[0].isEmpty ? api : arguments[0]
        let call = try await Tool.run(["call", url] + arguments.dropFirst(), setup.variables)
        #expect(call.status == 64 && call.output.isEmpty, "\(call.errors)")
        #expect(setup.provider.count(of: .userInfo) == 0)
    }

    @Test(.timeLimit(.minutes(1))) func sendsNothingWhoseAnswerCannotBeKept() async throws {
        let (setup, api) = try await signedIn()
        let call = try await setup.run("call", api, "--data", "x", "--output", setup.directory.path + "/absent/file")
        #expect(call.status == 1 && call.output.isEmpty && call.errors.contains("absent/file"))
        #expect(setup.provider.count(of: .userInfo) == 0)
    }

    @Test(.timeLimit(.minutes(1))) func opensNoBrowserIfNoAccountIsSignedIn() async throws {
        let setup = try ToolSetup()
        let call = try await setup.run("call", setup.issuer + "/userinfo")
        #expect(call.status == 2 && call.errors.contains("identityctl login"))
        #expect(setup.provider.requests.isEmpty)
    }
}
