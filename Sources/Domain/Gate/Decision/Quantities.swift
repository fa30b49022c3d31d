/// A text that does not have the form that a rule or a setting needs.
package struct GrammarError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A sentence for the person who wrote the text.
    package let text: String
    package init(_ text: String) { self.text = text }
    package var description: String { text }
}

/// A number of bytes: `4096`, `64 KiB`, `256 MiB`, `2 GiB`.
package struct ByteCount: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let bytes: Int64

    package init(bytes: Int64) { self.bytes = bytes }

    package init(_ text: String) throws(GrammarError) {
        let units: [(String, Int64)] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]
        let unit = units.first { text.hasSuffix($0.0) }
        let digits = unit.map { text.dropLast($0.0.count) } ?? text[...]
        let number = digits.last == " " ? digits.dropLast() : digits
        guard !number.isEmpty, number.utf8.allSatisfy(\.isDigit), let count = Int64(number) else {
            throw GrammarError("a size is written 4096, 64 KiB, 256 MiB or 2 GiB")
        }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: unit?.1 ?? 1)
        guard !overflow, bytes <= 1 << 50 else { throw GrammarError("the size is too large") }
        self.bytes = bytes
    }

    /// The shortest text that parses to the same value.
    package var description: String {
        for (name, size): (String, Int64) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        where bytes >= size && bytes % size == 0 { return "\(bytes / size) \(name)" }
        return "\(bytes)"
    }

    package static func < (left: Self, right: Self) -> Bool { left.bytes < right.bytes }
}

/// A rate limit, kept as a token bucket: `100/s`, `6/min`, `1000/h`.
package struct Rate: Hashable, Sendable, CustomStringConvertible {
    package enum Unit: String, Sendable, CaseIterable {
        case second = "s"
        case minute = "min"
        case hour = "h"

        package var length: Duration {
            switch self {
            case .second: .seconds(1)
            case .minute: .seconds(60)
            case .hour: .seconds(3600)
            }
        }
    }

    package let count: Int64
    package let unit: Unit
    /// The size of the bucket: how many may come at once after a quiet time. By default `count`.
    package private(set) var burst: Int64
    /// The time after which one more is allowed.
    let interval: Duration

    package init(_ text: String) throws(GrammarError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.allSatisfy(\.isDigit), let count = Int64(parts[0]),
            (1...1_000_000).contains(count), let unit = Unit(rawValue: String(parts[1]))
        else { throw GrammarError("a rate is written 100/s, 6/min or 1000/h") }
        self.init(count, per: unit)
    }

    /// A count below 1 becomes 1.
    package init(_ count: Int64, per unit: Unit) {
        self.count = max(1, count)
        self.unit = unit
        burst = self.count
        interval = unit.length / Int(self.count)
    }

    /// The same rate with another bucket size. Nil keeps the size; a size below 1 becomes 1.
    package func with(burst: Int64?) -> Rate {
        var rate = self
        if let burst { rate.burst = max(1, burst) }
        return rate
    }

    package var description: String {
        "\(count)/\(unit.rawValue)" + (burst == count ? "" : " with a burst of \(burst)")
    }

    /// The time in which an empty bucket becomes full.
    var depth: Duration { burst == count ? unit.length : interval * Int(burst) }
}
