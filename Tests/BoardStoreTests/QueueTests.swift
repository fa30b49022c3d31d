import Gate
import Sessions
import Testing
@testable import BoardStore

@Suite("Queue")
struct QueueTests {
    @Test("gives back writes whole, in order, after a restart")
    func roundTrip() throws {
        let folder = try StateFolder()
        let writes = try Sample.writes(1...50) + [Sample.write(90, payload: "")]
        try folder.open().transact([.append(writes)])
        #expect(try folder.open().next(after: 0, limit: 100) == writes)
        #expect(try folder.open().next(after: 50, limit: 100).map(\.sequence) == [90])
        #expect(try folder.open().next(after: 10, limit: 3).map(\.sequence) == [11, 12, 13])
        #expect(try folder.open().next(after: 90, limit: 3).isEmpty)
    }

    @Test("stops a batch once its payloads pass the bound")
    func byteBound() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let big = String(repeating: "x", count: 1000)
        try store.transact([.append(try (1...10).map { try Sample.write($0, payload: big) })])
        #expect(try store.next(after: 0, limit: 10, bytes: 2500).count == 3)
        #expect(try store.next(after: 0, limit: 10, bytes: 1).count == 1)
    }

    @Test("keeps order and number through 10,000 writes")
    func many() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        for start in stride(from: Int64(1), through: 10_000, by: 100) {
            try store.transact([.append(try Sample.writes(start...start + 99))])
        }
        #expect(store.lastSequence == 10_000)
        #expect(store.usage().messages == 10_000)
        #expect(try folder.open().allSequences() == Array(1...10_000))
        #expect(try folder.open().lastSequence == 10_000)
    }

    @Test("counts as the rows do, and never uses a number again, also when it ran empty")
    func counts() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        #expect(store.usage() == QueueUsage(messages: 0, bytes: 0, oldest: nil))
        try store.transact([.append(try Sample.writes(1...20))])
        #expect(store.usage().oldest == Timestamp(milliseconds: 1_700_000_000_001))
        try store.transact([.remove([1, 2, 3, 7, 9, 9, 500])])
        #expect(store.usage().messages == 15)
        #expect(try store.integrityCheck() == [])
        #expect(try folder.open().usage() == store.usage())
        #expect(store.usage().oldest == Timestamp(milliseconds: 1_700_000_000_004))
        try store.transact([.remove(Array(1...20))])
        #expect(store.usage() == QueueUsage(messages: 0, bytes: 0, oldest: nil))
        #expect(try folder.open().lastSequence == 20)
        #expect(throws: StoreError.outOfOrder(sequence: 20, last: 20)) {
            try folder.open().transact([.append([try Sample.write(20)])])
        }
    }

    @Test("stands in no file in clear, nor does the window's digest")
    func nothingInClear() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let digest = WindowEntry.digest(Array("digest-in-clear!".utf8))
        try store.transact([
            .append(try Sample.writes(1...100)),
            .window([WindowEntry(packetID: 1, digest: digest, sequence: 1)]),
        ])
        for text in ["in-clear", "Reading", "thermo", "data/"] {
            #expect(try !folder.contains(text))
        }
    }

    @Test("gives the file's space back after delivery")
    func shrinks() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let payload = String(repeating: "x", count: 10_000)
        for start in stride(from: Int64(1), through: 2000, by: 100) {
            let writes = try (start...start + 99).map { try Sample.write($0, payload: payload) }
            try store.transact([.append(writes)])
        }
        let full = try store.fileBytes()
        #expect(full.total > 20_000_000)
        for start in stride(from: Int64(1), through: 2000, by: 100) {
            try store.transact([.remove(Array(start...start + 99))])
        }
        let empty = try store.fileBytes()
        #expect(empty.total < 6_000_000)
        #expect(empty.used < 200_000)
        #expect(try store.integrityCheck() == [])
    }

    @Test("uses another key for each span of numbers")
    func epochs() throws {
        let folder = try StateFolder()
        let border: Int64 = 1 << 24
        let store = try folder.open()
        let numbers = [border - 2, border - 1, border, border + 1, border * 9]
        try store.transact([.append(try numbers.map { try Sample.write($0) })])
        #expect(try folder.open().allSequences() == numbers)
        #expect(try folder.open().integrityCheck() == [])
    }

    @Test("keeps counters, a bounded number of them")
    func counters() throws {
        let folder = try StateFolder()
        let changes = (0..<300).map { StoreChange.counter("dropped.\($0)", Int64($0)) }
        try folder.open().transact(changes + [.counter("dropped.5", 50)])
        let counters = try folder.open().counters
        #expect(counters.count == QueueLedger.counterLimit)
        #expect(counters["dropped.5"] == 50)
    }
}

@Suite("Redelivery window")
struct RedeliveryWindowTests {
    private func entries(_ range: ClosedRange<Int64>) -> [WindowEntry] {
        range.map {
            WindowEntry(
                packetID: UInt16(truncatingIfNeeded: $0), digest: UInt128($0) << 70, sequence: $0)
        }
    }

    @Test("keeps the newest entries, in order, through restarts", arguments: [1, 7, 20, 2000])
    func newest(batch: Int64) throws {
        let folder = try StateFolder()
        var store = try folder.open()
        for start in stride(from: Int64(1), through: 2000, by: Int64.Stride(batch)) {
            try store.transact([.window(entries(start...min(start + batch - 1, 2000)))])
        }
        store = try folder.open()
        #expect(try store.redeliveryWindow() == entries((2001 - 1024)...2000))
        try store.transact([.clearWindow])
        #expect(try store.redeliveryWindow() == [])
    }

    @Test("keeps a second delivery of the same write")
    func twice() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let first = WindowEntry(packetID: 1, digest: 5, sequence: 10)
        let second = WindowEntry(packetID: 2, digest: 5, sequence: 10)
        try store.transact([.window([first])])
        try store.transact([.window([second])])
        #expect(try store.redeliveryWindow() == [first, second])
    }
}
