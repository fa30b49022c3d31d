import AgentCore
@testable import AgentStore
import Foundation
import Gate
import Sessions
import Testing

@Suite("Size")
struct SizeTests {
    @Test("that is told is near what the files take", arguments: [
        (64, 7), (64, 256), (256, 1), (256, 20), (1024, 3), (4096, 1), (20_000, 1), (65_536, 16),
    ])
    func near(payload: Int, batch: Int) throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: 1 << 20)
        let base = try Sample.write(0, payload: String(repeating: "x", count: payload))
        let goal: Int64 = payload > 4096 ? 24 << 20 : 3 << 20
        var next: Int64 = 1
        while store.usage.bytes < goal {
            let last = next + Int64(batch) - 1
            try store.append((next...last).map { base.numbered($0) })
            next = last + 1
        }
        // One segment is not full, and each ends where the next frame does not fit.
        let taken = Double(store.fileBytes - store.queue.segments[store.queue.segments.count - 1]
            .capacity.asInt64) + Double(store.queue.segments.last?.liveBytes ?? 0)
        let told = Double(store.usage.bytes)
        #expect(abs(told / taken - 1) < (payload > 4096 ? 0.12 : 0.05), "\(told), \(taken)")
        // Half of it leaves.
        try store.remove(Array(1...next / 2))
        #expect(abs(Double(store.usage.bytes) / (told / 2) - 1) < 0.08)
        try store.remove(Array(1...next))
        #expect(store.usage.bytes == 0)
    }

    @Test("of a burst on the disk is at most 1.3 times its payloads and 64 bytes a message",
        arguments: [(64, 100), (256, 100), (1024, 50), (16_384, 20)])
    func burst(payload: Int, batch: Int64) throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: 1 << 20)
        let base = try Sample.write(0, payload: String(repeating: "x", count: payload))
        var last: Int64 = 0
        func append() throws {
            let range = last + 1...last + batch
            try store.append(range.map { base.numbered($0) }, window: Sample.packets(range))
            last += batch
        }
        // The first two files are written as they are made.
        while store.queue.segments.count < 3 { try append() }
        let before = store.written.today
        for _ in 0..<40 { try append() }
        let each = Double(store.written.today - before) / Double(40 * batch)
        // Each batch begins on the page where the one before it ended.
        #expect(each < 1.3 * Double(payload) + 64 + 4096 / Double(batch), "\(each)")
    }

    @Test("of what is written for one message at a time is at most 4,608 bytes")
    func single() throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: 512 << 10)
        let base = try Sample.write(0, payload: String(repeating: "x", count: 256))
        func pass(_ range: ClosedRange<Int64>) throws {
            for number in range {
                try store.append(
                    [base.numbered(number)], window: Sample.packets(number...number))
                try store.remove([number])
            }
        }
        // From now on a file that was used before serves again.
        var last: Int64 = 0
        while store.queue.segments.count < 3 {
            try store.append((last + 1...last + 50).map { base.numbered($0) })
            last += 50
        }
        try store.remove(Array(1...last))
        let before = store.written
        try pass(last + 1...last + 1300)
        let after = store.written
        // The day may have changed meanwhile.
        let bytes = (after.today + (after.today < before.today ? after.yesterday ?? 0 : 0))
            - before.today
        #expect(bytes > 0 && bytes / 1300 <= 4608, "\(bytes / 1300)")
        #expect(store.fileBytes <= 3 * 512 << 10)
    }

    @Test("of segments may change with a backlog, which loses nothing")
    func configuration() throws {
        let folder = try StateFolder()
        var (last, gone) = (Int64(0), Int64(0))
        for (round, size) in [65_536, 8192, 1 << 20, 4096, 16_384, 65_536, 8192].enumerated() {
            let store = try folder.open(segmentBytes: size)
            let big = String(repeating: "y", count: 3000 + round * 4000)
            for _ in 0..<4 {
                let range = last + 1...last + 9
                try store.append(try range.map { try Sample.write($0, payload: big) })
                try store.append([try Sample.write(last + 10)])
                last += 10
            }
            try store.remove(Array(gone + 1...gone + 15))
            gone += 15
            #expect(try store.allSequences() == Array(gone + 1...last))
            #expect(try store.verify() == [])
        }
        let store = try folder.open(segmentBytes: 8192)
        try store.remove(Array(gone + 1...last))
        #expect(store.usage.messages == 0)
        // A spare file of another size is of no use.
        for number in last + 1...last + 400 { try store.append([try Sample.write(number)]) }
        #expect(try folder.open().allSequences() == Array(last + 1...last + 400))
    }

    @Test("of a million writes is opened by reading little of each segment")
    func opening() throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: 1 << 20)
        let base = try Sample.write(0, payload: "1234567890")
        for first in stride(from: Int64(1), through: 200_000, by: 2000) {
            try store.append((first..<first + 2000).map { base.numbered($0) })
        }
        let again = try folder.open(segmentBytes: 1 << 20)
        #expect(again.usage.messages == 200_000)
        #expect(again.queue.segments == store.queue.segments)
    }
}

extension Int {
    fileprivate var asInt64: Int64 { Int64(self) }
}
