import AgentCore
import AgentStore
import Gate
import LinuxIO
import Testing

@Suite("Dead letter")
struct DeadLetterTests {
    @Test("keeps write and reason, in no file in clear, and is counted")
    func roundTrip() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...20))
        let long = "reason-in-clear " + String(repeating: "ä", count: 200)
        try store.bury([
            DeadLetterRequest(sequence: 5, reason: long),
            DeadLetterRequest(sequence: 9, reason: "packet too large"),
            DeadLetterRequest(sequence: 500, reason: "there is none"),
        ])
        for store in [store, try folder.open()] {
            let letters = try store.deadLetters(limit: 10)
            #expect(letters.map(\.write) == [try Sample.write(5), try Sample.write(9)])
            #expect(letters.last?.reason == "packet too large")
            #expect(long.hasPrefix(letters.first?.reason ?? "?"))
            #expect(try store.deadLetters(limit: 1).map(\.write.sequence) == [9])
            let usage = store.usage
            #expect(usage.dead == 2 && usage.messages == 18)
            #expect(usage.losses.ranges == [5...5, 9...9] && usage.losses.causes == [.dead: 2])
            #expect(try store.allSequences() == (1...20).filter { $0 != 5 && $0 != 9 })
            #expect(try store.verify() == [])
        }
        #expect(try !folder.contains("in-clear"))
        try store.commit([.destroyQueue])
        #expect(try store.deadLetters(limit: 10).isEmpty && store.usage.dead == 0)
        #expect(try folder.open().usage.dead == 0)
    }

    @Test("makes the oldest go beyond a thousand, or eight MiB")
    func bounded() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...1200))
        try store.bury((1...1200).map { DeadLetterRequest(sequence: $0, reason: "") })
        #expect(store.usage.dead == 1000)
        #expect(try store.deadLetters(limit: 1).map(\.write.sequence) == [1200])
        let big = String(repeating: "x", count: 100_000)
        try store.append(try (1201...1300).map { try Sample.write($0, payload: big) })
        try store.bury((1201...1300).map { DeadLetterRequest(sequence: $0, reason: "") })
        for store in [store, try folder.open()] {
            let letters = try store.deadLetters(limit: 2000)
            #expect(letters.count == 83 && letters.last?.write.sequence == 1300)
            #expect(store.usage.losses.total == 1300)
            #expect(try store.verify() == [])
        }
    }

    @Test("takes no more room than its bounds, however many come")
    func room() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let big = String(repeating: "x", count: 60_000)
        for number in Int64(1)...300 {
            try store.append([try Sample.write(number, payload: big)])
            try store.bury([DeadLetterRequest(sequence: number, reason: "too large")])
        }
        let name = try #require(try folder.files().first { $0.contains("dead-") })
        #expect(try folder.bytes(name).count <= 2 * DeadLetter.bytesKept + 262_144)
        #expect(try store.deadLetters(limit: 1).map(\.write.sequence) == [300])
    }

    @Test("that a crash left unbooked is booked at the next start, once")
    func crash() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...5))
        // The letter is written, and the vault not yet.
        let before = try folder.copy()
        try store.bury([DeadLetterRequest(sequence: 3, reason: "too large")])
        let letters = try #require(try folder.files().first { $0.contains("dead-") })
        try PrivateFile.write(before.path + "/" + letters, try folder.bytes(letters))
        for _ in 0..<2 {
            let again = try before.open()
            try again.begin()
            #expect(try again.allSequences() == [1, 2, 4, 5])
            #expect(again.usage.dead == 1)
            #expect(again.usage.losses.causes == [.dead: 1])
        }
    }
}
