import AgentCore
import AgentStore
import Gate
import Sessions
import Testing

@Suite("Expiry")
struct ExpiryTests {
    @Test("leaves what an unset clock dated, wherever it is")
    func unsetClock() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try (1...5).map { try Sample.write($0, at: 10 + $0) })
        try store.append(try (6...10).map { try Sample.write($0, at: 5000 + $0) })
        try store.append(try (11...15).map { try Sample.write($0, at: 20 + $0) })
        try store.append(try (16...20).map { try Sample.write($0, at: 9000 + $0) })
        for _ in 0..<2 {
            try store.expire(1000, 8000)
            #expect(try store.allSequences() == Array(1...5) + Array(11...20))
        }
        #expect(store.usage.losses.causes == [.expired: 5])
        #expect(try store.verify() == [])
    }

    @Test("takes what is older, also behind a step of the clock, and counts it")
    func age() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try (1...10).map { try Sample.write($0, at: 1000 + $0) })
        try store.append(try (11...20).map { try Sample.write($0, at: 5000 + $0) })
        try store.append(try (21...30).map { try Sample.write($0, at: 500 + $0, in: "Log") })
        try store.append(try (31...40).map { try Sample.write($0, at: 6000 + $0) })
        try store.expire(0, 400)
        #expect(store.usage.messages == 40)
        try store.expire(0, 1006)
        #expect(try store.allSequences() == Array(6...20) + Array(31...40))
        try store.expire(0, 5016)
        for store in [store, try folder.open()] {
            #expect(try store.allSequences() == Array(16...20) + Array(31...40))
            let losses = store.usage.losses
            #expect(losses.ranges == [1...15, 21...30])
            #expect(losses.causes == [.expired: 25] && losses.total == 25)
            #expect(losses.drops == ["Reading": 15, "Log": 10])
            #expect(try store.verify() == [])
        }
    }

    @Test("spares what is in flight, and takes it once it is so no more")
    func spared() throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: 16_384)
        // Several segments, and old ones behind a step of the clock.
        for number in Int64(1)...200 {
            try store.append([try Sample.write(number, at: 1000 + number)])
        }
        try store.append(try (201...210).map { try Sample.write($0, at: 9000 + $0) })
        try store.append(try (211...220).map { try Sample.write($0, at: 1000 + $0) })
        try store.append(try (221...230).map { try Sample.write($0, at: 9000 + $0) })
        let flying = Set(1...100 as ClosedRange<Int64>).union([150, 215])
        try store.expire(0, 5000, sparing: flying)
        var left = Array(1...100 as ClosedRange<Int64>)
        left += [150] + Array(201...210)
        left += [215] + Array(221...230)
        #expect(try store.allSequences() == left)
        #expect(store.usage.losses.ranges == [101...149, 151...200, 211...214, 216...220])
        // Those that arrived leave; the others are as old as before.
        try store.remove(Array(1...90))
        try store.expire(0, 5000)
        #expect(try store.allSequences() == Array(201...210) + Array(221...230))
        let losses = store.usage.losses
        #expect(losses.ranges == [91...200, 211...220] && losses.causes == [.expired: 120])
        #expect(try folder.open().allSequences() == Array(201...210) + Array(221...230))
        #expect(try store.verify() == [])
    }
}

@Suite("Drop")
struct DropTests {
    @Test("takes the least important first, then the oldest", arguments: [8192, 65_536])
    func ranks(segmentBytes: Int) throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: segmentBytes)
        let names = ["Alarm", "Reading", "Log", "Trace"]
        for start in stride(from: Int64(1), through: 400, by: 20) {
            try store.append(try (start...start + 19).map {
                try Sample.write($0, in: names[Int($0) % 4])
            })
        }
        let keep = try ["Alarm", "Reading"].map { try #require(ClassName($0)) }
        var left: [String: Int] = ["Alarm": 100, "Reading": 100, "Log": 100, "Trace": 100]
        for _ in 0..<40 where store.usage.messages > 0 {
            let before = store.usage
            try store.makeRoom(2000, keep: keep)
            let after = store.usage
            #expect(before.bytes - after.bytes >= min(2000, before.bytes))
            let drops = after.losses.drops
            for name in names { left[name] = 100 - Int(drops[name] ?? 0) }
            // A more important one goes only when there is none less important.
            #expect(left["Reading"] == 100 || left["Log"] == 0 && left["Trace"] == 0)
            #expect(left["Alarm"] == 100 || left["Reading"] == 0)
            #expect(after.messages == left.values.reduce(0) { $0 + Int64($1) })
            #expect(try store.verify() == [])
            #expect(try folder.open(segmentBytes: segmentBytes).allSequences()
                == store.allSequences())
        }
        #expect(store.usage.messages == 0)
        #expect(store.usage.losses.total == 400)
        #expect(store.usage.losses.ranges.last?.upperBound == 400)
        try store.append([try Sample.write(401)])
        #expect(try folder.open().allSequences() == [401])
    }

    @Test("takes the oldest where nothing is to be kept, and of a rank alone its own")
    func oldest() throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: 8192)
        for number in Int64(1)...300 {
            try store.append([try Sample.write(number, in: number % 2 == 0 ? "Log" : "Alarm")])
        }
        try store.makeRoom(3000, keep: [])
        let left = try store.allSequences()
        let first = try #require(left.first)
        #expect(first > 1 && left == Array(first...300))
        #expect(store.usage.losses.ranges == [1...first - 1])
        let alarm = try #require(ClassName("Alarm"))
        try store.makeRoom(2000, keep: [alarm])
        let rest = try store.allSequences()
        #expect(rest.filter { $0 % 2 == 1 } == left.filter { $0 % 2 == 1 })
        let log = rest.filter { $0 % 2 == 0 }
        #expect(log == left.filter { $0 % 2 == 0 }.suffix(log.count))
        #expect(try folder.open().allSequences() == rest)
        #expect(try store.verify() == [])
    }

    @Test("does not count what was removed before")
    func afterRemoval() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...20))
        try store.remove([1, 2, 3, 7])
        try store.makeRoom(1, keep: [])
        #expect(store.usage.losses.ranges == [4...6, 8...20])
        #expect(store.usage.losses.total == 16)
    }

    @Test("of everything leaves an empty queue that goes on")
    func everything() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...20))
        try store.makeRoom(.max, keep: [])
        #expect(store.usage.messages == 0 && store.usage.bytes == 0)
        try store.append([try Sample.write(21)])
        #expect(try folder.open().allSequences() == [21])
    }
}
