// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

/// `--scheme pop`: requests that are signed with a key.
@Suite struct SignedRequestProcessTests {
    private func signedIn() async throws -> ToolSetup {
        let setup = try ToolSetup()
        setup.provider.settings.issuesBoundTokens = true
        try await setup.signIn()
        return setup
    }

    /// An API that checks the signature with the nonce `n1`.
    private func api(_ setup: ToolSetup) throws -> ResourceServer {
        let provider = setup.provider
        return try ResourceServer { request in
            do {
                let now = Int64(Date().timeIntervalSince1970)
                try SignedRequestCheck(provider: provider, now: now).check(request, nonce: "n1")
                return .json(#"{"ok":true}"#)
            } catch SignedRequestCheck.Failure.nonce {
                return .unauthorized(#"PoP nonce="n1""#)
            } catch {
                return .unauthorized("PoP error=\"invalid_token\", error_description=\"\(error)\"")
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func callSignsAndAnswersTheNonce() async throws {
        let setup = try await signedIn()
        let api = try api(setup)
        let call = try await setup.run("call", "\(api.origin)/me?x=1", "--scheme", "pop")
        #expect(call.status == 0 && call.output == #"{"ok":true}"#, "\(call.errors)")
        #expect(api.requests.count == 2)
        let bearer = try await setup.run("call", "\(api.origin)/me")
        #expect(bearer.status == 22 && api.authorizations.last?.hasPrefix("Bearer ") == true)
    }

    /// Two processes need the key for the first time at once.
    @Test(.timeLimit(.minutes(1))) func tokenPrintsTheHeaderOfOneRequest() async throws {
        let setup = try await signedIn()
        let api = try api(setup)
        let request = "PUT \(api.origin)/items/1?x=1"
        let arguments = ["token", "--scheme=pop", "--request", request, "--nonce", "n1"]
        let first = Task { try await Tool.run(arguments, setup.variables) }
        let second = Task { try await Tool.run(arguments + ["--json"], setup.variables) }
        let (plain, json) = (try await first.value, try await second.value)
        #expect(plain.status == 0 && json.status == 0, "\(plain.errors)\(json.errors)")
        let report = try JSONObject(parsing: Array(json.output.utf8))
        #expect(report.string("tokenType") == "PoP" && report["accessToken"] == nil)
        let headers = [
            plain.output.trimmingCharacters(in: .newlines), try #require(report.string("authorizationHeader")),
        ]
        let keys = try headers.map { try SignedRequestCheck.claims($0).object("cnf") }
        #expect(keys[0] == keys[1] && keys[0] != nil)
        for header in headers {
            let claims = try SignedRequestCheck.claims(header)
            #expect(claims.string("m") == "PUT" && claims.string("p") == "/items/1" && claims.string("nonce") == "n1")
            #expect("http://\(claims.string("u") ?? "")" == api.origin)
        }
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ["token", "--scheme", "pop"], ["token", "--request", "GET https://a.test/"], ["token", "--nonce", "n"],
            ["token", "--scheme", "pop", "--request", "GET https://a.test/ x"],
            ["token", "--scheme", "pop", "--request", "G\tT https://a.test/"],
            ["token", "--scheme", "pop", "--request", "GET https://a.test/", "--output", "/dev/null"],
            ["token", "--scheme", "pop", "--request", "GET https://a.test/", "--id-token"],
            ["token", "--scheme", "other"], ["call", "https://a.test/", "--scheme", "other"],
            ["login", "--scheme", "pop", "--print-token"],
        ]
    )
    func isToldApartFromOtherUses(arguments: [String]) async throws {
        let outcome = try await Tool.run(arguments, ToolSetup().variables)
        #expect(outcome.status == 64 && outcome.output.isEmpty, "\(outcome.errors)")
    }

    @Test(.timeLimit(.minutes(1))) func anAgentSignsNothing() async throws {
        let setup = try ToolSetup()
        let variables = setup.variables.merging(["IDENTITYCTL_AGENT": "/nowhere"]) { $1 }
        let call = try await Tool.run(["call", "https://a.test/", "--scheme", "pop"], variables)
        #expect(call.status == 64 && call.errors.contains("agent signs no requests"))
    }

    @Test(.timeLimit(.minutes(1))) func loginGetsABoundTokenAtOnce() async throws {
        let setup = try ToolSetup()
        setup.provider.settings.issuesBoundTokens = true
        let login = try await setup.login("--scheme", "pop")
        #expect(login.status == 0 && login.output.isEmpty, "\(login.errors)")
        let tokens = setup.provider.count(of: .token)
        let header = try await setup.run("token", "--scheme", "pop", "--request", "https://a.test/")
        #expect(header.status == 0 && header.output.hasPrefix("PoP ") && setup.provider.count(of: .token) == tokens)
    }
}
