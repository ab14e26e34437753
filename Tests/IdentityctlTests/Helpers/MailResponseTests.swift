// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import identityctl

@Suite struct MailResponseTests {
    private func decoded(_ line: String) throws -> String {
        String(decoding: try #require(Data(base64Encoded: line.trimmingCharacters(in: .newlines))), as: UTF8.self)
    }

    @Test func isTheExampleOfTheStandard() throws {
        // RFC 7628 §4.1
        let line = try MailResponse.oauthbearer(
            user: "user@example.com",
            host: "server.example.com",
            port: "143",
            token: "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg=="
        )
        #expect(
            line == "bixhPXVzZXJAZXhhbXBsZS5jb20sAWhvc3Q9c2VydmVyLmV4YW1wbGUuY29tAXBvcnQ9MTQzAWF1dGg9QmVhcmVyI"
                + "HZGOWRmdDRxbVRjMk52YjNSbGNrQmhiSFJoZG1semRHRXVZMjl0Q2c9PQEB\n"
        )
    }

    @Test(arguments: [
        ("a=b", "a=3Db"), ("a,b", "a=2Cb"), ("=2C,", "=3D2C=2C"), ("jürgen@mail.test", "jürgen@mail.test"),
        ("a\u{301},=", "a\u{301}=2C=3D"), (",\u{301}", "=2C\u{301}"),
    ])
    func escapesTheUser(user: String, escaped: String) throws {
        let text = try decoded(try MailResponse.oauthbearer(user: user, host: "h", port: "1", token: "t"))
        #expect(text == "n,a=\(escaped),\u{1}host=h\u{1}port=1\u{1}auth=Bearer t\u{1}\u{1}")
        let older = try decoded(try MailResponse.xoauth2(user: user, token: "t"))
        #expect(older == "user=\(user)\u{1}auth=Bearer t\u{1}\u{1}")
    }

    @Test(arguments: ["", "a\u{1}b", "a\u{0}", "a\nb", "a\r\nb", "\u{7F}", String(repeating: "a", count: 1025)])
    func refusesValuesThatWouldAddFields(text: String) {
        #expect(throws: UsageError.self) { try MailResponse.xoauth2(user: text, token: "t") }
        #expect(throws: UsageError.self) {
            try MailResponse.oauthbearer(user: text, host: "h", port: "1", token: "t")
        }
        #expect(throws: UsageError.self) {
            try MailResponse.oauthbearer(user: "u", host: text, port: "1", token: "t")
        }
    }

    @Test(arguments: ["", "0", "65536", "-1", "+1", "1\u{1}", "٣", "99999999999999999999"])
    func refusesOtherPorts(port: String) {
        #expect(throws: UsageError.self) {
            try MailResponse.oauthbearer(user: "u", host: "h", port: port, token: "t")
        }
    }
}
