import Foundation
import Sessions

/// Formats times for people: the local time, and the distance from now.
struct TimeText: Sendable {
    let now: Timestamp
    let zone: TimeZone

    /// `2023-11-14 22:13 (3 min ago)`, or `empty` without a time.
    func show(_ time: Timestamp?, empty: String = "never") -> String {
        guard let time else { return empty }
        return "\(local(time)) (\(relative(time)))"
    }

    /// `2023-11-14 22:13` in the local zone.
    func local(_ time: Timestamp) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let parts = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute],
            from: Date(timeIntervalSince1970: Double(time.seconds)))
        let digits = { (value: Int?, width: Int) in
            let text = String(value ?? 0)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        return "\(digits(parts.year, 4))-\(digits(parts.month, 2))-\(digits(parts.day, 2)) "
            + "\(digits(parts.hour, 2)):\(digits(parts.minute, 2))"
    }

    /// `22:13:20` in the local zone.
    func clock(_ time: Timestamp) -> String {
        let seconds = time.seconds + Int64(zone.secondsFromGMT(
            for: Date(timeIntervalSince1970: Double(time.seconds))))
        let ofDay = ((seconds % 86_400) + 86_400) % 86_400
        return [ofDay / 3600, ofDay / 60 % 60, ofDay % 60]
            .map { $0 < 10 ? "0\($0)" : String($0) }.joined(separator: ":")
    }

    /// `2023-11-14 22:13:20` in the local zone.
    func exact(_ time: Timestamp) -> String {
        "\(local(time).prefix(10)) \(clock(time))"
    }

    /// `just now`, `3 min ago`, `in 29 d`.
    func relative(_ time: Timestamp) -> String {
        let seconds = (time - now).milliseconds / 1000
        let span = Self.span(abs(seconds))
        if abs(seconds) < 5 { return "just now" }
        return seconds < 0 ? "\(span) ago" : "in \(span)"
    }

    /// The largest whole unit: `59 s`, `3 min`, `47 h`, `30 d`.
    static func span(_ seconds: Int64) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}
