// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient
@testable import IdentityMSALCaches

/// The program's own parameters of each request for tokens.
@Suite(.timeLimit(.minutes(1)))
struct ExtraTokenParameterTests {
    private static let parameters = ["resource": "https://api.example.test/?a=b&c", "audience": "billing é"]

    @Test func areSentWithEveryGrantAndNowhereElse() async throws {
        let setup = try TestSetup()
        let (application, result) = try await setup.signedIn { $0.extraTokenParameters = Self.parameters }
        setup.clock.advance(by: .seconds(3600))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        let token = try #require(try await setup.storedTokens(of: application).first?.refreshToken?.secret)
        _ = try await application.acquireToken(byRefreshToken: token)
        let task = Task {
            try await application.acquireTokenWithDeviceCode(DeviceCodeParameters(scopes: ["api.read"])) {
                _ = setup.provider.approveDevice(userCode: $0.userCode, as: .alice)
            }
        }
        try await setup.clock.waitForSleepers()
        setup.clock.advance(by: .seconds(5))
        _ = try await task.value
        let sent = setup.provider.requests.filter { $0.endpoint == .token }
        #expect(
            sent.map { $0["grant_type"] } == [
                "authorization_code", "refresh_token", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
            ]
        )
        for (name, value) in Self.parameters {
            #expect(sent.allSatisfy { request in request.form.filter { $0.name == name }.map(\.value) == [value] })
            #expect(setup.provider.requests.filter { $0.endpoint != .token }.allSatisfy { $0[name] == nil })
        }
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra], [false, true])
    func aTokenAnswersOnlyTheParametersThatItWasRequestedWith(
        _ profile: TestIdentityProvider.Profile,
        _ sharesMSALFile: Bool
    ) async throws {
        guard profile == .entra || !sharesMSALFile else { return }  // the file is Microsoft's
        let directory = try TemporaryDirectory()
        let cache: any TokenCache =
            sharesMSALFile
            ? try SharedMSALCache(
                .file(directory.path + "/msal.json"),
                clientID: "test-client",
                fallback: InMemoryTokenCache()
            ) : InMemoryTokenCache()
        let setup = try TestSetup(profile, cache: cache)
        let (first, result) = try await setup.signedIn { $0.extraTokenParameters = ["resource": "a"] }
        let others = [["resource": "b"], ["audience": "a"], [:]]
        for parameters in others {
            let other = try setup.application { $0.extraTokenParameters = parameters }
            let own = try await other.acquireTokenSilently(scopes: ["api.read"], account: result.account)
            #expect(own.source == .identityProvider && own.accessToken != result.accessToken)
            let again = try setup.application { $0.extraTokenParameters = parameters }
            let hit = try await again.acquireTokenSilently(scopes: ["api.read"], account: result.account)
            #expect(hit.source == .cache && hit.accessToken == own.accessToken)
        }
        let hit = try await first.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(hit.source == .cache && hit.accessToken == result.accessToken)
        #expect(try await setup.storedTokens(ofClientIn: first) == 4)
        guard sharesMSALFile else { return }
        // Other programs hand out any token that they find to a caller without parameters.
        let content = try #require(FileManager.default.contents(atPath: directory.path + "/msal.json"))
        let found = try JSONObject(parsing: Array(content)).object("AccessToken")?.members.map(\.name)
        #expect(found?.count == 1)
    }

    @Test(arguments: [
        ("scope", "a"), ("client_id", "a"), ("client_secret", "a"), ("grant_type", "a"), ("refresh_token", "a"),
        ("code", "a"), ("code_verifier", "a"), ("redirect_uri", "a"), ("device_code", "a"), ("claims", "{}"),
        ("client_info", "1"), ("token_type", "pop"), ("req_cnf", "a"), ("password", "a"), ("assertion", "a"),
        ("client_assertion", "a"), ("subject_token", "a"), ("", "a"), ("a b", "a"), ("é", "a"), ("a\0", "a"),
        ("a", ""), ("a", "a\0"), ("a", "a\nb"), ("a", "\u{7F}"),
        (String(repeating: "a", count: 101), "a"), ("a", String(repeating: "a", count: 4097)),
    ])
    func areRefusedIfTheyCannotBeSentOrAreTheLibrarys(_ name: String, _ value: String) throws {
        let setup = try TestSetup()
        let error = #expect(throws: AuthenticationError.self) {
            try setup.application { $0.extraTokenParameters = [name: value] }
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("\0") == false)
    }
}

extension TestSetup {
    /// The number of access tokens in the cache.
    fileprivate func storedTokens(ofClientIn application: PublicClientApplication) async throws -> Int {
        try await application.environment.store.allSnapshots().snapshots.values.reduce(0) {
            $0 + $1.credentials.accessTokens.count
        }
    }
}
