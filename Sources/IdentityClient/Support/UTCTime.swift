// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension Date {
    /// The time as ISO 8601 in UTC, to the second: `2026-11-21T12:13:50Z`. Years from 0 to 9999; nothing traps.
    package var utcText: String {
        let seconds = Int64(max(-62_167_219_200, min(253_402_300_799, timeIntervalSince1970.rounded(.down))))
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let time = seconds - days * 86_400
        let (year, month, day) = Self.civil(days)
        let date = "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))"
        return "\(date)T\(Self.digits(time / 3600, 2)):\(Self.digits(time / 60 % 60, 2)):\(Self.digits(time % 60, 2))Z"
    }

    /// The date that lies `days` after 1970-01-01, counted in years that begin in March.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let march = (5 * dayOfYear + 2) / 153
        let month = march < 10 ? march + 3 : march - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * march + 2) / 5 + 1)
    }

    private static func digits(_ number: Int64, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}
