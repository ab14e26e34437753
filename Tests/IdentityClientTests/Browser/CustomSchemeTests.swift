// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@Suite struct CustomSchemeTests {
    @Test(arguments: [
        "com.example.app", "msauth.com.example.App-2", "x+y.z", "msal11111111-2222-3333-4444-555555555555",
    ])
    func acceptsAProgramsOwn(_ text: String) throws {
        #expect(try CustomScheme(text).name == text.lowercased())
    }

    @Test(arguments: [
        "", "a", "http", "HTTPS", "mailto", "file", "javascript", "data", "1app", "com.exämple", "a b", "a/b", "a;b",
        "a\nb", "-app", "vscode", "msal", "msal1", "x+y", String(repeating: "a", count: 65),
    ])
    func refusesOthers(_ text: String) {
        #expect(throws: AuthenticationError.self) { try CustomScheme(text) }
    }
}
