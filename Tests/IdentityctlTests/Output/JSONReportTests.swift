// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import OAuthWire
import Testing

@testable import identityctl

@Suite struct JSONReportTests {
    static let account = Account(
        id: Account.ID(rawValue: "uid.utid"),
        environment: "login.example.test",
        username: "alice@example.test",
        tenantProfiles: [
            TenantProfile(tenantID: "guest", localAccountID: "1", isHomeTenant: false),
            TenantProfile(tenantID: "home", localAccountID: "2"),
        ]
    )
    static let time = Date(timeIntervalSince1970: 1_764_000_000)
    static let correlationID = UUID(uuidString: "C970D58C-7429-4D47-AE01-2903778D98CA")

    @Test func writesAResultAsDocumented() {
        let result = AuthenticationResult(
            accessToken: #"to"ken"#,
            expiresOn: Date(timeIntervalSince1970: 1_764_000_000),
            scopes: ["b", "a"],
            account: Self.account,
            tenantProfile: Self.account.tenantProfiles[0],
            idToken: "secret",
            source: .identityProvider,
            correlationID: Self.correlationID
        )
        #expect(
            JSONReport.result(result, persisted: true).line == #"""
                {"accessToken":"to\"ken","tokenType":"Bearer","expiresOn":"2025-11-24T16:00:00Z","scopes":["a","b"],\#
                "account":{"id":"uid.utid","username":"alice@example.test","environment":"login.example.test",\#
                "tenantID":"guest"},"source":"identityProvider","persisted":true,\#
                "correlationID":"c970d58c-7429-4d47-ae01-2903778d98ca"}
                """#
        )
    }

    @Test func saysNullForWhatIsNotKnown() {
        let result = AuthenticationResult(
            accessToken: "t",
            expiresOn: Date(timeIntervalSince1970: 0),
            scopes: [],
            account: Account(id: Account.ID(rawValue: "i"), environment: "e"),
            source: .cache
        )
        #expect(
            JSONReport.result(result, persisted: false).line == """
                {"accessToken":"t","tokenType":"Bearer","expiresOn":"1970-01-01T00:00:00Z","scopes":[],\
                "account":{"id":"i","username":null,"environment":"e","tenantID":null},"source":"cache",\
                "persisted":false,"correlationID":null}
                """
        )
    }

    /// A part of another provider's address is no tenant.
    @Test(
        arguments: [
            ("uid.utid", nil, #""tenantID":"o""#), ("https://a.test/o|1", nil, #""tenantID":null"#),
            ("https://a.test/o|1", #"{"tid":"o"}"#, #""tenantID":"o""#),
        ] as [(String, String?, String)]
    )
    func tellsTheTenantOfAProviderWithTenants(id: String, claims: String?, member: String) {
        let profile = TenantProfile(tenantID: "o", localAccountID: "1", idTokenClaims: claims)
        let account = Account(id: Account.ID(rawValue: id), environment: "a.test", tenantProfiles: [profile])
        #expect(JSONReport.accounts([account]).line.contains(member))
    }

    @Test func writesAccountsAsAnArray() {
        #expect(JSONReport.accounts([]).line == "[]")
        let one = #"""
            {"id":"uid.utid","username":"alice@example.test","environment":"login.example.test","tenantID":"home",\#
            "isDefault":true}
            """#
        #expect(JSONReport.accounts([Self.account, Self.account], default: Self.account).line == "[\(one),\(one)]")
    }

    @Test func writesAnErrorAsDocumented() {
        let error = AuthenticationError(
            .throttled,
            "Wait.\nThen try again.",
            serverError: ServerError(
                error: "slow_down",
                errorDescription: "Too fast",
                suberror: "s",
                errorCodes: [90_055],
                httpStatus: 429
            ),
            claims: "{}",
            retryAfter: .milliseconds(1500),
            correlationID: Self.correlationID,
            timestamp: Self.time
        )
        #expect(
            JSONReport.error(error).line == #"""
                {"error":{"code":"server_unavailable.throttled","message":"Wait.\nThen try again.",\#
                "serverError":{"error":"slow_down","errorDescription":"Too fast","suberror":"s","errorCodes":[90055],\#
                "httpStatus":429},"retryAfter":2,"correlationID":"c970d58c-7429-4d47-ae01-2903778d98ca",\#
                "timestamp":"2025-11-24T16:00:00Z"}}
                """#
        )
    }

    /// VTE and kitty read U+009B as the start of a command, and text direction can be reversed. A reader of the JSON gets the
    /// same text.
    @Test func writesNothingThatATerminalObeys() throws {
        let name = "a\u{1B}\u{7F}\u{9B}2J\u{202E}\u{2066}\u{2028}\u{E0001}é \u{1F600}\"\\"
        let account = Account(id: Account.ID(rawValue: "i"), environment: "e", username: name)
        let line = JSONReport.accounts([account]).line
        #expect(line.contains(#""a\u001B\u007F\u009B2J\u202E\u2066\u2028\uDB40\uDC01é 😀\"\\""#))
        #expect(line == line.printable)
        let read = try JSONObject(parsing: Array(line.dropFirst().dropLast().utf8))
        #expect(read.string("username") == name)
    }

    @Test func writesWhatAnAPISaid() {
        let fields: HTTPFields = [
            .wwwAuthenticate: #"Bearer error="insufficient_scope", error_description="No.", scope="api.write""#,
            .retryAfter: "9",
        ]
        let refusal = APIRefusal(HTTPResponse(status: .forbidden, headerFields: fields), now: 0)
        #expect(
            JSONReport.error(refusal).line == #"""
                {"error":{"code":"unexpected_response","message":"The resource answered with status 403.",\#
                "correlationID":null,"timestamp":null,"httpStatus":403,"retryAfter":9,"challenge":{\#
                "error":"insufficient_scope","errorDescription":"No.","scope":"api.write"}}}
                """#
        )
    }

    @Test func writesErrorsThatAreNotTheLibrarys() {
        #expect(
            JSONReport.error(UsageError("No.")).line
                == #"{"error":{"code":"configuration.invalid_argument","message":"No.","correlationID":null,"timestamp":null}}"#
        )
        #expect(
            JSONReport.error(CancellationError()).line
                == #"{"error":{"code":"user_cancelled","message":"Cancelled.","correlationID":null,"timestamp":null}}"#
        )
    }
}
