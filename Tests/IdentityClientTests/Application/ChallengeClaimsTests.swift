// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

/// Claims challenges, for programs that call their API themselves.
@Suite struct ChallengeClaimsTests {
    /// Text with different forms in base64 and base64url.
    private static let claims = #"{"access_token":{"nbf":{"essential":true,"value":"¿?>~"}}}"#

    private static var base64: String { Data(claims.utf8).base64EncodedString() }

    private static var base64URL: String {
        base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    @Test(arguments: [base64, base64URL])
    func areTakenOutOfTheBearerChallenge(_ encoded: String) {
        let challenges = [
            #"Basic realm="api""#,
            #"Bearer realm="", error="insufficient_claims", claims="\#(encoded)", Negotiate"#,
        ]
        #expect(SilentParameters.claims(inChallenges: challenges) == Self.claims)
    }

    @Test func areNoneOfAnotherScheme() {
        #expect(Self.base64 != Self.base64URL)
        for challenge in [
            #"Digest error="insufficient_claims", claims="\#(Self.base64)""#,
            #"Bearer error="invalid_token", claims="\#(Self.base64)""#,
            #"Bearer error="insufficient_claims", claims="bm8gSlNPTg""#,
        ] {
            #expect(SilentParameters.claims(inChallenges: [challenge]) == nil, "\(challenge)")
        }
        #expect(SilentParameters.claims(inChallenges: []) == nil)
    }
}
