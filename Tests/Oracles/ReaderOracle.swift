import Glibc
import Sessions
import Wire

/// Holds the reader of what peers send against Foundation's decoder, and against the clock.
package enum ReaderOracle {
    /// What is wrong with how a text was read; nil where nothing is.
    package static func complaint(about text: [UInt8]) -> String? {
        if let cost = cost(of: text) { return cost }
        guard let value = try? JSONValue(parsing: text) else { return nil }
        guard let tree = FoundationReader.value(of: text) else { return "Foundation refuses" }
        guard isSame(value, tree) else { return "Foundation reads \(tree), not \(value)" }
        guard let again = try? JSONValue(parsing: value.bytes), isSame(again, value) else {
            return "written as \(value.text), which is read otherwise"
        }
        return nil
    }

    /// Of a number with many digits two readers may say that it is an integer or a double, not
    /// that its value is another.
    private static func isSame(_ own: JSONValue, _ other: JSONValue) -> Bool {
        switch (own, other) {
        case (.integer(let own), .number(let other)): Double(own) == other
        case (.number(let own), .integer(let other)): own == Double(other)
        case (.array(let own), .array(let other)):
            own.count == other.count && zip(own, other).allSatisfy(isSame)
        case (.object(let own), .object(let other)):
            own.count == other.count && own.allSatisfy { name, value in
                other[name].map { isSame(value, $0) } ?? false
            }
        default: own == other
        }
    }

    /// Far above what any text takes, watched or not: about 0.05 µs a byte.
    private static let nanosecondsOfByte = 3_000
    private static let nanosecondsOfText = 1_000_000

    /// The least of several tries, for something else may have had the processor's caches.
    private static func cost(of text: [UInt8]) -> String? {
        let allowed = nanosecondsOfText + nanosecondsOfByte * text.count
        var least = Int.max
        for _ in 0..<5 {
            least = min(least, nanoseconds { _ = try? JSONValue(parsing: text) })
            if least <= allowed { return nil }
        }
        return "\(text.count) bytes took \(least / 1000) µs"
    }

    /// Of this thread's processor.
    private static func nanoseconds(_ work: () -> Void) -> Int {
        func now() -> Int {
            var time = timespec()
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return time.tv_sec * 1_000_000_000 + time.tv_nsec
        }
        let begun = now()
        work()
        return now() - begun
    }
}
