// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import IdentityWebView

@Suite struct OutOfBandTitleTests {
    private let urn = "urn:ietf:wg:oauth:2.0:oob"

    @Test(arguments: [
        ("Success code=4/abc&state=xyz", "code=4/abc&state=xyz"),
        ("Success state=xyz&code=a%2Bb", "state=xyz&code=a%2Bb"),
        ("Denied error=access_denied&state=xyz", "error=access_denied&state=xyz"),
    ])
    func readsTheAnswer(_ title: String, _ query: String) {
        #expect(OutOfBandTitle.redirect(in: title, to: urn)?.absoluteString == "\(urn)?\(query)")
    }

    @Test(arguments: [
        "", "Success", "Success ", "Sign in", "code=1&state=2", "Success state=2", "Success code=1 2",
        "Success code=1#2",
    ])
    func findsNoneElsewhere(_ title: String) {
        #expect(OutOfBandTitle.redirect(in: title, to: urn) == nil)
    }

    @Test func isAskedForByTheURNOnly() {
        #expect(OutOfBandTitle.isAsked(by: urn))
        #expect(OutOfBandTitle.isAsked(by: urn + ":auto"))
        #expect(!OutOfBandTitle.isAsked(by: "http://localhost/"))
        #expect(!OutOfBandTitle.isAsked(by: urn + "x"))
    }
}
