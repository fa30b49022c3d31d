/// The number of edits between two names.
package enum EditDistance {
    /// Only the first bytes of a name are compared, so that the work is limited.
    static let compared = 64

    /// The least number of edits that turn one name into the other. An edit inserts, deletes or
    /// replaces a byte, or swaps two neighbours. No byte is edited twice (optimal string
    /// alignment).
    package static func between(_ left: String, _ right: String) -> Int {
        between(Array(left.utf8.prefix(compared)), Array(right.utf8.prefix(compared)))
    }

    static func between(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var start = 0
        while start < min(left.count, right.count), left[start] == right[start] { start += 1 }
        var (leftEnd, rightEnd) = (left.count, right.count)
        while leftEnd > start, rightEnd > start, left[leftEnd - 1] == right[rightEnd - 1] {
            leftEnd -= 1
            rightEnd -= 1
        }
        // A common beginning and a common end need no edits.
        return distance(Array(left[start..<leftEnd]), Array(right[start..<rightEnd]))
    }

    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        if left.isEmpty || right.isEmpty { return max(left.count, right.count) }
        var beforeAbove: [Int] = []
        var above = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let replaced = above[column] + (left[row] == right[column] ? 0 : 1)
                var least = min(replaced, above[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1],
                    left[row - 1] == right[column]
                {
                    least = min(least, beforeAbove[column - 1] + 1)
                }
                current.append(least)
            }
            beforeAbove = above
            above = current
        }
        return above[right.count]
    }
}
