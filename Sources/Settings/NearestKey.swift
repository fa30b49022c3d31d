/// Which of the keys that are known somebody may have meant.
enum NearestKey {
    /// Beyond this many bytes a key is compared by its beginning: the work stays bounded.
    private static let compared = 64

    /// The known key with the fewest edits; the first of equals; nil if none is known.
    static func to(_ key: String, among known: [String]) -> String? {
        known.map { ($0, distance(key, $0)) }.min { $0.1 < $1.1 }?.0
    }

    /// Insertions, deletions and replacements of bytes that lead from one to the other.
    static func distance(_ left: String, _ right: String) -> Int {
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
}
