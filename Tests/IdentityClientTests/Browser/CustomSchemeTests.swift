// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import IdentityClient

@Suite struct CustomSchemeTests {
    @Test(arguments: ["com.example.app", "msauth.com.example.App-2", "x+y"])
    func acceptsAProgramsOwn(_ text: String) throws {
        #expect(try CustomScheme(text).name == text.lowercased())
    }

    @Test(arguments: [
        "", "a", "http", "HTTPS", "mailto", "file", "javascript", "data", "1app", "com.exämple", "a b", "a/b", "a;b",
        "a\nb", "-app", String(repeating: "a", count: 65),
    ])
    func refusesOthers(_ text: String) {
        #expect(throws: AuthenticationError.self) { try CustomScheme(text) }
    }

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
}
