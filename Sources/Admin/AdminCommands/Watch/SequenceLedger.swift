/// The sequence numbers of one board that have arrived, and the gaps between them.
///
/// It starts at the first number that it receives and ignores lower ones. The memory is limited: so
/// many open gaps, so many payloads.
struct SequenceLedger: Sendable {
    enum Verdict: Equatable, Sendable {
        /// The first number, or higher than all others.
        case new
        /// A number that comes for the first time, after a higher one.
        case reordered
        /// A number that came before with the same digest, or whose digest is already forgotten.
        case repeated
        /// A number that came before with another payload or under another session.
        case conflicting
        /// Below the first number, so unknown.
        case before
    }

    struct Gap: Equatable, Sendable {
        var numbers: ClosedRange<Int64>
        /// The time when a higher number arrived.
        let since: Duration
        var isTold = false
    }

    static let gapLimit = 1024
    static let digestLimit = 1024

    private(set) var first: Int64?
    private(set) var highest: Int64 = 0
    /// Sorted, lowest first.
    private(set) var gaps: [Gap] = []
    /// Gaps that were dropped to stay within the limit.
    private(set) var expelled: [Gap] = []
    private(set) var isCapped = false
    private var digests: [Int64: Int] = [:]
    private var ring: [Int64] = []
    private var next = 0

    /// `digest` identifies the payload and everything else that a repeated message must repeat.
    mutating func take(_ number: Int64, _ digest: Int, at now: Duration) -> Verdict {
        guard let first else {
            first = number
            highest = number
            remember(number, digest)
            return .new
        }
        guard number >= first else { return .before }
        if number > highest {
            if number - 1 > highest { open(highest + 1...number - 1, at: now) }
            highest = number
            remember(number, digest)
            return .new
        }
        guard let index = gaps.firstIndex(holding: number) else {
            guard let known = digests[number] else { return .repeated }
            return known == digest ? .repeated : .conflicting
        }
        fill(number, at: index)
        remember(number, digest)
        return .reordered
    }

    /// The gaps that opened at `limit` or earlier and were not reported. Nil returns all of them.
    mutating func takeUntold(since limit: Duration?) -> [ClosedRange<Int64>] {
        var untold: [ClosedRange<Int64>] = []
        for index in gaps.indices where !gaps[index].isTold {
            if let limit, gaps[index].since > limit { continue }
            gaps[index].isTold = true
            untold.append(gaps[index].numbers)
        }
        return untold
    }

    mutating func takeExpelled() -> [Gap] {
        guard !expelled.isEmpty else { return [] }
        defer { expelled = [] }
        return expelled
    }

    private mutating func open(_ numbers: ClosedRange<Int64>, at now: Duration) {
        gaps.append(Gap(numbers: numbers, since: now))
        expelIfCrowded()
    }

    private mutating func fill(_ number: Int64, at index: Int) {
        let gap = gaps[index]
        var parts: [Gap] = []
        if gap.numbers.lowerBound < number {
            parts.append(gap.with(gap.numbers.lowerBound...number - 1))
        }
        if number < gap.numbers.upperBound {
            parts.append(gap.with(number + 1...gap.numbers.upperBound))
        }
        gaps.replaceSubrange(index...index, with: parts)
        expelIfCrowded()
    }

    private mutating func expelIfCrowded() {
        guard gaps.count > Self.gapLimit else { return }
        isCapped = true
        expelled.append(gaps.removeFirst())
    }

    private mutating func remember(_ number: Int64, _ digest: Int) {
        digests[number] = digest
        if ring.count < Self.digestLimit {
            ring.append(number)
        } else {
            digests[ring[next]] = nil
            ring[next] = number
            next = (next + 1) % Self.digestLimit
        }
    }
}

extension SequenceLedger.Gap {
    fileprivate func with(_ numbers: ClosedRange<Int64>) -> Self {
        Self(numbers: numbers, since: since, isTold: isTold)
    }
}

extension [SequenceLedger.Gap] {
    /// A binary search, because a hostile board may cause many gaps.
    fileprivate func firstIndex(holding number: Int64) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle].numbers.upperBound < number { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low].numbers.contains(number) ? low : nil
    }
}
