// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// The relying-party modules about the provider's configuration and its keys, each under its identifier without
/// `oidcc-client-`. `test_idtoken_sig_none` of this plan is one of `IDTokenModuleTests`.
@Suite(.timeLimit(.minutes(1)))
struct ConfigModuleTests {
    private static let issuer = "https://login.example.test"

    /// The addresses in the document are used as they are.
    @Test func test_discovery_openid_config() async throws {
        let setup = try TestSetup()
        let members: [(String, TestIdentityProvider.Endpoint, String)] = [
            ("authorization_endpoint", .authorization, "/authorize"), ("token_endpoint", .token, "/token"),
            ("userinfo_endpoint", .userInfo, "/userinfo"),
        ]
        let changes = members.map { name, _, path in
            TestIdentityProvider.Fault.changing(name, to: "\"\(Self.issuer)\(path)?named=\(name)\"")
        }
        setup.provider.failAlways(.discovery, with: .all(changes[0], changes[1], changes[2]))
        try await setup.completeModule()
        #expect(setup.provider.count(of: .discovery) == 1)
        for (name, endpoint, _) in members {
            let sent = try #require(setup.provider.requests.first { $0.endpoint == endpoint })
            #expect(sent["named"] == name, "\(sent)")
        }
    }

    /// The address of the keys is another one for each test.
    @Test func test_discovery_jwks_uri_keys() async throws {
        let setup = try TestSetup()
        let address = "\(Self.issuer)/keys?set=\(UInt64.random(in: 0...UInt64.max))"
        setup.provider.failAlways(.discovery, with: .changing("jwks_uri", to: "\"\(address)\""))
        try await setup.completeModule()
        let asked = setup.provider.requests.filter { $0.endpoint == .keys }
        #expect(asked.count == 1 && address.hasSuffix("?set=\(asked.first?["set"] ?? "none")"))
    }

    @Test(arguments: ["https://login.example.test/", "https://login.example.test/other", "https://evil.example.test"])
    func test_discovery_issuer_mismatch(issuer: String) async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.discovery, with: .changing("issuer", to: "\"\(issuer)\""))
        let error = try await expectError(.invalidResponse) { try await setup.signedIn() }
        #expect(error.message.contains(issuer))
        #expect(setup.provider.count(of: .authorization) == 0)
    }

    @Test func test_signing_key_rotation() async throws {
        let setup = try TestSetup()
        let (application, _) = try await setup.signedIn()
        setup.provider.rotateSigningKey()
        let second = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(second.source == .identityProvider)
        #expect(try await application.userInfo(for: second.account).subject == "subject-alice")
        #expect(setup.provider.count(of: .keys) == 2)
    }

    /// The program has the keys already; they are replaced while its token request is answered.
    @Test func test_signing_key_rotation_just_before_signing() async throws {
        let setup = try TestSetup()
        let (application, _) = try await setup.signedIn()
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let task = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await setup.provider.waitForRequest(.token, count: 2)
        setup.provider.rotateSigningKey()
        gate.open()
        #expect(try await application.userInfo(for: task.value.account).subject == "subject-alice")
        #expect(setup.provider.count(of: .keys) == 2)
    }
}
