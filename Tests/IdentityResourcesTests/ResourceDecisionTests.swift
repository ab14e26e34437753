// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityTestSupport
import OAuthWire
import Testing

@testable import IdentityResources

/// The decision about each answer, without a server.
@Suite struct ResourceDecisionTests {
    private static let challenge = "Bearer error=\"insufficient_claims\", claims=\"eyJhIjoxfQ\""

    struct Row: Sendable {
        let status: Int
        var field: (HTTPField.Name, String)?
        var history = ResourceDecision.History(sentToken: true)
        let decision: ResourceDecision
    }

    private static func history(_ change: (inout ResourceDecision.History) -> Void) -> ResourceDecision.History {
        var history = ResourceDecision.History(sentToken: true)
        change(&history)
        return history
    }

    private static let long = String(repeating: "x", count: 1001)

    private static func stepUp(
        _ status: Int,
        _ error: String,
        _ parameters: [String: String],
        _ demands: ResourceChallenge
    ) -> Row {
        let parameters = parameters.merging(["error": error]) { $1 }
        let field = "Bearer " + parameters.map { "\($0)=\"\($1)\"" }.joined(separator: ", ")
        let challenge = AuthenticationChallenge(scheme: "bearer", parameters: parameters)
        return Row(status: status, field: (.wwwAuthenticate, field), decision: .stepUp(challenge, demands))
    }

    static let rows: [Row] = [
        Row(status: 200, decision: .deliver),
        Row(status: 403, field: (.wwwAuthenticate, challenge), decision: .deliver),
        Row(status: 401, decision: .renew(claims: nil)),
        Row(status: 401, field: (.wwwAuthenticate, "Bearer"), decision: .renew(claims: nil)),
        Row(status: 401, field: (.wwwAuthenticate, "Basic"), decision: .renew(claims: nil)),
        Row(status: 401, field: (.wwwAuthenticate, "OAuth realm=\"api\""), decision: .renew(claims: nil)),
        Row(status: 401, field: (.wwwAuthenticate, "Token"), decision: .renew(claims: nil)),
        Row(status: 401, field: (.wwwAuthenticate, "Token, Bearer error=insufficient_scope"), decision: .deliver),
        Row(
            status: 401,
            field: (.wwwAuthenticate, "Token"),
            history: history { $0.hasRenewed = true },
            decision: .deliver
        ),
        Row(status: 401, field: (.wwwAuthenticate, "PoP"), decision: .deliver),
        Row(status: 403, field: (.wwwAuthenticate, "Token"), decision: .deliver),
        Row(status: 401, field: (.wwwAuthenticate, "Bearer error=insufficient_scope"), decision: .deliver),
        stepUp(403, "insufficient_scope", ["scope": "a b"], ResourceChallenge(scopes: ["a", "b"])),
        stepUp(401, "insufficient_scope", ["scope": "a"], ResourceChallenge(scopes: ["a"])),
        stepUp(
            401,
            "insufficient_user_authentication",
            ["acr_values": "x y", "max_age": "5"],
            ResourceChallenge(acrValues: ["x", "y"], maxAge: .seconds(5))
        ),
        stepUp(401, "insufficient_user_authentication", [:], ResourceChallenge()),
        // A sign-in for scopes that the token has, or for none that are named, would change nothing.
        Row(
            status: 403,
            field: (.wwwAuthenticate, "Bearer error=insufficient_scope, scope=\"a\""),
            history: history { $0.granted = ["a", "b"] },
            decision: .deliver
        ),
        Row(status: 403, field: (.wwwAuthenticate, "Bearer error=insufficient_scope"), decision: .deliver),
        Row(
            status: 403,
            field: (.wwwAuthenticate, "Bearer error=insufficient_scope, scope=\"a\""),
            history: history { $0.sentToken = false },
            decision: .deliver
        ),
        Row(status: 403, decision: .deliver),
        Row(
            status: 401,
            field: (.wwwAuthenticate, "Bearer error=insufficient_user_authentication, acr_values=\"\(long)\""),
            decision: .deliver
        ),
        Row(status: 401, history: history { $0.hasRenewed = true }, decision: .deliver),
        Row(status: 401, history: history { $0.isTokenNew = true }, decision: .deliver),
        Row(status: 401, history: history { $0.sentToken = false }, decision: .deliver),
        Row(status: 401, field: (.wwwAuthenticate, challenge), decision: .renew(claims: #"{"a":1}"#)),
        Row(
            status: 401,
            field: (.wwwAuthenticate, challenge),
            history: history { $0.isTokenNew = true },
            decision: .renew(claims: #"{"a":1}"#)
        ),
        Row(
            status: 401,
            field: (.wwwAuthenticate, challenge),
            history: history { $0.hasRenewed = true },
            decision: .askPerson(claims: #"{"a":1}"#)
        ),
        Row(
            status: 401,
            field: (.wwwAuthenticate, challenge),
            history: history { $0.sentToken = false },
            decision: .deliver
        ),
        Row(status: 429, decision: .deliver),
        Row(status: 429, field: (.retryAfter, "7"), decision: .wait(.seconds(7))),
        Row(status: 429, field: (.retryAfter, "7"), history: history { $0.isIdempotent = false }, decision: .deliver),
        Row(status: 503, field: (.retryAfter, "0"), decision: .wait(.zero)),
        Row(status: 503, field: (.retryAfter, "0"), history: history { $0.isIdempotent = false }, decision: .deliver),
        Row(status: 503, field: (.retryAfter, "Thu, 01 Jan 1970 00:01:50 GMT"), decision: .wait(.seconds(10))),
        Row(status: 503, field: (.retryAfter, "soon"), decision: .deliver),
        Row(status: 503, field: (.retryAfter, "61"), decision: .deliver),
        Row(status: 502, field: (.retryAfter, "1"), decision: .deliver),
        Row(
            status: 429,
            field: (.retryAfter, "31"),
            history: history { $0.waited = .seconds(30) },
            decision: .deliver
        ),
        Row(status: 429, field: (.retryAfter, "0"), history: history { $0.waits = 5 }, decision: .deliver),
    ]

    @Test(arguments: rows.indices)
    func decides(row: Int) {
        let row = Self.rows[row]
        var response = HTTPResponse(status: .init(code: row.status))
        if let field = row.field { response.headerFields[field.0] = field.1 }
        let decision = ResourceDecision(response, after: row.history, waitLimit: .seconds(60), now: 100)
        #expect(decision == row.decision)
    }
}
