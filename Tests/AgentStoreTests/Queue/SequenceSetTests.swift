@testable import AgentStore
import Testing

/// Beside a plain `Set`.
@Suite("Sequence set")
struct SequenceSetTests {
    private func numbers(_ set: SequenceSet) -> Set<Int64> {
        set.ranges.reduce(into: []) { $0.formUnion($1) }
    }

    /// Whether it is in its one form: rising, no two ranges adjoining.
    private func isNormal(_ set: SequenceSet) -> Bool {
        zip(set.ranges, set.ranges.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound }
    }

    @Test("is what a set of numbers would be, whatever is done to it", arguments: 1...20)
    func oracle(seed: Int) {
        var random = SplitMix(UInt64(seed))
        var (set, plain) = (SequenceSet(), Set<Int64>())
        func range() -> ClosedRange<Int64> {
            let first = Int64(random.next() % 200)
            return first...first + Int64(random.next() % (random.next() % 4 == 0 ? 60 : 3))
        }
        for _ in 0..<400 {
            switch random.next() % 5 {
            case 0, 1:
                let new = range()
                set.insert(new)
                plain.formUnion(new)
            case 2:
                let gone = range()
                set.remove(gone)
                plain.subtract(gone)
            case 3:
                let number = Int64(random.next() % 260)
                set.insert(number)
                plain.insert(number)
            default:
                var other = SequenceSet(range())
                other.insert(range())
                if random.next() % 2 == 0 {
                    set.subtract(other)
                    plain.subtract(numbers(other))
                } else {
                    set.formUnion(other)
                    plain.formUnion(numbers(other))
                }
            }
            #expect(isNormal(set))
            #expect(numbers(set) == plain && set.count == Int64(plain.count))
            #expect(set.first == plain.min() && set.last == plain.max())
            #expect(set.isEmpty == plain.isEmpty)
            let asked = range()
            #expect(set.overlaps(asked) == !plain.isDisjoint(with: asked))
            #expect(numbers(set.part(in: asked)) == plain.intersection(asked))
            #expect(set.contains(asked.lowerBound) == plain.contains(asked.lowerBound))
            let bytes = encoded(set)
            var reader = ByteReader(bytes)
            let read = SequenceSet(&reader)
            #expect(read == set && reader.isAtEnd)
        }
    }

    private func encoded(_ set: SequenceSet, limit: Int = .max) -> [UInt8] {
        var bytes: [UInt8] = []
        set.encode(into: &bytes, limit: limit)
        return bytes
    }

    @Test("holds the highest number and the lowest")
    func borders() {
        var set = SequenceSet(.max - 1 ... .max)
        set.insert(0...0)
        set.insert(.max ... .max)
        #expect(set.ranges == [0...0, .max - 1 ... .max] && set.count == 3)
        var reader = ByteReader(encoded(set))
        let read = SequenceSet(&reader)
        #expect(read == set)
        set.remove(.max ... .max)
        #expect(set.last == Int64.max - 1)
        set.remove(0 ... .max)
        #expect(set.isEmpty && set.count == 0)
    }

    @Test("keeps its highest ranges where not all are written")
    func limit() {
        var set = SequenceSet()
        for number in Int64(1)...50 { set.insert(number * 2) }
        var reader = ByteReader(encoded(set, limit: 10))
        let read = SequenceSet(&reader)
        #expect(read?.ranges == Array(set.ranges.suffix(10)))
    }

    @Test("of any bytes is a set in its form or none, never a trap")
    func anyBytes() {
        var random = SplitMix(3)
        for _ in 0..<20_000 {
            let count = Int(random.next() % 40)
            let bytes = [UInt8(random.next() % 6)] + (0..<count).map { _ in
                random.next() % 3 == 0 ? 0xFF : UInt8(random.next() % 256)
            }
            var reader = ByteReader(bytes)
            if let set = SequenceSet(&reader) { #expect(isNormal(set)) }
        }
    }
}
