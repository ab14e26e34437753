// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

/// The demands in the challenges of an API.
@Suite struct ResourceChallengeTests {
    /// The examples of RFC 6750 §3.1 and RFC 9470 §3, and their neighbors.
    private static let readable: [(String, ResourceChallenge)] = [
        (#"Bearer error="insufficient_scope", scope="a b""#, ResourceChallenge(scopes: ["a", "b"])),
        (
            #"Bearer error="insufficient_user_authentication", error_description="Another", acr_values="myACR""#,
            ResourceChallenge(acrValues: ["myACR"])
        ),
        (
            #"Bearer error="insufficient_user_authentication", max_age="5""#,
            ResourceChallenge(maxAge: .seconds(5))
        ),
        (
            #"Bearer error="insufficient_user_authentication", acr_values="b a", max_age=0, scope="x""#,
            ResourceChallenge(scopes: ["x"], acrValues: ["b", "a"], maxAge: .zero)
        ),
        (#"Basic realm="x", Bearer error="insufficient_scope", scope="c""#, ResourceChallenge(scopes: ["c"])),
        (
            #"Bearer error="insufficient_user_authentication", max_age="99999999999999999999""#,
            ResourceChallenge(maxAge: .seconds(Int32.max))
        ),
        (#"Bearer error="insufficient_user_authentication", max_age="-1""#, ResourceChallenge()),
        (#"Bearer error="insufficient_user_authentication", max_age="1.5", scope="a\"""#, ResourceChallenge()),
    ]

    @Test(arguments: readable)
    func areRead(_ field: String, _ challenge: ResourceChallenge) {
        #expect(ResourceChallenge(inChallenges: [field]) == challenge)
    }

    private static let long = String(repeating: "x", count: 1001)

    @Test(arguments: [
        "Bearer", #"Bearer error="invalid_token", scope="a""#, #"Digest error="insufficient_scope", scope="a""#,
        #"Bearer error="insufficient_scope""#, #"Bearer error="insufficient_scope", scope="a", scope="b""#,
        "Bearer error=insufficient_scope, scope=\"\(long)\"", "Bearer error=insufficient_scope, scope=\"a é\"",
        "Bearer error=insufficient_user_authentication, acr_values=\"\(long)\"",
        "Bearer error=insufficient_user_authentication, acr_values=\"a\u{7F}\"",
    ])
    func areNotPassedOnIfNoRequestCouldHoldThem(_ field: String) {
        #expect(ResourceChallenge(inChallenges: [field]) == nil)
    }

    @Test func becomeTheParametersOfTheNextSignIn() {
        let challenge = ResourceChallenge(scopes: ["a", "b"], acrValues: ["gold"], maxAge: .seconds(60))
        let error = AuthenticationError(.insufficientScope, "", claims: "{}", challenge: challenge)
        let account = Account(id: Account.ID(rawValue: "1"), environment: "e.test")
        let parameters = error.interactiveParameters(scopes: ["c"], account: account)
        #expect(parameters.scopes == ["a", "b", "c"] && parameters.account == account && parameters.claims == "{}")
        #expect(parameters.acrValues == ["gold"] && parameters.maxAge == .seconds(60))
        #expect(parameters.prompt == .providerDefault)
    }

    @Test func anUnnamedAuthenticationIsANewOne() {
        let error = AuthenticationError(.insufficientUserAuthentication, "", challenge: ResourceChallenge())
        #expect(error.interactiveParameters(scopes: [], account: nil).prompt == .login)
        let other = AuthenticationError(.signInExpired, "")
        #expect(other.interactiveParameters(scopes: [], account: nil).prompt == .providerDefault)
    }
}
