import Sessions

/// Formats times for people, in UTC, without a time zone database.
enum CalendarText {
    /// `2026-11-21 03:20`. Source: Howard Hinnant, chrono-compatible low-level date algorithms.
    static func utc(_ time: Timestamp) -> String {
        let days = time.seconds / 86_400 + 719_468
        let era = days / 146_097
        let day = days - era * 146_097
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let date = dayOfYear - (153 * month + 2) / 5 + 1
        let calendarMonth = month < 10 ? month + 3 : month - 9
        let calendarYear = year + era * 400 + (calendarMonth <= 2 ? 1 : 0)
        let minute = time.seconds % 86_400 / 60
        return "\(calendarYear)-\(two(calendarMonth))-\(two(date)) "
            + "\(two(minute / 60)):\(two(minute % 60))"
    }

    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
