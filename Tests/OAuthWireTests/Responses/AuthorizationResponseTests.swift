// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct AuthorizationResponseTests {
    private func parse(_ query: String) throws -> AuthorizationResponse {
        try AuthorizationResponse.parse(query: FormURLEncoded.decode(query))
    }

    /// RFC 6749 §4.1.2, RFC 9207 §2.
    @Test func readsACode() throws {
        let response = try parse(
            "code=x1848ZT64p4IirMPT0R-X3141MFPTuBX-VFL_cvaplMH58&state=xyz&iss=https%3A%2F%2Fhonest.as.example"
        )
        guard case .code(let code) = response.outcome else {
            Issue.record("no code")
            return
        }
        #expect(code == "x1848ZT64p4IirMPT0R-X3141MFPTuBX-VFL_cvaplMH58")
        #expect(response.state == "xyz")
        #expect(response.issuer == "https://honest.as.example")
        #expect(response.clientInfo == nil)
    }

    /// RFC 6749 §4.1.2.1.
    @Test func readsARefusal() throws {
        let response = try parse(
            "error=access_denied&error_subcode=cancel&error_description=no%0Athanks&state=s&error_codes=1,2&trace_id=t"
        )
        guard case .error(let error) = response.outcome else {
            Issue.record("no error")
            return
        }
        #expect(error.error == "access_denied")
        #expect(error.suberror == "cancel")
        #expect(error.errorDescription == "no thanks")
        #expect(error.errorCodes == [1, 2])
        #expect(error.traceID == "t")
        #expect(response.state == "s")
    }

    @Test func readsWhatMicrosoftAdds() throws {
        let response = try parse(
            "code=c&client_info=ci&cloud_instance_host_name=a&cloud_instance_host_name=b&session_state=x"
        )
        #expect(response.clientInfo == "ci")
        #expect(response.state == nil && response.cloudHost == nil)
        #expect(try parse("code=c&cloud_instance_host_name=a").cloudHost == "a")
    }

    @Test(arguments: [
        ("code=a&code=b&state=s", "code"), ("code=a&state=s&state=s", "state"), ("code=a&iss=x&iss=", "iss"),
        ("error=a&error=b", "error"), ("code=a&client_info=x&client_info=x", "client_info"),
    ])
    func refusesDuplicates(query: String, name: String) {
        #expect(throws: WireError.duplicate(name)) { try parse(query) }
    }

    @Test(arguments: ["", "state=s", "code=&state=s", "code=a&error=b", "code=a%0Ab", "code=%C3%A9", "code=a%00"])
    func refusesAnswersThatSayNothingOrTooMuch(query: String) {
        let error = #expect(throws: WireError.self) { try parse(query) }
        guard case .malformed? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
