// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import Testing

@testable import QuickStart

@Suite struct ChoicesTests {
    @Test(arguments: [
        ["--redirect-uri", "http://localhost"], ["--redirect-uri", "https://example.com/back"],
        ["--redirect-uri", "auth"],
        ["--authority", "https://login.microsoftonline.com/common"], ["--graph-url", "graph"],
    ])
    func refuses(_ arguments: [String]) throws {
        let command = try QuickStart.parse(arguments)
        #expect(throws: (any Error).self) { try Choices(command) }
    }

    @Test(arguments: [
        ["--redirect-uri", "com.example.app://auth"], ["--redirect-uri", "msal7d1f0f5c://auth"],
        ["--page", "embedded", "--redirect-uri", "https://example.com/back"],
    ])
    func takesARedirectURIThatCanBeReceived(_ arguments: [String]) throws {
        let address = try #require(arguments.last)
        let url = try #require(URL(string: address))
        #expect(try Choices(try QuickStart.parse(arguments)).redirectURI == (try .custom(url)))
    }

    @Test func isOpenedWithRedirectsAlone() throws {
        #expect(try QuickStart.parse(["com.example.app://auth?code=a&state=b"]).redirect != nil)
        for word in ["quickly", "http://localhost:8400/?code=a", "file:///etc/hosts"] {
            #expect(throws: (any Error).self) { try QuickStart.parse([word]) }
        }
    }
}
