// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityWebView

@Suite struct RedirectAddressTests {
    @Test(arguments: [
        ("http://localhost:51111", "http://localhost:51111/?code=1&state=2"),
        ("http://localhost:51111/", "http://localhost:51111?code=1"),
        ("http://127.0.0.1:51111/done", "http://127.0.0.1:51111/done?error=access_denied"),
        ("http://localhost:80/done", "http://localhost/done?code=1"),
        ("http://[::1]:51111", "http://[::1]:51111/?code=1"),
        ("https://app.example.com/done", "https://APP.example.com:443/done?code=1"),
        // WebKit writes schemes in lower case.
        ("msauth.com.example.App://auth", "msauth.com.example.app://auth?code=1&state=2"),
        ("com.example.app:/signed-in", "com.example.app:/signed-in?code=1"),
        ("urn:ietf:wg:oauth:2.0:oob", "urn:ietf:wg:oauth:2.0:oob?code=1&state=2"),
        ("app://auth?tenant=1", "app://auth?tenant=1&code=1"),
        ("app://auth", "app://auth?code=1#_=_"),
    ])
    func takes(_ redirectURI: String, _ address: String) throws {
        #expect(try #require(RedirectAddress(redirectURI)).matches(address))
    }

    @Test(arguments: [
        ("http://localhost:51111", "http://localhost:51112/?code=1"),
        ("http://localhost:51111", "http://localhost/?code=1"),
        ("http://localhost:51111", "https://localhost:51111/?code=1"),
        ("http://localhost:51111", "http://127.0.0.1:51111/?code=1"),
        ("http://localhost:51111", "http://localhost:51111.example.com/?code=1"),
        ("http://localhost:51111", "http://localhost:51111@example.com/?code=1"),
        ("http://localhost:51111", "http://person@localhost:51111/?code=1"),
        ("http://localhost:51111", "http://localhost:51111/other?code=1"),
        ("http://localhost:51111/done", "http://localhost:51111/done/?code=1"),
        ("http://localhost:51111/done", "http://localhost:51111/done2?code=1"),
        ("http://localhost:51111/done", "http://localhost:51111/Done?code=1"),
        ("http://localhost:51111", "https://example.com/?next=http://localhost:51111/?code=1"),
        ("app://auth", "app://auth/?code=1"),
        ("app://auth", "app://AUTH?code=1"),
        ("app://auth", "app:auth?code=1"),
        ("app://auth", "app2://auth?code=1"),
        ("app://auth?tenant=1", "app://auth?code=1"),
        ("app://auth?tenant=1", "app://auth?tenant=12&code=1"),
        ("urn:ietf:wg:oauth:2.0:oob", "urn:ietf:wg:oauth:2.0:oob:auto?code=1"),
        ("urn:ietf:wg:oauth:2.0:oob", "about:blank"),
    ])
    func leaves(_ redirectURI: String, _ address: String) throws {
        #expect(try #require(RedirectAddress(redirectURI)).matches(address) == false)
    }

    @Test(arguments: ["", "/done", ":", "no-scheme"])
    func isNoneWithoutAScheme(_ redirectURI: String) {
        #expect(RedirectAddress(redirectURI) == nil)
    }
}
