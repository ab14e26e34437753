// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import identityctl

/// The messages of cargo, of Bazel and of Go.
@Suite struct BuildCredentialTests {
    private func cargo(_ text: String) throws -> CargoCredential { try CargoCredential(parsing: Array(text.utf8)) }

    @Test(arguments: ["sparse+https://c.test/index/", "https://c.test/index", "registry+https://c.test/index"])
    func readsCargosRegistry(index: String) throws {
        let request = try cargo(
            #"{"v":1,"registry":{"index-url":"\#(index)","name":"n","headers":["WWW-Authenticate: Cargo"]},"#
                + #""kind":"get","operation":"read","later":{},"args":["--profile","p"]}"#
        )
        #expect(request.wantsToken && request.arguments == ["--profile", "p"])
        #expect(ServedAddress("https://c.test/index")?.serves(request.address) == true)
    }

    @Test(arguments: ["login", "logout", "later", ""]) func givesCargoOnlyTokens(kind: String) throws {
        let request = try cargo(#"{"v":1,"registry":{"index-url":"https://c.test"},"kind":"\#(kind)"}"#)
        #expect(!request.wantsToken && request.arguments.isEmpty)
    }

    @Test(arguments: ["sparse+http://c.test/", "sparse+https://c.test.evil.test/", "sparse+https://c.test@evil.test/"])
    func servesCargoNoOtherRegistry(index: String) throws {
        let request = try cargo(#"{"v":1,"registry":{"index-url":"\#(index)"},"kind":"get"}"#)
        #expect(ServedAddress("https://c.test")?.serves(request.address) == false)
    }

    @Test(arguments: [
        "", "{", "[]", #"{"v":2,"registry":{"index-url":"https://c.test"},"kind":"get"}"#,
        #"{"v":1,"kind":"get"}"#, #"{"v":1,"registry":{"index-url":1},"kind":"get"}"#,
        #"{"v":1,"registry":{"index-url":"https://c.test"},"kind":"get","args":[1]}"#,
        #"{"v":1,"registry":{"index-url":"https://c.test"},"kind":"get","args":"x"}"#,
        #"{"v":1,"registry":{"index-url":"https://c.test"}}"#,
    ])
    func refusesLinesThatCargoDoesNotWrite(line: String) {
        #expect(throws: UsageError.self) { try cargo(line) }
    }

    @Test(arguments: [
        ("HTTP/1.1 401 Unauthorized\r\n", true), ("HTTP/2.0 401 Unauthorized\r\nA: b\r\n\r\n", true),
        ("HTTP/1.1 403 Forbidden\r\nWww-Authenticate: Bearer error=\"invalid_token\"\r\n\r\n", true),
        ("HTTP/1.1 403 Forbidden\r\nX: invalid_token\r\n\r\n", false), ("HTTP/1.1 403 Forbidden\r\n", false),
        ("HTTP/1.1 404 Not Found\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\n", false), ("401\n", false),
        ("", false), ("\n401 401 401", false),
    ])
    func knowsWhenATokenIsRefusedForGo(head: String, isRefusal: Bool) {
        #expect(GoCredential.isRefusal(Array(head.utf8)) == isRefusal)
    }

    @Test func answersCargoOnOneLine() {
        #expect(
            CargoCredential.answer(header: "Bearer t", expiresOn: 9)
                == #"{"Ok":{"kind":"get","token":"Bearer t","cache":"expires","expiration":9,"#
                + #""operation_independent":true}}"# + "\n"
        )
        #expect(CargoCredential.notServed == #"{"Err":{"kind":"url-not-supported"}}"# + "\n")
        #expect(
            CargoCredential.answer(failure: "a\nb") == #"{"Err":{"kind":"other","message":"a\nb","caused-by":[]}}"#
                + "\n"
        )
    }

    @Test(arguments: [
        ("https://b.test/a?x=y#z", true), ("grpcs://b.test/Service/Method", true), ("https://b.test?@evil.test", true),
        ("http://b.test/", false), ("grpc://b.test/", false), ("https://b.test.evil.test/", false),
        ("https://b.test@evil.test/", false), ("b.test", false), ("", false),
    ])
    func readsTheAddressOfABuildProgram(uri: String, isServed: Bool) throws {
        let address = try BazelCredential.address(parsing: Array(#"{"uri":"\#(uri)","later":1}"#.utf8))
        #expect(ServedAddress("https://b.test")?.serves(address) == isServed)
    }

    @Test(arguments: ["", "{}", "[]", #"{"uri":1}"#, #"{"url":"https://b.test"}"#, "\u{0}"])
    func refusesOtherRequestsOfABuildProgram(text: String) {
        #expect(throws: UsageError.self) { try BazelCredential.address(parsing: Array(text.utf8)) }
    }

    @Test func answersABuildProgramWithAHeader() {
        #expect(
            BazelCredential.answer(token: "t", expiresOn: Date(timeIntervalSince1970: 0))
                == #"{"headers":{"Authorization":["Bearer t"]},"expires":"1970-01-01T00:00:00Z"}"# + "\n"
        )
    }
}
