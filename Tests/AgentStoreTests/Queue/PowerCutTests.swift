import AgentCore
import AgentStore
import Foundation
import Gate
import LinuxIO
import Testing

@Suite("Power cut")
struct PowerCutTests {
    @Test("in the middle of an append leaves all before it, and of it all or nothing")
    func torn() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(
            try Sample.writes(1...7), window: Sample.packets(1...7), keys: Sample.keys(2...7))
        let before = try folder.copy()
        let path = try #require(folder.segments().first)
        let old = try folder.bytes(path)
        try store.append(
            try Sample.writes(8...12), window: Sample.packets(8...12), keys: Sample.keys(8...12))
        let new = try folder.bytes(path)
        let changed = old.indices.filter { old[$0] != new[$0] }
        let begin = try #require(changed.first), end = try #require(changed.last) + 1
        for place in stride(from: begin, to: end + 20, by: 11) {
            for isBackward in [false, true] {
                let copy = try before.copy()
                let half = isBackward
                    ? Array(old[..<place] + new[place...]) : Array(new[..<place] + old[place...])
                try copy.overwrite(copy.same(path, of: folder), half, at: 0)
                let again = try copy.open()
                let last = again.lastSequence
                #expect([7, 12].contains(last), "\(place) \(isBackward)")
                let there = try again.allSequences()
                #expect(there == Array(1...7) || there == Array(1...last))
                #expect(again.window == Sample.packets(1...Int64(there.count)))
                #expect(again.keys == Sample.keys(2...Int64(there.count)))
                #expect(try again.verify() == [])
                #expect(again.takeDamaged() == [])
                try again.append([try Sample.write(last + 1)])
                // Its numbers are known from behind it, and nobody knows whether they were said.
                #expect(again.usage.losses.causes
                    == (there.count < last ? [.unknown: last - Int64(there.count)] : [:]))
                #expect(try copy.open().allSequences() == there + [last + 1])
            }
        }
    }

    @Test("between any two changes of a board's life keeps what was there")
    func betweenChanges() throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: 8192)
        var last: Int64 = 0
        for round in 0..<30 {
            try store.append(
                try Sample.writes(last + 1...last + 40), keys: Sample.keys(last + 1...last + 40))
            try store.commit([.claim(Sample.claim(1)), .memory(Sample.memory(Int64(round)))])
            last += 40
            try store.remove(Array(last - 39...last - 1))
            if round % 5 == 4 { try store.commit([.claim(nil)]) }
            if round % 7 == 6 { try store.commit([.destroyQueue]) }
            if round % 4 == 3 { try store.bury([DeadLetterRequest(sequence: last, reason: "")]) }
            let files = try folder.copy()
            let copy = try files.open()
            #expect(copy.lastSequence == last)
            #expect(try copy.allSequences() == store.allSequences())
            #expect(copy.usage == store.usage)
            #expect(copy.keys == store.keys)
            #expect(copy.keys.last?.sequence == (round % 7 == 6 ? nil : last))
            #expect(try (copy.load().claim == nil) == (round % 5 == 4))
            #expect(try copy.load().memory == Sample.memory(Int64(round)))
            #expect(try copy.verify() == [])
        }
    }

    @Test("while a segment is made, or written again, leaves nothing of it behind")
    func leftovers() throws {
        let queue = try FramedQueue()
        let folder = queue.folder
        let paths = try folder.segments()
        let outbox = folder.outbox
        // A segment that was not begun, one that was being written again, one of another queue.
        let blank = [UInt8](repeating: 0, count: 8192)
        try PrivateFile.write(outbox + "/00000001-0000000000ff.log", blank)
        try PrivateFile.write(paths[0] + ".new", try Array(folder.bytes(paths[0]).prefix(3000)))
        try PrivateFile.write(outbox + "/00000009-000000000001.log", [1, 2, 3])
        try PrivateFile.write(outbox + "/dead-9.log", [1, 2, 3])
        let store = try folder.open(segmentBytes: FramedQueue.segmentBytes)
        #expect(try store.allSequences() == Array(1...FramedQueue.last))
        try store.begin()
        #expect(try folder.segments() == paths)
        #expect(try folder.files().filter { $0.hasSuffix(".new") || $0.contains("dead") } == [])
        try store.append([try Sample.write(FramedQueue.last + 1)])
        #expect(try folder.open().allSequences() == Array(1...FramedQueue.last + 1))
        #expect(store.usage.losses.total == 0)
    }

    // In an emulator no test starts itself again.
    #if !EMULATED
    @Test("by SIGKILL in the middle of appends loses nothing that was acknowledged")
    func killed() async throws {
        for round in 0..<5 {
            let folder = try StateFolder()
            let path = folder.path
            let pause = 20 + round * 30
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, pause = pause as Int] in
                try Appender.run(in: path, killedAfter: pause)
            }
            let ledger = try String(contentsOfFile: path + "/ledger", encoding: .utf8)
            let acknowledged = ledger.split(separator: "\n").last.flatMap { Int64($0) } ?? 0
            let store = try folder.open(segmentBytes: 8192)
            #expect(store.lastSequence >= acknowledged)
            let left = try store.allSequences()
            #expect(left == Array((left.first ?? 1)...max(1, store.lastSequence)))
            #expect((left.first ?? 1) <= max(1, acknowledged - 100))
            #expect(try store.verify() == [])
            // Each write that is there has its key, also those whose segments are removed.
            #expect(store.keys == Sample.keys(1...max(1, store.lastSequence)).suffix(4096))
        }
    }
    #endif
}

/// The child that is killed: appends for ever, removes what is older than a hundred writes, and
/// writes down each number once it is durable.
enum Appender {
    static func run(in folder: String, killedAfter milliseconds: Int) throws {
        let store = try BoardStore(
            folder: folder, keyFile: KeyFile(folder: folder), segmentBytes: 8192,
            founding: Sample.identity)
        _ = FileManager.default.createFile(atPath: folder + "/ledger", contents: nil)
        let ledger = try FileHandle(forWritingTo: URL(fileURLWithPath: folder + "/ledger"))
        var next: Int64 = 1
        func append() throws {
            try store.append(
                try Sample.writes(next...next + 9), keys: Sample.keys(next...next + 9))
            next += 10
            try ledger.write(contentsOf: Data("\(next - 1)\n".utf8))
            if next > 120 { try store.remove(Array(next - 120..<next - 110)) }
        }
        try append()
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: Double(milliseconds) / 1000)
            kill(getpid(), SIGKILL)
        }
        while true { try append() }
    }
}
