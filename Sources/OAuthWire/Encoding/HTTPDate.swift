// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The seconds since 1970 that a server, a file or another program may name: to the end of the year 9999, so that no sum or
/// difference of times can overflow, and each time has a text.
package enum UnixSeconds {
    /// The last of them.
    package static var last: Int64 { 253_402_300_799 }

    /// All of them.
    package static var all: ClosedRange<Int64> { 0...last }

    /// Returns the second that is nearest to a number.
    package static func nearest(to seconds: some BinaryInteger) -> Int64 { min(max(0, Int64(clamping: seconds)), last) }
}

/// Dates in HTTP headers.
/// - SeeAlso: [RFC 9110 §5.6.7](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7)
package enum HTTPDate {
    /// The Unix seconds of `text` in any of HTTP's three forms; `nil` for anything else.
    ///
    /// The weekday is not compared with the date.
    /// - Parameter now: Determines the century of RFC 850's two-digit years; without this value 70 to 99 are 19xx.
    package static func parse(_ text: String, now: Int64? = nil) -> Int64? {
        let words = text.split(separator: " ", omittingEmptySubsequences: true)
        switch words.count {
        case 6 where words[5] == "GMT":  // Sun, 06 Nov 1994 08:49:37 GMT
            guard isWeekday(words[0], in: shortDays, suffix: ",") else { return nil }
            return seconds(year: number(words[3], digits: 4), month: words[2], day: words[1], time: words[4])
        case 4 where words[3] == "GMT":  // Sunday, 06-Nov-94 08:49:37 GMT
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard isWeekday(words[0], in: longDays, suffix: ","), date.count == 3 else { return nil }
            guard let short = number(date[2], digits: 2) else { return nil }
            return seconds(year: fullYear(short, now: now), month: date[1], day: date[0], time: words[2])
        case 5:  // Sun Nov  6 08:49:37 1994
            guard isWeekday(words[0], in: shortDays, suffix: "") else { return nil }
            let day = words[2].utf8.count == 1 ? "0" + words[2] : words[2]
            return seconds(year: number(words[4], digits: 4), month: words[1], day: day, time: words[3])
        default:
            return nil
        }
    }

    private static let shortDays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let longDays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func isWeekday(_ word: Substring, in days: [String], suffix: String) -> Bool {
        days.contains { $0 + suffix == word }
    }

    private static func number(_ text: Substring, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.areDigits else { return nil }
        return Int(text)
    }

    private static func seconds(year: Int?, month: Substring, day: Substring, time: Substring) -> Int64? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard
            let year,
            let month = months.firstIndex(where: { $0 == month }).map({ $0 + 1 }),
            let day = number(day, digits: 2), day >= 1, day <= length(ofMonth: month, year: year),
            parts.count == 3,
            let hour = number(parts[0], digits: 2), hour < 24,
            let minute = number(parts[1], digits: 2), minute < 60,
            let second = number(parts[2], digits: 2), second <= 60  // a leap second
        else { return nil }
        return Int64(days(year: year, month: month, day: day) * 86_400 + hour * 3_600 + minute * 60 + second)
    }

    /// RFC 9110: a year more than 50 years ahead is the most recent one in the past with the same two digits.
    private static func fullYear(_ short: Int, now: Int64?) -> Int {
        guard let now else { return short + (short >= 70 ? 1900 : 2000) }
        let current = Int(min(max(now / 31_556_952, -200), 8_000)) + 1970
        let year = current / 100 * 100 + short
        return year > current + 50 ? year - 100 : year
    }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The days since 1 January 1970 in the Gregorian calendar.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        let past = year - 1
        let leapDays = past / 4 - past / 100 + past / 400 - 477  // 477 leap days before 1970
        let inYear = (1..<month).reduce(0) { $0 + length(ofMonth: $1, year: year) }
        return (year - 1970) * 365 + leapDays + inYear + day - 1
    }
}

/// The wait that a server requests.
/// - SeeAlso: [RFC 9110 §10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)
package enum RetryAfter {
    /// The maximum wait that is accepted, in seconds.
    package static let maximum = 3_600

    /// The requested wait in seconds, 0 to 3,600; `nil` if `headerValue` is neither seconds nor a date.
    package static func seconds(_ headerValue: String, now: Int64) -> Int? {
        let words = WireText.words(headerValue)
        if words.count == 1, let word = words.first {
            let digits = word.hasPrefix("-") ? word.dropFirst() : word[...]
            guard !digits.isEmpty, digits.utf8.areDigits else { return nil }
            return word.hasPrefix("-") ? 0 : min(Int(digits) ?? maximum, maximum)
        }
        guard let date = HTTPDate.parse(headerValue, now: now) else { return nil }
        let (wait, overflow) = date.subtractingReportingOverflow(now)
        return overflow ? nil : Int(min(max(wait, 0), Int64(maximum)))
    }
}
