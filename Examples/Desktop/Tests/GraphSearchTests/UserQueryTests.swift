// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import GraphSearch

@Suite struct UserQueryTests {
    private static let graph = URL(string: "https://graph.microsoft.com/v1.0")

    @Test(arguments: [
        ("Al", "startswith(givenName, 'Al')"),
        ("  Al ", "startswith(givenName, 'Al')"),
        ("O'", "startswith(givenName, 'O''')"),
        ("') or 1 eq 1 or startswith(mail, '", "startswith(givenName, ''') or 1 eq 1 or startswith(mail, ''')"),
        ("さ", "startswith(givenName, 'さ')"),
        ("'\u{301}) or 1 eq 1", "startswith(givenName, '''\u{301}) or 1 eq 1')"),
    ])
    func doublesApostrophes(_ text: String, _ expected: String) throws {
        let filter = try #require(UserQuery(text).filter)
        #expect(Array(filter.utf8) == Array(expected.utf8))
    }

    @Test func asksForEverybodyWithoutAFilter() throws {
        let graph = try #require(Self.graph)
        let url = try #require(UserQuery("  ").url(below: graph))
        #expect(url.absoluteString == "https://graph.microsoft.com/v1.0/users?$top=50")
    }

    @Test(arguments: [
        ("O'B", "startswith%28givenName%2C%20%27O%27%27B%27%29"),
        ("a&$top=1#+%", "startswith%28givenName%2C%20%27a%26%24top%3D1%23%2B%25%27%29"),
        ("é", "startswith%28givenName%2C%20%27%C3%A9%27%29"),
    ])
    func encodesEverythingThatCouldMeanSomething(_ text: String, _ expected: String) throws {
        let graph = try #require(Self.graph)
        let url = try #require(UserQuery(text).url(below: graph))
        #expect(url.absoluteString.hasSuffix("&$filter=" + expected))
    }
}
