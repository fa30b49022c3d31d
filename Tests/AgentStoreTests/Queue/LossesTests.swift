import AgentCore
@testable import AgentStore
import Gate
import Testing

@Suite("Losses")
struct LossesTests {
    @Test("merge what adjoins, count nothing twice, and keep the highest ranges")
    func ledger() {
        var losses = QueueLosses()
        losses.lose(10...12, .full)
        losses.lose(14...15, .full)
        #expect(losses.ranges == [10...12, 14...15])
        losses.lose(13...13, .dead)
        #expect(losses.ranges == [10...15] && losses.total == 6)
        losses.lose(8...20, .unknown)
        #expect(losses.ranges == [8...20] && losses.total == 13)
        #expect(losses.causes == [.full: 5, .dead: 1, .unknown: 7])
        for number in Int64(50)..<1100 { losses.lose(number * 2...number * 2, .full) }
        #expect(losses.ranges.count == 1024 && losses.ranges.first == 152...152)
        #expect(losses.total == 1063)
        losses.lose(.min ... .max, .unknown)
        #expect(losses.ranges == [.min ... .max])
        losses.lose(.max ... .max, .unknown)
        losses.lose(.min ... .min, .unknown)
        #expect(losses.ranges == [.min ... .max])
    }

    @Test("of numbers that a crash took are kept like the others")
    func lost() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.commit([.lose(Array(5...9)), .lose([10])])
        for store in [store, try folder.open()] {
            let losses = store.usage.losses
            #expect(losses.ranges == [5...10] && losses.causes == [.unknown: 6])
        }
    }

    @Test("by each cause are in the vault, whole, with their ranges and classes")
    func coding() throws {
        var ledger = QueueLedger()
        ledger.damaged = 3
        for (number, cause) in QueueLosses.Cause.allCases.enumerated() {
            let first = Int64(number) * 10
            ledger.losses.lose(first...first + 3, cause)
            ledger.losses.drop(Int64(number), of: "Class\(number)")
        }
        var bytes: [UInt8] = []
        ledger.encode(into: &bytes)
        var reader = ByteReader(bytes)
        let read = QueueLedger(&reader)
        #expect(read == ledger && reader.isAtEnd)
        for length in 0..<bytes.count {
            var cut = ByteReader(Array(bytes.prefix(length)))
            let part = QueueLedger(&cut)
            #expect(part == nil)
            for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] {
                var changed = bytes
                changed[length] = value
                var reader = ByteReader(changed)
                _ = QueueLedger(&reader)
            }
        }
    }

    @Test("beyond what the vault keeps stay counted")
    func many() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...3000))
        let gone = (1...3000 as ClosedRange<Int64>).filter { $0 % 2 == 0 }
        try store.expire(0, 1_800_000_000_000, sparing: Set(1...3000).subtracting(gone))
        for store in [store, try folder.open()] {
            let losses = store.usage.losses
            #expect(losses.total == 1500 && losses.ranges.count == QueueLosses.rangeLimit)
            #expect(try store.allSequences() == (1...3000).filter { $0 % 2 == 1 })
        }
    }
}

@Suite("Reserve")
struct ReserveTests {
    @Test("of numbers is durable, with what was lost of it")
    func roundTrip() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.reserve(upTo: 1000, given: 10)
        try store.reserve(upTo: 2000, lost: 11...1000)
        for store in [store, try folder.open()] {
            #expect(store.reserve == (2000, 10))
            #expect(store.usage.losses.causes == [.unknown: 990])
        }
        try store.commit([.destroyQueue])
        #expect(try folder.open().reserve == (2000, 10))
    }
}
