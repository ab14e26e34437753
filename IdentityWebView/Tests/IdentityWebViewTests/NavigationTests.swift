// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import IdentityWebView

@Suite struct NavigationTests {
    private func decision(_ navigation: Navigation) throws -> Navigation.Decision {
        navigation.decision(redirect: try #require(RedirectAddress("http://localhost:51111/done")))
    }

    @Test(arguments: [
        "https://login.example.com/authorize?client_id=1", "https://login.example.com:8443/", "http://localhost:8080/",
        "http://127.0.0.1/", "http://[::1]:8080/", "about:blank", "about:srcdoc",
    ])
    func loads(_ address: String) throws {
        #expect(try decision(Navigation(address: address)) == .load)
        #expect(try decision(Navigation(address: address, method: "POST", isWanted: false)) == .load)
    }

    @Test(arguments: [
        "http://login.example.com/", "http://localhost.example.com/", "http://127.0.0.2/", "file:///etc/passwd",
        "data:text/html,<h1>Sign in</h1>", "blob:https://example.com/1", "ftp://localhost/", "javascript:alert(1)",
        "about:config", "mailto:person@example.com", "msauth.app://auth?code=1", "webkit://gpu", "resource:///x", "",
        "https://", "https://person@login.example.com/",
    ])
    func refuses(_ address: String) throws {
        #expect(try decision(Navigation(address: address)) == .refuse)
        #expect(try decision(Navigation(address: address, opensWindow: true)) == .refuse)
    }

    @Test func takesTheRedirectWhereverItIsToOpen() throws {
        let address = "http://localhost:51111/done?code=1&state=2"
        let url = try #require(URL(string: address))
        #expect(try decision(Navigation(address: address)) == .redirect(url))
        #expect(try decision(Navigation(address: address, opensWindow: true, isWanted: false)) == .redirect(url))
    }

    @Test func saysThatAFormPostIsUnreadable() throws {
        var navigation = Navigation(address: "http://localhost:51111/done?tenant=1", method: "POST")
        #expect(try decision(navigation) == .unreadableAnswer)
        navigation.address += "&code=1&state=2"
        #expect(try decision(navigation) == .redirect(try #require(URL(string: navigation.address))))
    }

    @Test func opensNoWindows() throws {
        let help = Navigation(address: "https://login.example.com/help", opensWindow: true)
        #expect(try decision(help) == .loadHere)
        var unasked = help
        unasked.isWanted = false
        #expect(try decision(unasked) == .refuse)
        var form = help
        form.method = "POST"
        #expect(try decision(form) == .refuse)
    }

    @Test(arguments: [
        ("https://login.example.com/a?b", "login.example.com"),
        ("https://Login.Example.com:8443/", "login.example.com:8443"),
        ("http://localhost:8080/", "http://localhost:8080"), ("http://[::1]/", "http://[::1]"),
        ("https://xn--exmple-cua.com/", "xn--exmple-cua.com"), ("https://a.example\\@b.example/", "a.example"),
    ])
    func showsWhoAPageComesFrom(_ address: String, _ shown: String) {
        #expect(PageOrigin(address)?.description == shown)
    }
}
