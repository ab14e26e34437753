// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

struct LibraryVersionTests {
    @Test func isTheFirstVersionOfTheChangeLog() throws {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let data = try Data(contentsOf: URL(filePath: "/\(root)/CHANGELOG.md"))
        let text = try #require(String(bytes: data, encoding: .utf8))
        let heading = try #require(text.split(separator: "\n").first { $0.starts(with: "## ") })
        #expect(heading.split(separator: " ").dropFirst().first == Substring(LibraryVersion.current))
    }
}
