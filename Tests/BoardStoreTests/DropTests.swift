import Gate
import Sessions
import Testing
@testable import BoardStore

@Suite("Drop")
struct DropTests {
    private let zero = Timestamp(milliseconds: 0)

    @Test("by age leaves what an unset clock dated, wherever it stands")
    func unsetClock() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([
            .append(try (1...5).map { try Sample.write($0, at: 10 + $0) }),
            .append(try (6...10).map { try Sample.write($0, at: 5000 + $0) }),
            .append(try (11...15).map { try Sample.write($0, at: 20 + $0) }),
            .append(try (16...20).map { try Sample.write($0, at: 9000 + $0) }),
        ])
        for _ in 0..<2 {
            try store.transact([
                .expire(
                    from: Timestamp(milliseconds: 1000), before: Timestamp(milliseconds: 8000))
            ])
            #expect(try store.allSequences() == Array(1...5) + Array(11...20))
        }
        #expect(store.usage().losses.causes == [.expired: 5])
        #expect(try store.integrityCheck() == [])
    }

    @Test("by age takes what is older, also behind a step of the clock, and counts it")
    func age() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([
            .append(try (1...10).map { try Sample.write($0, at: 1000 + $0) }),
            .append(try (11...20).map { try Sample.write($0, at: 5000 + $0) }),
            .append(try (21...30).map { try Sample.write($0, at: 500 + $0, in: "Log") }),
            .append(try (31...40).map { try Sample.write($0, at: 6000 + $0) }),
        ])
        try store.transact([.expire(from: zero, before: Timestamp(milliseconds: 400))])
        #expect(store.usage().messages == 40)
        try store.transact([.expire(from: zero, before: Timestamp(milliseconds: 1006))])
        #expect(try store.allSequences() == Array(6...20) + Array(31...40))
        try store.transact([.expire(from: zero, before: Timestamp(milliseconds: 5016))])
        for store in [store, try folder.open()] {
            #expect(try store.allSequences() == Array(16...20) + Array(31...40))
            let losses = store.usage().losses
            #expect(losses.ranges == [1...15, 21...30])
            #expect(losses.causes == [.expired: 25] && losses.total == 25)
            #expect(losses.drops == ["Reading": 15, "Log": 10])
            #expect(try store.integrityCheck() == [])
        }
    }

    @Test("by age spares what is in flight, and takes it when it is so no more")
    func spared() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        // More rows than are looked at in one go, and an old one behind a step of the clock.
        try store.transact(try (1...200).map { .append([try Sample.write($0, at: 1000 + $0)]) })
        try store.transact([
            .append(try (201...210).map { try Sample.write($0, at: 9000 + $0) }),
            .append(try (211...220).map { try Sample.write($0, at: 1000 + $0) }),
            .append(try (221...230).map { try Sample.write($0, at: 9000 + $0) }),
        ])
        let end = Timestamp(milliseconds: 5000)
        let flying = Set(1...100 as ClosedRange<Int64>).union([150, 215])
        try store.transact([.expire(from: zero, before: end, sparing: flying)])
        var left = Array(1...100 as ClosedRange<Int64>)
        left += [150] + Array(201...210)
        left += [215] + Array(221...230)
        #expect(try store.allSequences() == left)
        #expect(store.usage().losses.ranges == [101...149, 151...200, 211...214, 216...220])
        // Those that arrived leave; the others are as old as before.
        try store.transact([.remove(Array(1...90))])
        try store.transact([.expire(from: zero, before: end)])
        #expect(try store.allSequences() == Array(201...210) + Array(221...230))
        let losses = store.usage().losses
        #expect(losses.ranges == [91...200, 211...220] && losses.causes == [.expired: 120])
        #expect(try store.integrityCheck() == [])
    }

    @Test("for room takes the least important first, then the oldest")
    func ranks() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let names = ["Alarm", "Reading", "Log", "Trace"]
        for start in stride(from: Int64(1), through: 400, by: 20) {
            try store.transact([
                .append(try (start...start + 19).map {
                    try Sample.write($0, in: names[Int($0) % 4])
                })
            ])
        }
        let keep = try ["Alarm", "Reading"].map { try #require(ClassName($0)) }
        var left: [String: Int] = ["Alarm": 100, "Reading": 100, "Log": 100, "Trace": 100]
        for _ in 0..<40 where store.usage().messages > 0 {
            let before = store.usage()
            try store.transact([.makeRoom(bytes: 2000, keep: keep)])
            let after = store.usage()
            #expect(before.bytes - after.bytes >= min(2000, before.bytes))
            let drops = after.losses.drops
            for name in names { left[name] = 100 - Int(drops[name] ?? 0) }
            // A more important one goes only when there is none less important.
            #expect(left["Reading"] == 100 || left["Log"] == 0 && left["Trace"] == 0)
            #expect(left["Alarm"] == 100 || left["Reading"] == 0)
            #expect(after.messages == left.values.reduce(0) { $0 + Int64($1) })
            #expect(try store.integrityCheck() == [])
        }
        #expect(store.usage().messages == 0)
        #expect(store.usage().losses.total == 400)
        #expect(store.usage().losses.ranges.last?.upperBound == 400)
    }

    @Test("is undone with its transaction")
    func undone() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([.append(try Sample.writes(1...20))])
        let usage = store.usage()
        #expect(throws: StoreError.self) {
            try store.transact([
                .makeRoom(bytes: .max, keep: []), .append([try Sample.write(5)]),
            ])
        }
        #expect(store.usage() == usage)
        #expect(try store.allSequences() == Array(1...20))
        try store.transact([.makeRoom(bytes: 1, keep: [])])
        #expect(store.usage().messages == 0)
    }

    @Test("leaves what was already removed out of its count")
    func afterRemoval() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([.append(try Sample.writes(1...20)), .remove([1, 2, 3, 7])])
        try store.transact([.makeRoom(bytes: 1, keep: [])])
        #expect(store.usage().losses.ranges == [4...6, 8...20])
        #expect(store.usage().losses.total == 16)
    }
}

