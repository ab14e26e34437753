// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import QuickStart

@Suite struct ChoicesTests {
    @Test(arguments: [
        ["--authority", "https://login.microsoftonline.com/common"], ["--graph-url", "graph"],
    ])
    func refuses(_ arguments: [String]) throws {
        let command = try QuickStart.parse(arguments)
        #expect(throws: (any Error).self) { try Choices(command) }
    }
}
