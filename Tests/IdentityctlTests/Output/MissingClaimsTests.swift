// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import identityctl

@Suite struct MissingClaimsTests {
    @Test(
        arguments: [
            (["email"], ["openid", "profile"], #"{"sub":"1"}"#, ["email"]),
            (["email"], ["openid", "email"], #"{"sub":"1"}"#, []),
            // A server may grant it under another name.
            (["email"], ["openid", "https://a.test/email"], #"{"email":"a@a.test"}"#, []),
            (["email"], ["files.read"], nil, []),
            (["email", "profile"], ["openid"], nil, ["email", "profile"]),
            (["profile"], ["openid"], #"{"name":"A"}"#, []),
            (["files.read", "offline_access"], ["openid"], nil, []),
        ] as [([Scope], [Scope], String?, [Scope])]
    )
    func tellsWhatASignInDidNotBring(wanted: [Scope], granted: [Scope], idToken: String?, missing: [Scope]) {
        #expect(MissingClaims.scopes(of: Set(wanted), granted: Set(granted), idToken: idToken) == missing)
    }
}
