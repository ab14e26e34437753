// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import identityctl

/// When a token for a model's gateway is asked about, and renewed.
@Suite struct GatewayCallsTests {
    private func calls(_ times: Int..., token: String = "t", renewed: Int? = nil) -> GatewayCalls {
        var calls = GatewayCalls()
        for time in times { calls.note(token, isRenewed: time == renewed, at: time) }
        return calls
    }

    @Test func asksOnlySoonAfterACallWithTheSameToken() {
        #expect(!GatewayCalls().asks(about: "t", at: 1000))
        #expect(calls(1000).asks(about: "t", at: 1000) && calls(1000).asks(about: "t", at: 1059))
        #expect(!calls(1000).asks(about: "t", at: 1060) && !calls(1000).asks(about: "other", at: 1001))
        // Not more than one renewal in a minute.
        #expect(!calls(1000, renewed: 1000).asks(about: "t", at: 1059))
        #expect(calls(1000, 1050, renewed: 1000).asks(about: "t", at: 1060))
    }

    @Test func renewsAfterARefusalOrAThirdCallAtOnce() {
        #expect(calls(1000).renews(after: .refused, at: 1001) && !calls(1000, 1000).renews(after: .taken, at: 1001))
        #expect(!calls(1000).renews(after: .none, at: 1001) && calls(1000, 1001).renews(after: .none, at: 1002))
        #expect(
            !calls(1000, 1001).renews(after: .none, at: 1011) && calls(900, 1000, 1001).renews(after: .none, at: 1002)
        )
    }

    @Test(arguments: ["", "{", "[]", #"{"calls":1}"#, #"{"calls":["x",{}],"token":1,"renewed":"y"}"#])
    func takesAnotherFileForNone(text: String) {
        #expect(GatewayCalls(decoding: Array(text.utf8)) == GatewayCalls())
    }

    @Test func keepsThreeCallsInTheFile() {
        let kept = calls(1000, 1001, 1002, 1003, renewed: 1001)
        #expect(
            GatewayCalls(decoding: kept.encoded) == kept && kept.calls == [1001, 1002, 1003] && kept.renewed == 1001
        )
    }

    @Test(
        arguments: [
            (401, "", .refused), (403, "Bearer error=\"invalid_token\"", .refused), (403, "Bearer", .taken),
            (403, "", .taken), (200, "", .taken), (404, "", .taken), (500, "", .taken),
        ] as [(Int, String, GatewayCalls.Answer)]
    )
    func readsTheGatewaysAnswer(status: Int, challenge: String, expected: GatewayCalls.Answer) {
        var response = HTTPResponse(status: .init(code: status))
        if !challenge.isEmpty { response.headerFields[.wwwAuthenticate] = challenge }
        #expect(GatewayCalls.meaning(of: response) == expected)
    }
}
