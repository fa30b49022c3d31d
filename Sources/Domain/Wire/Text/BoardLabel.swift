/// A word by which an owner groups boards: 1 to 32 of `a-z`, `0-9`, `.`, `_` and `-`. The first is
/// a letter or a digit.
package struct BoardLabel: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The most labels of one board.
    package static let most = 8
    private static let longest = 32

    package let description: String

    package init?(_ text: String) {
        guard (1...Self.longest).contains(text.utf8.count), let first = text.utf8.first,
            Self.isLetterOrDigit(first),
            text.utf8.allSatisfy({ Self.isLetterOrDigit($0) || ".-_".utf8.contains($0) })
        else { return nil }
        description = text
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }

    package static func < (first: Self, second: Self) -> Bool {
        first.description < second.description
    }
}
