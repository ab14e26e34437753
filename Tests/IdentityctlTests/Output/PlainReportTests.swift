// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import Testing

@testable import identityctl

@Suite struct PlainReportTests {
    static let accounts = [
        Account(id: Account.ID(rawValue: "1"), environment: "e.test", username: "alice\u{1B}[2J\n@example.test"),
        Account(id: Account.ID(rawValue: "22"), environment: "e.test"),
    ]

    @Test func separatesAccountsByTabsForScripts() {
        #expect(
            PlainReport.accounts(Self.accounts, inColumns: false)
                == "alice\u{FFFD}[2J\u{FFFD}@example.test\t1\te.test\n-\t22\te.test\n"
        )
    }

    @Test func marksTheDefaultAccount() {
        let text = PlainReport.accounts(Self.accounts, default: Self.accounts[1], inColumns: false)
        #expect(text.hasSuffix("@example.test\t1\te.test\n-\t22\te.test\tdefault\n"))
    }

    @Test func tellsTheEndOfASignIn() {
        let end = Date(timeIntervalSince1970: 1_800_000_000)
        let account = Account(id: Account.ID(rawValue: "1"), environment: "e.test", refreshTokenExpiresOn: end)
        #expect(PlainReport.accounts([account], inColumns: false) == "-\t1\te.test\t\tuntil 2027-01-15T08:00:00Z\n")
        #expect(
            PlainReport.accounts([account], default: account, inColumns: true)
                == "-  1  e.test  default  until 2027-01-15T08:00:00Z\n"
        )
        #expect(PlainReport.accounts([account], inColumns: true) == "-  1  e.test  until 2027-01-15T08:00:00Z\n")
        #expect(JSONReport.accounts([account])[0].string("refreshTokenExpiresOn") == "2027-01-15T08:00:00Z")
    }

    @Test func alignsAccountsForPeople() {
        #expect(
            PlainReport.accounts(Self.accounts, inColumns: true) == """
                alice\u{FFFD}[2J\u{FFFD}@example.test  1   e.test
                -                        22  e.test

                """
        )
    }

    @Test func listsClaimsWithoutWhatATerminalObeys() throws {
        let json = #"{"sub":"a\u001b[2J\nb","roles":["x","\u202e"],"n":1,"ok":true,"none":null}"#
        let claims = try JSONObject(parsing: Array(json.utf8))
        #expect(
            PlainReport.claims(claims, inColumns: false)
                == "sub\ta\u{FFFD}[2J\u{FFFD}b\nroles\t[\"x\",\"\\u202E\"]\nn\t1\nok\ttrue\nnone\tnull\n"
        )
        let short = try JSONObject(parsing: Array(#"{"sub":"a","email_verified":false}"#.utf8))
        #expect(PlainReport.claims(short, inColumns: true) == "sub             a\nemail_verified  false\n")
    }

    @Test func tellsTheServersWordsWithoutWhatATerminalObeys() {
        let error = AuthenticationError(
            .consentRequired,
            "Agree first.",
            serverError: ServerError(error: "consent_required", errorDescription: "No \u{1B}]0;x\u{07} consent"),
            retryAfter: .seconds(3),
            timestamp: JSONReportTests.time
        )
        #expect(
            PlainReport.error(error) == [
                "identityctl: Agree first.",
                "  The server said: consent_required: No \u{FFFD}]0;x\u{FFFD} consent",
                "  (interaction_required.consent, 2025-11-24T16:00:00Z)",
            ]
        )
    }

    @Test func advisesToSignInWhereAPersonIsNeeded() throws {
        let plain = SharedOptions()
        #expect(PlainReport.advice(AuthenticationError(.network, ""), plain) == nil)
        let expired = AuthenticationError(.signInExpired, "")
        #expect(PlainReport.advice(expired, plain) == "To sign in, run: identityctl login")
        let given = try SharedOptionsTests.options("token", "--group", "g", "--claims", "{}")
        #expect(PlainReport.advice(expired, given) == "To sign in, run: identityctl login --group g --claims '{}'")
        #expect(
            PlainReport.advice(AuthenticationError(.claimsChallenge, "", claims: #"{"a":"it's"}"#), given)
                == #"To sign in, run: identityctl login --group g --claims '{"a":"it'\''s"}'"#
        )
    }

    @Test(arguments: [
        (ResourceChallenge(scopes: ["a", "b", "openid"]), "--group g --scope 'a b'"),
        (
            ResourceChallenge(acrValues: ["gold", "silver"], maxAge: .seconds(5)),
            "--group g --scope a --acr-values 'gold silver' --max-age 5"
        ),
        // No longer time than --max-age takes.
        (ResourceChallenge(maxAge: .seconds(1 << 30)), "--group g --scope a --max-age 86400"),
        (ResourceChallenge(), "--group g --scope a --prompt login"),
    ])
    func advisesTheSignInThatAnAPIDemands(_ challenge: ResourceChallenge, _ options: String) throws {
        let given = try SharedOptionsTests.options("call", "--group", "g", "--scope", "a", "https://a.test")
        let error = AuthenticationError(.insufficientScope, "", challenge: challenge)
        #expect(PlainReport.advice(error, given) == "To sign in, run: identityctl login \(options)")
    }

    @Test func saysHowToLeaveOutWhatIsAddedByDefault() throws {
        let given = try SharedOptionsTests.options("login", "--group", "g", "--default-scopes", "openid profile")
        let refused = AuthenticationError(.invalidScope, "", serverError: ServerError(error: "invalid_scope"))
        let command = "identityctl login --group g --default-scopes openid"
        #expect(PlainReport.advice(refused, given)?.hasSuffix(": \(command)") == true)
        let unknown = AuthenticationError(.invalidTarget, "", serverError: ServerError(error: "invalid_target"))
        #expect(PlainReport.advice(unknown, given) == nil)
    }

    @Test func endsAWarningWithWhatSupportAsksFor() {
        let error = AuthenticationError(
            .network,
            "Down.",
            correlationID: JSONReportTests.correlationID,
            timestamp: JSONReportTests.time
        )
        let result = SignOutResult(wasSignedIn: true, revocation: .failed(error), browserSession: .failed(error))
        let reference = "(network, correlation id c970d58c-7429-4d47-ae01-2903778d98ca, 2025-11-24T16:00:00Z)"
        let lines = PlainReport.signOut(result)
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasSuffix("Down. \(reference)") })
    }

    /// One message has one advice, and says a time once.
    @Test(arguments: [
        (AuthenticationError.Code.signInExpired, "Sign in.", 0), (.throttled, "Wait. Try again in 20 s.", 1),
        (.requestLoop, "A loop.", 1),
    ])
    func tellsTheWaitOnce(_ code: AuthenticationError.Code, _ message: String, _ count: Int) {
        let error = AuthenticationError(code, message, retryAfter: .seconds(20))
        let text = PlainReport.error(error).joined(separator: "\n")
        #expect(text.split(separator: "Try again in 20 s.", omittingEmptySubsequences: false).count == count + 1)
    }
}
