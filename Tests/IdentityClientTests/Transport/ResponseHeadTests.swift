// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityTestSupport
import Testing

@testable import IdentityClient

@Suite struct ResponseHeadTests {
    @Test func readsStatusAndFields() throws {
        let text = "HTTP/1.1 429 Too Many\r\nRetry-After:  5 \r\nX-A: 1\r\nx-a: 2\r\nEmpty:\r\n\r\n"
        let response = try #require(ResponseHead.parse(Array(text.utf8)))
        #expect(response.status.code == 429)
        #expect(response.headerFields[.retryAfter] == "5")
        let name = try #require(HTTPField.Name("X-A"))
        #expect(response.headerFields[values: name] == ["1", "2"])
        #expect(response.headerFields.count == 4)
    }

    @Test func aFoldedLineContinuesTheFieldBeforeIt() throws {
        let response = try #require(ResponseHead.parse(Array("HTTP/1.1 200\r\nLocation: a\r\n\tb\r\n\r\n".utf8)))
        #expect(response.headerFields[.location] == "a b")
    }

    @Test func linesThatAreNoFieldAreLeftOut() throws {
        let text = "HTTP/1.1 200 OK\r\nno colon\r\nbad name: 1\r\n: 2\r\nGood: 3\r\n\r\n"
        let response = try #require(ResponseHead.parse(Array(text.utf8)))
        #expect(response.headerFields.map(\.value) == ["3"])
    }

    @Test(arguments: [
        "", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20\r\n", "HTTP/1.1 2000\r\n", "HTTP/1.1 +20\r\n", "HTTP/1.1 099\r\n",
    ])
    func aStatusLineWithoutAStatusIsNone(text: String) {
        #expect(ResponseHead.parse(Array(text.utf8)) == nil)
    }
}
