// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

@Suite struct RedirectAddressTests {
    @Test(arguments: [
        ("msauth.app://auth?code=a&state=b", "msauth.app://auth", true),
        ("MSAUTH.app://auth?code=a", "msauth.app://auth", true),
        ("msauth.app://auth/?code=a", "msauth.app://auth", false),
        ("msauth.app://Auth?code=a", "msauth.app://auth", false),
        ("msauth.app2://auth?code=a", "msauth.app://auth", false),
        ("msauth.app://auth.evil?code=a", "msauth.app://auth", false),
        ("com.example:/cb?code=a#f", "com.example:/cb", true), ("com.example:/cb/x?code=a", "com.example:/cb", false),
        ("http://LOCALHOST:80?code=a", "http://localhost:80", true),
        ("http://localhost:81/?code=a", "http://localhost:80", false),
    ])
    func matchesSchemeHostAndPathExactly(_ redirect: String, _ registered: String, _ matches: Bool) {
        #expect(RedirectAddress(redirect).matches(registered) == matches)
    }

    @Test(
        arguments: [
            ("a:/cb?state=1&code=2", ["1"]), ("a:/cb?state=1&state=2#?state=3", ["1", "2"]), ("a:/cb#?state=1", []),
            ("a:/cb#x?y&state=1", []), ("a:/cb", []), ("a:/cb?state=%FF", []), ("a:/cb?x=%zz&y=%FF&state=1", ["1"]),
            ("a:/cb?x=%3Fstate=1?state=2", []),
        ] as [(String, [String])]
    )
    func stateStandsInTheQueryAlone(_ redirect: String, _ states: [String]) {
        #expect(RedirectAddress(redirect).states == states)
    }
}
