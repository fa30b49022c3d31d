import AgentCore
import AgentStore
import Gate
import Testing

@Suite("Removal")
struct RemovalTests {
    @Test("in any order leaves the others, through restarts", arguments: 1...6)
    func anyOrder(seed: Int) throws {
        let folder = try StateFolder()
        // A size that changes is a configuration that changes.
        let sizes = [8192, 20_480, 65_536]
        var store = try folder.open(segmentBytes: sizes[seed % 3])
        var random = SplitMix(UInt64(seed))
        var held: [Int64] = []
        var last: Int64 = 0
        for _ in 0..<60 {
            let count = Int64(random.next() % 40) + 1
            let gap = Int64(random.next() % 3)
            let writes = try (last + 1 + gap...last + gap + count).map { try Sample.write($0) }
            try store.append(writes)
            last += gap + count
            held += writes.map(\.sequence)
            let gone = held.filter { _ in random.next() % 3 == 0 }.shuffled(using: &random)
            if random.next() % 5 == 0 {
                try store.bury(gone.map { DeadLetterRequest(sequence: $0, reason: "r") })
            } else {
                try store.remove(gone)
            }
            held.removeAll { Set(gone).contains($0) }
            // More holes than the marks remember are sent once more.
            if random.next() % 4 == 0 {
                store = try folder.open(segmentBytes: sizes[Int(random.next() % 3)])
                let again = try store.allSequences()
                #expect(Set(held).isSubset(of: again))
                try store.remove(again.filter { !held.contains($0) })
            }
            #expect(try store.allSequences() == held)
            #expect(store.usage.messages == Int64(held.count))
            let after = held.randomElement(using: &random) ?? 0
            let expected = held.filter { $0 > after }.prefix(7)
            #expect(try store.next(after: after, limit: 7).map(\.sequence) == Array(expected))
        }
        #expect(try store.verify() == [])
        #expect(store.lastSequence == last)
        try store.remove(held)
        #expect(store.usage.messages == 0 && store.usage.bytes == 0)
    }

    @Test("in order comes back after no restart", arguments: [1, 3, 50])
    func inOrder(batch: Int64) throws {
        let folder = try StateFolder()
        var store = try folder.open(segmentBytes: 16_384)
        var gone: Int64 = 0
        for start in stride(from: Int64(1), through: 900, by: Int64.Stride(batch)) {
            try store.append(try Sample.writes(start...start + batch - 1))
            guard start % 4 > 1 else { continue }
            gone = start
            try store.remove(try store.next(after: 0, limit: 1000).map(\.sequence)
                .filter { $0 <= gone })
            store = try folder.open(segmentBytes: 16_384)
            #expect(try store.allSequences().first ?? gone + 1 == gone + 1)
        }
        #expect(try store.allSequences() == Array(gone + 1...store.lastSequence))
    }

    @Test("of any part while others are read misses none")
    func window() throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: 16_384)
        var random = SplitMix(7)
        var (read, flying, last): (Int64, Set<Int64>, Int64) = (0, [], 0)
        var delivered: [Int64] = []
        for _ in 0..<200 {
            let count = Int64(random.next() % 9)
            if count > 0 { try store.append(try Sample.writes(last + 1...last + count)) }
            last += count
            let part = try store.next(after: read, limit: Int(random.next() % 12))
            delivered += part.map(\.sequence)
            flying.formUnion(part.map(\.sequence))
            read = part.last?.sequence ?? read
            let gone = flying.sorted().filter { _ in random.next() % 2 == 0 }
            try store.remove(gone)
            flying.subtract(gone)
        }
        delivered += try store.next(after: read, limit: .max, bytes: .max).map(\.sequence)
        #expect(delivered == Array(1...last))
    }
}
