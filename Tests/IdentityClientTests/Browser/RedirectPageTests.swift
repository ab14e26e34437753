// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP
import Testing

@testable import IdentityClient

@Suite struct RedirectPageTests {
    @Test func escapesWhateverTheMessageIs() {
        let message = "<script>alert(1)</script><\u{301}img src=\"x\" onerror='y'>&amp;\u{0}"
        let html = RedirectPage(outcome: .failed, message: message).html(applicationName: "<b>App</b>")
        #expect(
            html.contains(
                "&lt;script&gt;alert(1)&lt;/script&gt;&lt;\u{301}img src=&quot;x&quot; onerror=&#39;y&#39;&gt;&amp;amp;"
            )
        )
        #expect(html.contains("return to &lt;b&gt;App&lt;/b&gt;."))
        #expect(!html.unicodeScalars.contains("\u{0}"))
        #expect(html.components(of: "<script") == 0 && html.components(of: "<b>") == 0)
    }

    @Test func cutsALongMessage() {
        let html = RedirectPage(outcome: .failed, message: String(repeating: "x\u{301}", count: 5000)).html(
            applicationName: nil
        )
        #expect(html.unicodeScalars.count { $0 == "\u{301}" } == 500)
    }

    @Test(arguments: [RedirectPage.Outcome.succeeded, .failed, .refused])
    func isAPlainPageInItsLanguage(_ outcome: RedirectPage.Outcome) {
        let html = RedirectPage(outcome: outcome).html(applicationName: nil)
        #expect(html.hasPrefix("<!DOCTYPE html>\n<html lang=\"en\">"))
        #expect(html.contains("do not share this page or its address"))
        #expect(html.contains("close this tab and return to the application") == (outcome != .refused))
        #expect(!html.contains("http"))
    }

    @Test func forbidsEverythingItDoesNotNeed() {
        let response = RedirectPage(outcome: .succeeded).response(status: 200, applicationName: nil)
        #expect(response.headers["content-type"] == "text/html; charset=utf-8")
        #expect(response.headers["cache-control"] == "no-store")
        #expect(response.headers["referrer-policy"] == "no-referrer")
        #expect(response.headers["x-content-type-options"] == "nosniff")
        #expect(response.headers["x-frame-options"] == "DENY")
        #expect(
            response.headers["content-security-policy"]
                == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        #expect(response.closesConnection)
    }
}

extension String {
    /// By scalars, as a browser reads.
    fileprivate func components(of text: String) -> Int {
        Array(unicodeScalars).indices.count { Array(unicodeScalars)[$0...].starts(with: text.unicodeScalars) }
    }
}
