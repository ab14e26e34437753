// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// `identityctl call`, with the provider's own API about the person as the API.
@Suite struct CallProcessTests {
    private func signedIn() async throws -> (Surroundings, String) {
        let place = try Surroundings()
        let login = try await place.login()
        #expect(login.status == 0, "\(login.errors)")
        place.provider.forgetRequests()
        return (place, place.issuer + "/userinfo")
    }

    @Test(.timeLimit(.minutes(1))) func printsTheAnswersBodyAndNothingElse() async throws {
        let (place, api) = try await signedIn()
        let call = try await place.run("call", api, "--header", "X-Trace: a b")
        #expect(call.status == 0 && call.errors.isEmpty)
        #expect(try JSONObject(parsing: Array(call.output.utf8)).string("sub") == "subject-alice")
        let request = try #require(place.provider.requests.first)
        #expect(request.method == "GET" && request.header("X-Trace") == "a b")
        #expect(place.provider.requests.count == 1)
    }

    @Test(.timeLimit(.minutes(1))) func renewsATokenThatTheAPIRefuses() async throws {
        let (place, api) = try await signedIn()
        place.provider.failNext(
            .userInfo,
            with: .answer(status: 401, headers: [("WWW-Authenticate", "Bearer error=\"invalid_token\"")])
        )
        let call = try await place.run("call", api)
        #expect(call.status == 0 && call.output.contains("subject-alice"))
        #expect(place.provider.count(of: .userInfo) == 2 && place.provider.count(of: .token) == 1)
    }

    @Test(.timeLimit(.minutes(1))) func tellsHowToSignInForAClaimsChallenge() async throws {
        let (place, api) = try await signedIn()
        let claims = #"{"access_token":{"acrs":{"essential":true,"value":"it's"}}}"#
        let challenge = "Bearer error=\"insufficient_claims\", claims=\"\(Base64URL.encode(Array(claims.utf8)))\""
        let fault = TestIdentityProvider.Fault.answer(status: 401, headers: [("WWW-Authenticate", challenge)])
        place.provider.failNext(.userInfo, with: fault)
        place.provider.failNext(.token, with: .refusal("interaction_required"))
        let call = try await place.run("call", api)
        #expect(call.status == 2 && call.output.isEmpty)
        let quoted = claims.replacingOccurrences(of: "'", with: #"'\''"#)
        #expect(call.errorLines.last == "To sign in, run: identityctl login --claims '\(quoted)'")
    }

    @Test(.timeLimit(.minutes(1))) func endsWith22WhenTheAPIRefuses() async throws {
        let (place, api) = try await signedIn()
        place.provider.failAlways(.userInfo, with: .answer(status: 404, body: "no such thing"))
        let plain = try await place.run("call", api)
        #expect(plain.status == 22 && plain.output == "no such thing")
        #expect(plain.errors == "identityctl: The resource answered with status 404.\n")
        let json = try await place.run("call", api, "--json")
        #expect(json.status == 22 && json.output == "no such thing")
        let error = try JSONObject(parsing: Array(try #require(json.errorLines.last).utf8)).object("error")
        #expect(error?.string("code") == "unexpected_response" && error?.integer("httpStatus") == 404)
    }

    @Test(.timeLimit(.minutes(1))) func sendsABodyFromTextFileAndStandardInput() async throws {
        let (place, api) = try await signedIn()
        let file = place.directory.appendingPathComponent("body.json").path
        try Data("{\"b\":2}".utf8).write(to: URL(fileURLWithPath: file))
        // The provider records forms.
        let form = ["--header", "Content-Type: application/x-www-form-urlencoded"]
        try Data("from=file".utf8).write(to: URL(fileURLWithPath: file))
        for (data, expected) in [("from=text", "text"), ("@\(file)", "file")] {
            _ = try await Tool.run(["call", api, "--data", data] + form, place.variables)
            let request = try #require(place.provider.requests.last)
            #expect(request.method == "POST" && request["from"] == expected)
        }
        let piped = try Tool(["call", api, "--data", "@-", "--method", "PATCH"] + form, place.variables)
        try piped.type("from=pipe")
        try piped.closeInput()
        #expect(try await piped.outcome().status == 0)
        let request = try #require(place.provider.requests.last)
        #expect(request.method == "PATCH" && request["from"]?.hasPrefix("pipe") == true)
        _ = try await place.run("call", api, "--data", "{}")
        #expect(place.provider.requests.last?.header("Content-Type") == "application/json")
    }

    @Test(.timeLimit(.minutes(1))) func uploadsAFileQuietlyIntoAPipe() async throws {
        let (place, api) = try await signedIn()
        let file = place.directory.appendingPathComponent("photo").path
        try Data(repeating: 1, count: 50_000).write(to: URL(fileURLWithPath: file))
        let call = try await place.run("call", api, "--upload", file)
        #expect(call.status == 0 && call.errors.isEmpty && call.output.contains("subject-alice"))
        let request = try #require(place.provider.requests.last)
        #expect(request.method == "PUT" && request.header("Content-Length") == "50000")
        #expect(request.header("Content-Type") == "application/octet-stream")
        let absent = try await place.run("call", api, "--upload", file + "-absent")
        #expect(absent.status == 1 && absent.errors.contains("photo-absent"))
    }

    @Test(.timeLimit(.minutes(1))) func writesTheBodyToAFile() async throws {
        let (place, api) = try await signedIn()
        let file = place.directory.appendingPathComponent("me.json").path
        let call = try await place.run("call", api, "--output", file)
        #expect(call.status == 0 && call.output.isEmpty && call.errors.isEmpty)
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("subject-alice"))
        place.provider.failNext(.userInfo, with: .answer(status: 500, body: "broken"))
        let refused = try await place.run("call", api, "--output", file + "2")
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
        let (place, api) = try await signedIn()
        let url = arguments[0].isEmpty ? api : arguments[0]
        let call = try await Tool.run(["call", url] + arguments.dropFirst(), place.variables)
        #expect(call.status == 64 && call.output.isEmpty, "\(call.errors)")
        #expect(place.provider.count(of: .userInfo) == 0)
    }

    @Test(.timeLimit(.minutes(1))) func sendsNothingWhoseAnswerCannotBeKept() async throws {
        let (place, api) = try await signedIn()
        let call = try await place.run("call", api, "--data", "x", "--output", place.directory.path + "/absent/file")
        #expect(call.status == 1 && call.output.isEmpty && call.errors.contains("absent/file"))
        #expect(place.provider.count(of: .userInfo) == 0)
    }

    @Test(.timeLimit(.minutes(1))) func asksNobodyWhenNobodyIsSignedIn() async throws {
        let place = try Surroundings()
        let call = try await place.run("call", place.issuer + "/userinfo")
        #expect(call.status == 2 && call.errors.contains("identityctl login"))
        #expect(place.provider.requests.isEmpty)
    }
}
