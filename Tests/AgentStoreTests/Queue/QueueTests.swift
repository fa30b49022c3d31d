import AgentCore
import AgentStore
import Gate
import Sessions
import Testing

@Suite("Queue")
struct QueueTests {
    @Test("gives back writes whole, in order, after a restart")
    func roundTrip() throws {
        let folder = try StateFolder()
        let writes = try Sample.writes(1...50) + [Sample.write(90, payload: "")]
        try folder.open().append(writes)
        #expect(try folder.open().next(after: 0, limit: 100) == writes)
        #expect(try folder.open().next(after: 50, limit: 100).map(\.sequence) == [90])
        #expect(try folder.open().next(after: 10, limit: 3).map(\.sequence) == [11, 12, 13])
        #expect(try folder.open().next(after: 90, limit: 3).isEmpty)
    }

    @Test("keeps session and user of each write, however they alternate")
    func sessions() throws {
        let folder = try StateFolder()
        let writes = try (1...40 as ClosedRange<Int64>).map { number in
            try Sample.write(number, session: "sess00000\(number / 3 % 3 + 1)")
        }
        let store = try folder.open()
        try store.append(Array(writes[..<25]))
        try store.append(Array(writes[25...]))
        #expect(try store.next(after: 0, limit: 100) == writes)
        #expect(try folder.open().next(after: 0, limit: 100) == writes)
    }

    @Test("stops a batch once its payloads pass the bound")
    func byteBound() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let big = String(repeating: "x", count: 1000)
        try store.append(try (1...10).map { try Sample.write($0, payload: big) })
        #expect(try store.next(after: 0, limit: 10, bytes: 2500).count == 3)
        #expect(try store.next(after: 0, limit: 10, bytes: 1).count == 1)
    }

    @Test("keeps order and number through 10,000 writes in many segments")
    func many() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        for start in stride(from: Int64(1), through: 10_000, by: 100) {
            try store.append(try Sample.writes(start...start + 99))
        }
        #expect(store.lastSequence == 10_000)
        #expect(store.usage.messages == 10_000)
        #expect(try folder.segments().count > 3)
        #expect(try folder.open().allSequences() == Array(1...10_000))
        #expect(try folder.open().lastSequence == 10_000)
    }

    @Test("counts what it holds, and never uses a number again, also when it ran empty")
    func counts() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        #expect(store.usage == QueueState())
        try store.append(try Sample.writes(1...20))
        #expect(store.usage.oldest == Timestamp(milliseconds: 1_700_000_000_001))
        try store.remove([1, 2, 3, 7, 9, 9, 500])
        #expect(store.usage.messages == 15)
        #expect(try store.verify() == [])
        #expect(try folder.open().usage == store.usage)
        try store.remove(Array(1...20))
        #expect(store.usage == QueueState())
        #expect(try folder.open().lastSequence == 20)
        #expect(throws: StoreError.outOfOrder(sequence: 20, last: 20)) {
            try folder.open().append([try Sample.write(20)])
        }
    }

    @Test("takes nothing of an append whose numbers do not rise")
    func outOfOrder() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append([try Sample.write(5)])
        let usage = store.usage
        #expect(throws: StoreError.outOfOrder(sequence: 5, last: 6)) {
            try store.append([try Sample.write(6), try Sample.write(5)])
        }
        for store in [store, try folder.open()] {
            #expect(store.usage == usage)
            #expect(store.lastSequence == 5)
        }
        try store.append([try Sample.write(6)])
        #expect(try folder.open().allSequences() == [5, 6])
    }

    @Test("is in no file in clear, nor is the window's digest")
    func nothingInClear() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let digest = Array("digest-in-clear!".utf8).reduce(0) { $0 << 8 | UInt128($1) }
        try store.append(
            try Sample.writes(1...1000),
            window: [DeliveredPacket(packetID: 1, digest: digest, sequence: 1)])
        try store.bury([DeadLetterRequest(sequence: 3, reason: "reason-in-clear")])
        try store.makeRoom(100, keep: [])
        try store.remove([500])
        for text in ["in-clear", "Reading", "thermo", "data/", "sess0", "user0"] {
            #expect(try !folder.contains(text))
        }
    }

    @Test("gives the disk's space back after delivery, but for one spare file")
    func shrinks() throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: 1 << 20)
        let payload = String(repeating: "x", count: 10_000)
        for start in stride(from: Int64(1), through: 1000, by: 100) {
            let range = start...start + 99
            try store.append(try range.map { try Sample.write($0, payload: payload) })
        }
        #expect(store.fileBytes > 10_000_000)
        for start in stride(from: Int64(1), through: 1000, by: 100) {
            try store.remove(Array(start...start + 99))
        }
        #expect(store.fileBytes <= 2 << 20)
        #expect(store.usage.bytes == 0)
        #expect(try store.verify() == [])
    }

    @Test("tells whose writes it holds")
    func users() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...3))
        #expect(try folder.open().load().queueUsers == ["user000001"])
        try store.remove([1, 2, 3])
        #expect(try folder.open().load().queueUsers == [])
    }
}

@Suite("Redelivery window")
struct RedeliveryWindowTests {
    @Test("keeps the newest packets, in order, through restarts", arguments: [5, 20, 2000])
    func newest(batch: Int64) throws {
        let folder = try StateFolder()
        var store = try folder.open()
        for start in stride(from: Int64(1), through: 2000, by: Int64.Stride(batch)) {
            let range = start...min(start + batch - 1, 2000)
            try store.append(try Sample.writes(range), window: Sample.packets(range))
            try store.remove(Array(range))
            if start % 100 == 1 { store = try folder.open() }
        }
        #expect(try folder.open().window == Sample.packets((2001 - 1024)...2000))
        try store.commit([.clearWindow])
        for store in [store, try folder.open()] { #expect(store.window == []) }
        try store.append([try Sample.write(2001)], window: Sample.packets(2001...2001))
        #expect(try folder.open().window == Sample.packets(2001...2001))
    }

    @Test("keeps a second delivery of the same write")
    func twice() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let first = DeliveredPacket(packetID: 1, digest: 5, sequence: 10)
        let second = DeliveredPacket(packetID: 2, digest: 5, sequence: 10)
        try store.append([try Sample.write(10)], window: [first, second])
        for store in [store, try folder.open()] { #expect(store.window == [first, second]) }
    }

    @Test("outlives that the newest segment is written again, or gives its file back")
    func rewritten() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(
            try (1...20).map { try Sample.write($0, in: $0 % 2 == 0 ? "Log" : "Reading") },
            window: Sample.packets(1...20))
        try store.makeRoom(50, keep: [try #require(ClassName("Reading"))])
        #expect(store.usage.losses.total > 0)
        #expect(try folder.open().window == Sample.packets(1...20))
        try store.remove(Array(1...20))
        #expect(try folder.open().window == Sample.packets(1...20))
    }

    @Test("outlives the destruction of the queue")
    func destruction() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...9), window: Sample.packets(1...9))
        try store.commit([.destroyQueue])
        for store in [store, try folder.open()] { #expect(store.window == Sample.packets(1...9)) }
    }
}
