// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct HTTPDateTests {
    /// RFC 9110 §5.6.7, and edges of the calendar.
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
        ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
        ("Fri Nov 13 00:00:00 2026", 1_794_528_000),
    ])
    func readsTheThreeForms(text: String, seconds: Int64) {
        #expect(HTTPDate.parse(text) == seconds)
    }

    @Test(arguments: [
        "", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 2100 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov +994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov 08:49:37 GMT",
    ])
    func refusesEverythingElse(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    @Test func twoDigitYearsAreAtMostFiftyYearsAhead() {
        let in2026: Int64 = 1_794_528_000
        #expect(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: in2026) == 784_111_777)
        #expect(HTTPDate.parse("Friday, 06-Nov-76 00:00:00 GMT", now: in2026) == 3_371_846_400)
        #expect(HTTPDate.parse("Friday, 06-Nov-77 00:00:00 GMT", now: in2026) == 247_622_400)
    }

    @Test(arguments: [
        ("120", 120), ("0", 0), (" 5 ", 5), ("\t5", 5), ("5 6", nil), ("99999", 3_600),
        ("99999999999999999999999", 3_600),
        ("-1", 0), ("1.5", nil), ("", nil), ("-", nil), ("soon", nil),
        ("Sun, 06 Nov 1994 08:49:40 GMT", 3), ("Sun, 06 Nov 1994 08:49:30 GMT", 0),
        ("Sun, 06 Nov 2094 08:49:30 GMT", 3_600),
    ])
    func retryAfterIsBounded(header: String, expected: Int?) {
        #expect(RetryAfter.seconds(header, now: 784_111_777) == expected)
    }
}
