// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

@Suite struct UTCTimeTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"), (951_868_800, "2000-03-01T00:00:00Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
        (1e300, "9999-12-31T23:59:59Z"), (.infinity, "9999-12-31T23:59:59Z"), (.nan, "9999-12-31T23:59:59Z"),
        (-11_676_096_001, "1600-01-01T00:00:00Z"), (-.infinity, "1600-01-01T00:00:00Z"),
        (1.999, "1970-01-01T00:00:01Z"),
    ])
    func writesTimesInUTC(seconds: Double, text: String) {
        #expect(Date(timeIntervalSince1970: seconds).utcText == text)
    }
}
