// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// The relying-party modules about UserInfo, each under its identifier without `oidcc-client-`.
@Suite(.timeLimit(.minutes(1)))
struct UserInfoModuleTests {
    private static let subjects: [(AuthenticationError.Code, String?)] = [
        (.invalidResponse, #""another""#), (.invalidResponse, #""subject-Alice""#),
        (.invalidResponse, #""subject-alice\u0301""#), (.malformedResponse, nil), (.malformedResponse, "null"),
        (.malformedResponse, "7"), (.malformedResponse, #""""#),
    ]

    /// A `sub` that only looks the same is another person, and one that is missing is no person.
    @Test(arguments: subjects, ResponseMode.allCases)
    func test_userinfo_invalid_sub(
        _ answer: (code: AuthenticationError.Code, sub: String?),
        _ mode: ResponseMode
    ) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn(mode)
        setup.provider.failNext(.userInfo, with: .changing("sub", to: answer.sub))
        try await expectError(answer.code) { try await application.userInfo(for: first.account) }
    }

    @Test func test_userinfo_bearer_header() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        #expect(try await application.userInfo(for: first.account).subject == "subject-alice")
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .userInfo })
        #expect(sent.method == "GET" && sent.header("Authorization") == first.authorizationHeader)
        #expect(sent.query.isEmpty && sent.form.isEmpty && setup.provider.count(of: .token) == 1)
    }

    @Test func test_userinfo_signed() async throws {
        let setup = try TestSetup { $0.signsUserInfo = true }
        let (application, first) = try await setup.signedIn()
        #expect(try await application.userInfo(for: first.account).name == "Alice Example")
    }

    @Test(arguments: ResponseMode.allCases)
    func test_scope_userinfo_claims(_ mode: ResponseMode) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn(mode, scopes: ["api.read", .email])
        let claims = try await application.userInfo(for: first.account)
        #expect(claims.name == "Alice Example" && claims.preferredUsername == first.account.username)
        #expect(claims.email == first.account.username && claims.isEmailVerified == true)
    }

    @Test func test_aggregated_claims() async throws {
        try await passOn(#"{"src1":{"JWT":"e30.e30."}}"#)
    }

    @Test func test_distributed_claims() async throws {
        try await passOn(#"{"src1":{"endpoint":"https://bank.example.test/claims","access_token":"x"}}"#)
    }

    /// The program verifies an aggregated source, and fetches a distributed one.
    private func passOn(_ sources: String) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let names = #"{"shoe_size":"src1"}"#
        setup.provider.failNext(
            .userInfo,
            with: .all(.changing("_claim_names", to: names), .changing("_claim_sources", to: sources))
        )
        let claims = try await application.userInfo(for: first.account)
        #expect(claims.json.contains(#""_claim_names":\#(names),"_claim_sources":\#(sources)"#))
        #expect(setup.transport.requests.allSatisfy { $0.authority == "login.example.test" }, "Nothing is fetched.")
    }
}
