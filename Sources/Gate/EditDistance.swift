/// How far two names are apart.
package enum EditDistance {
    /// Beyond this many bytes a name is compared by its beginning: the work stays bounded.
    private static let compared = 64

    /// Insertions, deletions and replacements of bytes that lead from one to the other.
    package static func between(_ left: String, _ right: String) -> Int {
        let left = left.utf8.prefix(compared)
        let right = Array(right.utf8.prefix(compared))
        var above = Array(0...right.count)
        for (row, byte) in left.enumerated() {
            var current = [row + 1]
            var diagonal = row
            for (other, over) in zip(right, above.dropFirst()) {
                let beside = current.last ?? 0
                current.append(min(diagonal + (byte == other ? 0 : 1), over + 1, beside + 1))
                diagonal = over
            }
            above = current
        }
        return above.last ?? 0
    }

    /// Whether one is likely the other, mistyped: equal but for case, one edit apart, or two in
    /// names of eight bytes or more. Names that differ in digits alone are a series, no mistake,
    /// and those of up to three bytes are too short to tell.
    package static func isLikelyTypo(_ name: String, of known: String) -> Bool {
        guard name != known else { return false }
        if name.lowercased() == known.lowercased() { return true }
        let shorter = min(name.utf8.count, known.utf8.count)
        guard shorter > 3, withoutDigits(name) != withoutDigits(known) else { return false }
        return between(name, known) <= (shorter >= 8 ? 2 : 1)
    }

    private static func withoutDigits(_ name: String) -> [UInt8] {
        name.utf8.filter { !$0.isDigit }
    }
}
