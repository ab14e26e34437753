// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import QuickStart

@Suite struct GraphAnswerTests {
    @Test(arguments: [
        (#"{"b":1,"a":"x/y"}"#, "{\n  \"a\" : \"x/y\",\n  \"b\" : 1\n}"), ("not JSON", "not JSON"), ("", ""),
    ])
    func isReadable(_ body: String, _ expected: String) {
        let account = Account(id: .init(rawValue: "a"), environment: "e")
        let answer = GraphAnswer(
            account: account,
            status: 200,
            body: Array(body.utf8),
            wasInteractive: false,
            source: .cache
        )
        #expect(answer.text == expected)
    }
}
