import AgentCore
import AgentStore
import Foundation
import Gate
import LinuxIO
import Sessions
import Synchronization
import Testing

@Suite("Queue check")
struct QueueCheckTests {
    private func check(_ folder: StateFolder) throws -> QueueCheck {
        var check = try QueueCheck(folder: folder.path, keyFile: KeyFile(folder: folder.path))
        try check.run()
        return check
    }

    @Test("reads every frame of a whole queue, and changes nothing")
    func whole() throws {
        let folder = try FramedQueue().folder
        let before = try folder.files().map { [$0: try folder.bytes($0)] }
        let found = try check(folder)
        #expect(found.findings == [] && found.writes == FramedQueue.last && found.frames == 80)
        #expect(try folder.files().map { [$0: try folder.bytes($0)] } == before)
    }

    @Test("names a dead letter that does not open")
    func letter() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...9))
        try store.bury([2, 4, 6].map { DeadLetterRequest(sequence: $0, reason: "r") })
        let letters = folder.path + "/"
            + (try #require(try folder.files().first { $0.contains("dead-") }))
        try folder.flip(letters, 60, bit: 2)
        #expect(try check(folder).findings == ["dead letter 2"])
        #expect(try store.deadLetters(limit: 9).map(\.write.sequence) == [4, 6])
        #expect(store.takeDamaged() == ["dead letter 2"])
    }

    @Test("finds nothing while the queue is written, drained, dropped and expired")
    func whileWritten() throws {
        let folder = try StateFolder()
        let path = folder.path
        _ = try folder.open(segmentBytes: 8192)
        let isOver = Mutex(false)
        let checks = Mutex((count: 0, findings: [String]()))
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while !isOver.withLock({ $0 }) {
                let found: [String]
                do {
                    var check = try QueueCheck(folder: path, keyFile: KeyFile(folder: path))
                    try check.run()
                    found = check.findings
                } catch {
                    found = ["\(error)"]
                }
                checks.withLock { all in
                    all.count += 1
                    all.findings += found
                }
            }
            ended.signal()
        }
        let store = try folder.open(segmentBytes: 8192)
        var random = SplitMix(5)
        let keep = try [#require(ClassName("Reading"))]
        var round = 0
        while round < 150 || checks.withLock({ $0.count }) < 20 {
            let last = store.lastSequence
            try store.append(try (last + 1...last + 20).map {
                try Sample.write($0, in: $0 % 3 == 0 ? "Log" : "Reading")
            })
            switch random.next() % 4 {
            case 0: try store.makeRoom(600, keep: keep)
            case 1: try store.expire(0, 1_700_000_000_000 + last / 2)
            default: try store.remove(try store.next(after: 0, limit: 40).map(\.sequence))
            }
            round += 1
        }
        isOver.withLock { $0 = true }
        ended.wait()
        #expect(checks.withLock { $0.findings } == [])
    }
}

@Suite("Queue export")
struct QueueExportTests {
    @Test("gives what is readable of a segment that was set aside")
    func export() throws {
        let folder = try FramedQueue().folder
        let path = try #require(folder.segments().dropFirst(1).first)
        let frames = try folder.frames(of: path)
        try folder.flip(path, frames[3].place.upperBound - 10, bit: 1)
        let store = try folder.open(segmentBytes: FramedQueue.segmentBytes)
        try store.begin()
        _ = try store.allSequences()
        // It is kept whatever becomes of the queue's own file.
        try store.remove(Array(1...FramedQueue.last))
        let export = try QueueExport(folder: folder.path, keyFile: KeyFile(folder: folder.path))
        let name = try #require(export.segments.first)
        #expect(export.segments.count == 1 && path.hasSuffix(name + ".log"))
        var writes: [AcceptedWrite] = []
        #expect(try export.run(name) { writes.append($0) })
        let last = try #require(frames.last).first + 4
        let gap = frames[3].first...frames[3].first + 4
        let expected = (frames[1].first...last).filter { !gap.contains($0) }
        #expect(writes.map(\.sequence) == expected)
        #expect(writes.first == (try Sample.write(frames[1].first)))
        #expect(try export.run("00000001-000000000063") { _ in } == false)
        #expect(try export.run("../vault") { _ in } == false)
    }

    @Test("keeps the copy of a segment that has nothing more to deliver")
    func freed() throws {
        let folder = try FramedQueue().folder
        let store = try folder.open(segmentBytes: FramedQueue.segmentBytes)
        let path = try #require(folder.segments().first)
        let frame = try #require(folder.frames(of: path).dropFirst(3).first)
        let damaged = frame.first...frame.first + 4
        let last = try #require(folder.frames(of: path).last).first + 4
        try store.remove((1...last).filter { !damaged.contains($0) })
        try folder.flip(path, frame.place.upperBound - 10, bit: 1)
        #expect(try store.allSequences() == Array(last + 1...FramedQueue.last))
        #expect(store.usage.losses.ranges == [damaged])
        try store.remove(Array(last + 1...FramedQueue.last))
        // The files of segments are used again.
        for number in FramedQueue.last + 1...FramedQueue.last + 300 {
            try store.append([try Sample.write(number)])
            try store.remove([number])
        }
        let export = try QueueExport(folder: folder.path, keyFile: KeyFile(folder: folder.path))
        var found: [Int64] = []
        #expect(try export.run(#require(export.segments.first)) { found.append($0.sequence) })
        #expect(found.prefix(10) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    }

    @Test("has four segments at most, the newest")
    func bounded() throws {
        let folder = try FramedQueue().folder
        let paths = try folder.segments()
        #expect(paths.count >= 3)
        var store = try folder.open(segmentBytes: FramedQueue.segmentBytes)
        for round in 0..<7 {
            let last = store.lastSequence
            for first in stride(from: last + 1, through: last + 200, by: 5) {
                try store.append(try Sample.writes(first...first + 4))
            }
            let path = try #require(folder.segments().dropLast().last)
            let frame = try #require(folder.frames(of: path).dropFirst(2).first)
            try folder.flip(path, frame.place.upperBound - 10, bit: 1)
            store = try folder.open(segmentBytes: FramedQueue.segmentBytes)
            try store.begin()
            _ = try store.allSequences()
            let export = try QueueExport(
                folder: folder.path, keyFile: KeyFile(folder: folder.path))
            #expect(export.segments.count == min(round + 1, 4))
            #expect(path.contains(try #require(export.segments.last)))
        }
    }
}
