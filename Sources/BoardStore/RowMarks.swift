/// Which writes of one row are still to be delivered.
struct RowMarks: Equatable {
    /// The most sequence numbers that one row spans.
    static let spanLimit: Int64 = 4096

    let first: Int64
    let last: Int64
    private var words: [UInt64]
    private(set) var count: Int64

    /// All of first...last. Nil for a span that no row has.
    init?(all first: Int64, _ last: Int64) {
        self.init(first, last)
        let span = Int(last - first) + 1
        for index in words.indices {
            let bits = min(64, span - index * 64)
            words[index] = bits == 64 ? .max : (1 << UInt64(bits)) - 1
        }
        count = Int64(span)
    }

    /// Those among `sequences` that lie in first...last.
    init?(_ first: Int64, _ last: Int64, only sequences: [Int64]) {
        self.init(first, last)
        for sequence in sequences where first <= sequence && sequence <= last {
            let place = Int(sequence - first)
            let bit: UInt64 = 1 << UInt64(place % 64)
            if words[place / 64] & bit == 0 { count += 1 }
            words[place / 64] |= bit
        }
    }

    private init?(_ first: Int64, _ last: Int64) {
        let (span, overflow) = last.subtractingReportingOverflow(first)
        guard !overflow, span >= 0, span < Self.spanLimit else { return nil }
        self.first = first
        self.last = last
        words = Array(repeating: 0, count: Int(span / 64) + 1)
        count = 0
    }

    func contains(_ sequence: Int64) -> Bool {
        guard first <= sequence, sequence <= last else { return false }
        let place = Int(sequence - first)
        return words[place / 64] & 1 << UInt64(place % 64) != 0
    }

    /// Takes out what of `range` is there; returns how many that were.
    mutating func remove(_ range: ClosedRange<Int64>) -> Int64 {
        var removed: Int64 = 0
        var sequence = max(first, range.lowerBound)
        while sequence <= min(last, range.upperBound) {
            let place = Int(sequence - first)
            let bit: UInt64 = 1 << UInt64(place % 64)
            if words[place / 64] & bit != 0 {
                words[place / 64] &= ~bit
                removed += 1
            }
            sequence += 1
        }
        count -= removed
        return removed
    }

    /// The lowest that is there.
    var lowest: Int64? {
        guard let index = words.firstIndex(where: { $0 != 0 }) else { return nil }
        return first + Int64(index * 64 + words[index].trailingZeroBitCount)
    }

    /// Those that are not there, as runs, but for those before the lowest that is.
    var holes: [ClosedRange<Int64>] {
        guard let lowest, last - lowest + 1 != count else { return [] }
        var holes: [ClosedRange<Int64>] = []
        var before = lowest - 1
        for run in runs {
            if run.lowerBound > before + 1, before >= lowest {
                holes.append(before + 1...run.lowerBound - 1)
            }
            before = run.upperBound
        }
        if before < last { holes.append(before + 1...last) }
        return holes
    }

    /// Those that are there, as runs.
    var runs: [ClosedRange<Int64>] {
        var runs: [ClosedRange<Int64>] = []
        var start: Int64?
        for sequence in first...last {
            if contains(sequence) {
                start = start ?? sequence
            } else if let begin = start {
                runs.append(begin...sequence - 1)
                start = nil
            }
        }
        if let begin = start { runs.append(begin...last) }
        return runs
    }
}
