// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension Date {
    /// The time as ISO 8601 in UTC, to the second: `2026-11-21T12:13:50Z`. Times outside the years 1600 to 9999, or not
    /// a number, become the nearest of them.
    package var utcText: String {
        let seconds = max(-11_676_096_000, min(253_402_300_799, timeIntervalSince1970.rounded(.down)))
        return Date(timeIntervalSince1970: seconds).ISO8601Format()
    }
}
