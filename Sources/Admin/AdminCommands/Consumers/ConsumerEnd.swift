import ArgumentParser
import Foundation
import Sessions
import Wire

/// When a consumer ends: a span from now, or a time.
enum ConsumerEnd: ExpressibleByArgument, Equatable, Sendable {
    case after(Span)
    /// `2026-12-31`, `2026-12-31 18:00` or `2026-12-31T18:00:00Z`, not yet placed in a zone.
    case at(CalendarTime)

    init?(argument: String) {
        if let span = Span(argument: argument), span.seconds > 0 {
            self = .after(span)
        } else if let time = CalendarTime(argument) {
            self = .at(time)
        } else {
            return nil
        }
    }

    /// The member of the request. A span counts by the authority's clock.
    func member(in zone: TimeZone) throws(CommandFailure) -> (name: String, value: JSONValue) {
        switch self {
        case .after(let span): return ("durationSeconds", .integer(span.seconds))
        case .at(let time):
            guard let instant = time.instant(in: zone) else {
                throw .usage("there is no such time: --until takes 2026-12-31 18:00, or 30d")
            }
            return ("until", .integer(instant.seconds))
        }
    }
}

/// A date, and perhaps a time of the day: local unless it ends with `Z`.
struct CalendarTime: Equatable, Sendable {
    private let parts: [Int]
    private let isUTC: Bool

    init?(_ text: String) {
        isUTC = text.hasSuffix("Z")
        let plain = isUTC ? text.dropLast() : text[...]
        let halves = plain.split(
            maxSplits: 1, omittingEmptySubsequences: false) { $0 == "T" || $0 == " " }
        guard let day = halves.first.flatMap({ Self.numbers($0, "-", [4, 2, 2]) }) else {
            return nil
        }
        guard halves.count == 2 else {
            guard !isUTC else { return nil }
            parts = day + [0, 0, 0]
            return
        }
        let hours = Self.numbers(halves[1], ":", [2, 2]).map { $0 + [0] }
        guard let time = hours ?? Self.numbers(halves[1], ":", [2, 2, 2]) else { return nil }
        parts = day + time
    }

    private static func numbers(
        _ text: Substring, _ separator: Character, _ widths: [Int]
    ) -> [Int]? {
        let fields = text.split(separator: separator, omittingEmptySubsequences: false)
        guard fields.map(\.utf8.count) == widths else { return nil }
        let numbers = fields.compactMap { field in
            field.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                ? Int(field) : nil
        }
        return numbers.count == widths.count ? numbers : nil
    }

    /// Nil if the calendar has no such time.
    func instant(in zone: TimeZone) -> Timestamp? {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = isUTC ? .gmt : zone
        guard parts.count == 6 else { return nil }
        let wanted = DateComponents(
            year: parts[0], month: parts[1], day: parts[2], hour: parts[3], minute: parts[4],
            second: parts[5])
        guard let date = calendar.date(from: wanted) else { return nil }
        let found = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute, .second], from: date)
        guard found.year == wanted.year, found.month == wanted.month, found.day == wanted.day,
            found.hour == wanted.hour, found.minute == wanted.minute,
            found.second == wanted.second
        else { return nil }
        return Timestamp(seconds: Int64(date.timeIntervalSince1970))
    }
}
