/// A span of time as configurations write it: `500ms`, `90s`, `10m` or `10min`, `24h`, `30d`.
package enum DurationText {
    /// A sentence that says why a text is not a duration.
    package struct Invalid: Error, Equatable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// One hundred years of 365 days, in milliseconds.
    private static let longest: Int64 = 100 * 365 * 86_400_000

    /// Parses a whole number and a unit with nothing between them. Zero is allowed.
    package static func parse(_ text: String) throws(Invalid) -> Duration {
        let digits = text.utf8.prefix { (0x30...0x39).contains($0) }
        let unit = String(text.utf8.dropFirst(digits.count)) ?? ""
        guard !digits.isEmpty, let scale = milliseconds(in: unit) else {
            throw Invalid(description:
                "a duration is a whole number and a unit (ms, s, m, min, h or d), as in \"90s\"")
        }
        let count = Int64(String(digits) ?? "") ?? .max
        let (total, overflow) = count.multipliedReportingOverflow(by: scale)
        guard !overflow, total <= longest else {
            throw Invalid(description: "a duration is at most 36500d")
        }
        return .milliseconds(total)
    }

    /// Prints a form that `parse` reads, in the largest unit that divides the span. It rounds down
    /// to whole milliseconds, and negative spans to zero.
    package static func print(_ duration: Duration) -> String {
        let parts = duration.components
        let seconds = min(max(parts.seconds, 0), longest / 1000)
        let total = seconds * 1000 + max(parts.attoseconds, 0) / 1_000_000_000_000_000
        for unit in ["d", "h", "m", "s"] {
            guard let scale = milliseconds(in: unit), total > 0, total % scale == 0 else {
                continue
            }
            return "\(total / scale)\(unit)"
        }
        return total == 0 ? "0s" : "\(total)ms"
    }

    private static func milliseconds(in unit: String) -> Int64? {
        switch unit {
        case "ms": 1
        case "s": 1000
        case "m", "min": 60_000
        case "h": 3_600_000
        case "d": 86_400_000
        default: nil
        }
    }
}

extension DurationText.Invalid: ValueFault {
    var sentence: String { description }
}
