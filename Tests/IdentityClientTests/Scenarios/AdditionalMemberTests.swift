// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient
@testable import IdentityMSALCaches

/// The members of a token answer that have no property.
@Suite(.timeLimit(.minutes(1)))
struct AdditionalMemberTests {
    @Test(arguments: [false, true]) func comeWithEachTokenAlsoFromTheCache(_ sharesMSALFile: Bool) async throws {
        let directory = try TemporaryDirectory()
        let cache: any TokenCache =
            sharesMSALFile
            ? try SharedMSALCache(
                .file(directory.path + "/msal.json"),
                clientID: "test-client",
                fallback: InMemoryTokenCache()
            ) : InMemoryTokenCache()
        let setup = try TestSetup(sharesMSALFile ? .entra : .openIDConnect, cache: cache)
        setup.provider.failNext(
            .token,
            with: .all(
                .changing("instance_url", to: #""https://a.example.test/\u00e9""#),
                .changing("authorization_details", to: #"[{"type":"payment","limit":1.50}]"#),
                .changing("is_signed", to: "true"),
                .changing("nothing", to: "null")
            )
        )
        let (first, result) = try await setup.signedIn()
        let expected = [
            "instance_url": "https://a.example.test/é", "is_signed": "true",
            "authorization_details": #"[{"type":"payment","limit":1.50}]"#,
        ]
        #expect(result.additionalMembers == expected)
        for application in [first, try setup.application()] {
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
            #expect(hit.source == .cache && hit.additionalMembers == expected)
        }
        // They belong to the answer: the next one has none.
        setup.clock.advance(by: .seconds(3600))
        let next = try await first.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(next.source == .identityProvider && next.additionalMembers.isEmpty)
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .adfs])
    func areNoneOfThoseWithAProperty(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile) { $0.refreshIn = .seconds(60) }
        let (application, result) = try await setup.signedIn()
        #expect(result.additionalMembers.isEmpty)
        let records = try await setup.storedCredentials(of: application).values
        #expect(records.allSatisfy { !String(decoding: $0.bytes, as: UTF8.self).contains("additional_members") })
    }

    @Test func areKeptUpToALimit() throws {
        let long = String(repeating: "a", count: 4000)
        let json = JSONObject([
            ("access_token", .string("a")), ("first", .string(long)), ("second", .string(long)),
            ("third", .string(long)), ("small", .string("b")), ("empty", .string("")),
        ])
        let kept = try TokenResponse(json).additionalMembers
        #expect(kept.members.map(\.name) == ["first", "second", "small", "empty"])
        #expect(kept.serialized().count <= 8192)
    }

    @Test func areWhatAProgramsTestGives() {
        let result = AuthenticationResult(
            accessToken: "a",
            expiresOn: Date(timeIntervalSince1970: 0),
            scopes: [],
            account: Account(id: Account.ID(rawValue: "a"), environment: "h", username: "u"),
            source: .cache,
            additionalMembers: ["a": "b\n\"", "c": ""]
        )
        #expect(result.additionalMembers == ["a": "b\n\"", "c": ""])
    }
}
