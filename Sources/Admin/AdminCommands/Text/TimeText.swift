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
        if abs(seconds) < 5 { return "just now" }
        return seconds < 0
            ? "\(Self.span(-seconds)) ago" : "in \(Self.span(seconds, toNearest: true))"
    }

    /// The largest whole unit: `59 s`, `3 min`, `47 h`, `30 d`. With `toNearest` half a unit or
    /// more counts as one, so that 30 days do not read `29 d` a second later.
    static func span(_ seconds: Int64, toNearest: Bool = false) -> String {
        let count = { (unit: Int64) in (seconds + (toNearest ? unit / 2 : 0)) / unit }
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(count(60)) min"
        case ..<172_800: "\(count(3600)) h"
        default: "\(count(86_400)) d"
        }
    }
}
