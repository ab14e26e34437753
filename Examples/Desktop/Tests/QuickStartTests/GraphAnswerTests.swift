// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import QuickStart

@Suite struct GraphAnswerTests {
    @Test(arguments: [
        (#"{"b":1,"a":"x/y"}"#, "{\n  \"a\" : \"x/y\",\n  \"b\" : 1\n}"), ("not JSON", "not JSON"), ("", ""),
    ])
    func isReadable(_ body: String, _ expected: String) {
        #expect(answer(Array(body.utf8)).text == expected)
    }

    @Test func saysHowLongAnAnswerIsThatIsNotText() {
        #expect(answer([0x89, 0x50, 0x4e, 0x47, 0, 0xff]).text == "6 bytes that are not text")
    }

    private func answer(_ body: [UInt8]) -> GraphAnswer {
        let account = Account(id: .init(rawValue: "a"), environment: "e")
        return GraphAnswer(account: account, status: 200, body: body, wasInteractive: false, source: .cache)
    }
}
