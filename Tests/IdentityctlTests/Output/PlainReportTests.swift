// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
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

    @Test func alignsAccountsForPeople() {
        #expect(
            PlainReport.accounts(Self.accounts, inColumns: true) == """
                alice\u{FFFD}[2J\u{FFFD}@example.test  1   e.test
                -                        22  e.test

                """
        )
    }

    @Test func tellsTheServersWordsWithoutWhatATerminalObeys() {
        let error = AuthenticationError(
            .consentRequired,
            "Agree first.",
            serverError: ServerError(error: "consent_required", errorDescription: "No \u{1B}]0;x\u{07} consent"),
            retryAfter: .seconds(3)
        )
        #expect(
            PlainReport.error(error) == [
                "identityctl: Agree first.",
                "  The server said: consent_required: No \u{FFFD}]0;x\u{FFFD} consent",
                "  Try again in 3 s.",
                "  (interaction_required.consent)",
            ]
        )
    }

    @Test func advisesToSignInWhereAPersonIsNeeded() {
        #expect(PlainReport.advice(AuthenticationError(.network, "")) == nil)
        #expect(PlainReport.advice(AuthenticationError(.signInExpired, "")) == "To sign in, run: identityctl login")
        #expect(
            PlainReport.advice(AuthenticationError(.claimsChallenge, "", claims: #"{"a":"it's"}"#))
                == #"To sign in, run: identityctl login --claims '{"a":"it'\''s"}'"#
        )
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"), (951_868_800, "2000-03-01T00:00:00Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
        (1e300, "9999-12-31T23:59:59Z"), (-62_167_219_200, "0000-01-01T00:00:00Z"), (1.999, "1970-01-01T00:00:01Z"),
    ])
    func writesTimesInUTC(seconds: Double, text: String) {
        #expect(Date(timeIntervalSince1970: seconds).utcText == text)
    }

    @Test(arguments: [
        (Duration.nanoseconds(1), "1 µs"), (.microseconds(999), "999 µs"), (.microseconds(1250), "1.2 ms"),
        (.microseconds(12_500), "12 ms"), (.milliseconds(2160), "2.1 s"), (.seconds(61), "61 s"),
    ])
    func writesDurationsForPeople(duration: Duration, text: String) {
        #expect(duration.shortText == text)
    }
}