@Suite("Removal")
struct RemovalTests {
    @Test("in any order leaves the others, through restarts", arguments: 1...12)
    func anyOrder(seed: Int) throws {
        let folder = try StateFolder()
        var store = try folder.open()
        var random = SplitMix(UInt64(seed))
        var held: [Int64] = []
        var last: Int64 = 0
        for _ in 0..<60 {
            let count = Int64(random.next() % 40) + 1
            let gap = Int64(random.next() % 3)
            let writes = try (last + 1 + gap...last + gap + count).map { try Sample.write($0) }
            try store.transact([.append(writes)])
            last += gap + count
            held += writes.map(\.sequence)
            let gone = held.filter { _ in random.next() % 3 == 0 }.shuffled(using: &random)
            if random.next() % 5 == 0 {
                try store.transact([.bury(gone.map { Burial(sequence: $0, reason: "r") })])
            } else {
                try store.transact([.remove(gone)])
            }
            held.removeAll { Set(gone).contains($0) }
            if random.next() % 4 == 0 { store = try folder.open() }
            #expect(try store.allSequences() == held)
            #expect(store.usage().messages == Int64(held.count))
            let after = held.randomElement(using: &random) ?? 0
            let expected = held.filter { $0 > after }.prefix(7)
            #expect(try store.next(after: after, limit: 7).map(\.sequence) == Array(expected))
        }
        #expect(try store.integrityCheck() == [])
        try store.transact([.remove(held)])
        #expect(store.usage().messages == 0 && store.usage().bytes == 0)
    }
}

@Suite("Dead letter")
struct DeadLetterTests {
    @Test("keeps write and reason, in no file in clear, and is counted")
    func roundTrip() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([.append(try Sample.writes(1...20))])
        let long = "reason-in-clear " + String(repeating: "ä", count: 200)
        try store.transact([.bury([
            Burial(sequence: 5, reason: long), Burial(sequence: 9, reason: "packet too large"),
            Burial(sequence: 500, reason: "there is none"),
        ])])
        for store in [store, try folder.open()] {
            let letters = try store.deadLetters(limit: 10)
            #expect(letters.map(\.write) == [try Sample.write(5), try Sample.write(9)])
            #expect(letters.last?.reason == "packet too large")
            #expect(long.hasPrefix(letters.first?.reason ?? "?"))
            #expect(try store.deadLetters(limit: 1).map(\.write.sequence) == [9])
            let usage = store.usage()
            #expect(usage.dead == 2 && usage.messages == 18)
            #expect(usage.losses.ranges == [5...5, 9...9] && usage.losses.causes == [.dead: 2])
            #expect(try store.allSequences() == (1...20).filter { $0 != 5 && $0 != 9 })
            #expect(try store.integrityCheck() == [])
        }
        #expect(try !folder.contains("in-clear"))
        try store.transact([.destroyQueue])
        #expect(try store.deadLetters(limit: 10).isEmpty && store.usage().dead == 0)
    }

    @Test("makes the oldest go beyond a thousand, or eight MiB")
    func bounded() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([
            .append(try Sample.writes(1...1200)),
            .bury((1...1200).map { Burial(sequence: $0, reason: "") }),
        ])
        #expect(store.usage().dead == 1000)
        #expect(try store.deadLetters(limit: 1).map(\.write.sequence) == [1200])
        let big = String(repeating: "x", count: 100_000)
        try store.transact([
            .append(try (1201...1300).map { try Sample.write($0, payload: big) }),
            .bury((1201...1300).map { Burial(sequence: $0, reason: "") }),
        ])
        let letters = try store.deadLetters(limit: 2000)
        #expect(letters.count == 83 && letters.last?.write.sequence == 1300)
        #expect(store.usage().losses.total == 1300)
        #expect(try store.integrityCheck() == [])
    }
}

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
        try folder.open().transact([.lose(5...9, .unknown), .lose(10...10, .unknown)])
        let losses = try folder.open().usage().losses
        #expect(losses.ranges == [5...10] && losses.causes == [.unknown: 6])
    }
}
