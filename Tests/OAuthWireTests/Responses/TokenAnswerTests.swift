// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

/// The new refresh token is found in an answer that cannot be used, and nothing else is taken for it.
@Suite struct TokenAnswerTests {
    /// Texts in Latin-1, so that a test can write a byte that is not UTF-8.
    private func answer(_ text: String) -> TokenAnswer {
        TokenAnswer(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    }

    @Test(
        arguments: [
            #"{"access_token":"a","refresh_token":"r"}"#,
            "\u{EF}\u{BB}\u{BF}" + #"{"access_token":"a","refresh_token":"r"}"#,
            "{\"access_token\":\"a\",\"refresh_token\":\"r\",\"name\":\"Andr\u{E9}\"}",
            "access_token=a&refresh_token=r&token_type=bearer", "refresh_token=r&access_token=a",
        ]
    )
    func readsAWholeAnswer(text: String) throws {
        let answer = answer(text)
        let members = try #require(answer.members)
        #expect(members.string("access_token") == "a" && members.string("refresh_token") == "r")
        #expect(answer.problem == nil)
        #expect(try answer.rescued() == nil)
    }

    @Test(
        arguments: [
            (#"{"a":1,"a":2,"refresh_token":"r"}"#, "r"),
            (#"{"refresh_token":"r","access_token":"a","#, "r"),
            (#"{"refresh_token":"r\/\u0041","x":"#, "r/A"),
            (#"{"refresh_token" : "r" , "a":'b'}"#, "r"),
            (#"{"a":{"b":[1,{"c":"}]"}]},"refresh_token":"r",}"#, "r"),
            (#"{"a":"\"","refresh_token":"r","a":1}"#, "r"),
            (#"{"refresh_token":"r","refresh_token":"r"}"#, "r"),
            (#"{"refresh_token":null,"refresh_token":"r"}"#, "r"),
            ("\u{EF}\u{BB}\u{BF} \n" + #"{"refresh_token":"r","a":01}"#, "r"),
            (#"{"refresh_token":"r"}{}"#, "r"),
            (#"{"refresh_token":"r"} trailing"#, "r"),
            (#"{"error":"server_error","refresh_token":"r"}"#, "r"),
            // Nothing that counts.
            (#"{"a":{"refresh_token":"r"},"a":1}"#, nil),
            (#"{"a":{"b":1,"refresh_token":"r"},"a":1}"#, nil), (#"{"a":[1,"refresh_token":"r"],"a":1}"#, nil),
            (#"{"a":["refresh_token","r"],"a":1}"#, nil),
            (#"{"a":"\"refresh_token\":\"r\"","a":1}"#, nil),
            (#"{"refresh_token":"r"#, nil), (#"{"refresh_token":"r\"#, nil), (#"{"refresh_token":"#, nil),
            (#"{"refresh_token":"","a":01}"#, nil), (#"{"refresh_token":"\x","a":01}"#, nil),
            (#"{"refresh_token":7,"a":01}"#, nil), (#"{"refresh_token":["r"],"a":01}"#, nil),
            (#"{"refresh_token","r","a":01}"#, nil), (#"{"a":"refresh_token","r":1,}"#, nil),
            (#"[{"refresh_token":"r"}]"#, nil), (#"}{"refresh_token":"r"}"#, nil), (#""refresh_token":"r""#, nil),
            (#"{}]{"refresh_token":"r"}"#, nil),
            (#"<html>{"refresh_token":"r"}"#, nil), ("", nil), ("{", nil),
            ("refresh_token=r\n", nil), ("refresh_token=r&refresh_token=s", nil), ("a=b", nil),
            ("{\"refresh_token\":\"r\u{FF}\",\"a\":01}", nil), ("{\"refresh_token\":\"r\u{FF}\"}", nil),
        ] as [(String, String?)]
    )
    func findsTheRefreshTokenOfAnAnswerThatCannotBeUsed(text: String, token: String?) throws {
        let rescued = try answer(text).rescued()
        #expect(rescued?.refreshToken == token)
        #expect(rescued?.accessToken == nil)
        #expect((rescued?.fault != nil) == (token != nil))
    }

    @Test(arguments: [
        #"{"refresh_token":"r","refresh_token":"s"}"#, #"{"refresh_token":"r","refresh_token":7}"#,
        #"{"refresh_token":"r","refresh_token":"\x"}"#, #"{"refresh_token":"r"}{"refresh_token":"s"}"#,
        #"{"refresh_token":"\x","refresh_token":"r"}"#,
        #"{"refresh_token":"é","refresh_token":"e\#u{301}","refresh_token":1}"#,
    ])
    func believesNoneOfSeveralRefreshTokens(text: String) {
        let answer = TokenAnswer(Array(text.utf8))
        #expect(throws: WireError.duplicate("refresh_token")) { try answer.rescued() }
    }

    @Test func namesThePerson() throws {
        let rescued = try answer(#"{"id_token":"i","client_info":"c","client_info":"d","refresh_token":"r","#).rescued()
        #expect(rescued?.idToken == "i" && rescued?.clientInfo == nil)
    }

    @Test(arguments: [
        (#"{"a":"#, true), (#"{"a":1"#, true), (#"{"a":1}"#, false), ("", false), ("<html>", false),
        (#"{"a":1,}"#, false),
    ])
    func tellsWhatIsCutOff(text: String, expected: Bool) {
        #expect(answer(text).isCutOff == expected)
    }

    /// Time and depth are bounded.
    @Test func survivesHostileAnswers() throws {
        let texts = [
            String(repeating: "{\"refresh_token\":", count: 60_000), String(repeating: "[", count: 1 << 20),
            "{" + String(repeating: "\"refresh_token\":\"r\",", count: 50_000),
            "{" + String(repeating: "\\", count: 1 << 20),
            #"{"refresh_token":""# + String(repeating: "r", count: 65_537) + #"","a":01}"#,
        ]
        for text in texts { #expect(try ["r", nil].contains(answer(text).rescued()?.refreshToken)) }
    }
}
