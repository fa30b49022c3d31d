package import Sessions

/// A time as Parse's REST API writes it: `2011-11-07T20:58:34.448Z`, always UTC, always
/// three digits of milliseconds. Printing and parsing are inverses.
///
/// Source: Parse REST guide, Data types; RFC 3339 §5.6.
package enum ParseDate {
    package static func print(_ time: Timestamp) -> String {
        let day = time.milliseconds / 86_400_000
        let rest = time.milliseconds % 86_400_000
        let (year, month, date) = civil(fromDay: day)
        let parts = [rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60].map { padded($0, 2) }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(date, 2))T"
            + parts.joined(separator: ":") + ".\(padded(rest % 1000, 3))Z"
    }

    /// Nil for any other form, and for a date or time that does not exist.
    package static func parse(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        guard bytes.count == 24 else { return nil }
        let form = Array("dddd-dd-ddTdd:dd:dd.dddZ".utf8)
        var digits: [Int64] = []
        for (byte, expected) in zip(bytes, form) {
            if expected == UInt8(ascii: "d") {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                digits.append(Int64(byte) - 48)
            } else if byte != expected {
                return nil
            }
        }
        let number = { (range: Range<Int>) in digits[range].reduce(0) { $0 * 10 + $1 } }
        let (hour, minute, second) = (number(8..<10), number(10..<12), number(12..<14))
        let day = day(year: number(0..<4), month: number(4..<6), date: number(6..<8))
        guard let day, hour < 24, minute < 60, second < 60 else { return nil }
        let seconds = day * 86_400 + hour * 3600 + minute * 60 + second
        guard seconds >= 0 else { return nil }
        return Timestamp(milliseconds: seconds * 1000 + number(14..<17))
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }

    /// The proleptic Gregorian date of a day counted from 1970-01-01; the day must not be negative.
    /// Years begin in March here, so that the leap day is the last day of a year.
    private static func civil(fromDay day: Int64) -> (year: Int64, month: Int64, date: Int64) {
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let years = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * years + years / 4 - years / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let date = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        return (years + era * 400 + (month <= 2 ? 1 : 0), month, date)
    }

    /// The day of a date: the inverse of `civil`. Nil for a date that does not exist.
    private static func day(year: Int64, month: Int64, date: Int64) -> Int64? {
        guard (1...12).contains(month), (1...31).contains(date) else { return nil }
        let shiftedYear = month <= 2 ? year - 1 : year
        guard shiftedYear >= 0 else { return nil }
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + date - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let day = era * 146_097 + dayOfEra - 719_468
        guard day >= 0, civil(fromDay: day) == (year, month, date) else { return nil }
        return day
    }
}
