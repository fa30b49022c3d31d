import AgentCore
@testable import AgentStore
import Foundation
import Gate
import LinuxIO
import Testing

@Suite("Damage")
struct DamageTests {
    private let all = Array(1...FramedQueue.last)

    /// Whether all but at most the frame of these is read, and the rest was announced.
    private func expectLoss(
        _ store: BoardStore, _ allowed: [Int64], _ note: String
    ) throws {
        let left = try store.allSequences()
        let missing = all.filter { !Set(left).contains($0) }
        #expect(missing.isEmpty || missing == allowed, "\(note): \(missing)")
        var usage = QueueLosses()
        if let first = missing.first, let last = missing.last { usage.lose(first...last, .damaged) }
        #expect(store.usage.losses == usage, "\(note)")
        #expect(store.usage.messages == Int64(left.count), "\(note)")
        #expect(store.takeDamaged().isEmpty == missing.isEmpty, "\(note)")
        #expect(store.lastSequence >= FramedQueue.last, "\(note)")
    }

    @Test("that is not booked yet is not among what has left")
    func unbooked() throws {
        let queue = try FramedQueue()
        let path = try #require(try queue.folder.segments().last)
        let frames = try queue.folder.frames(of: path)
        let hit = try #require(frames.dropFirst(frames.count / 2).first)
        try queue.folder.flip(path, hit.place.lowerBound + 50, bit: 0)
        let store = try queue.folder.open(segmentBytes: FramedQueue.segmentBytes)
        let lost = SequenceSet(hit.first...hit.first + 4)
        #expect(store.queue.damage.map(\.lost) == [lost])
        let marks = store.queue.marks
        #expect(!marks.holes.overlaps(hit.first...hit.first + 4))
        #expect(marks.watermark < hit.first)
        try store.begin()
        #expect(store.queue.damage.isEmpty)
        #expect(store.queue.marks.holes.overlaps(hit.first...hit.first + 4))
    }

    @Test("of any byte costs its frame at most, found at the start or while it is read",
        arguments: [false, true], [0, 1, 2])
    func anyByte(isOpen: Bool, segment: Int) throws {
        let queue = try FramedQueue()
        let origin = try #require(queue.folder.segments().dropFirst(segment).first)
        let size = try queue.folder.bytes(origin).count
        let frames = try queue.folder.frames(of: origin)
        for index in stride(from: segment, to: size, by: 307) {
            let copy = try queue.folder.copy()
            let path = copy.same(origin, of: queue.folder)
            let hit = frames.first { $0.place.contains(index) }?.first ?? 0
            let allowed = hit == 0 ? [] : Array(hit...hit + 4)
            var store: BoardStore?
            if isOpen {
                store = try copy.open(segmentBytes: FramedQueue.segmentBytes)
                try store?.begin()
            }
            try copy.flip(path, index, bit: index % 8)
            let opened = try store ?? copy.open(segmentBytes: FramedQueue.segmentBytes)
            let found = try opened.verify()
            try opened.begin()
            try expectLoss(opened, allowed, "byte \(index)")
            if opened.usage.losses.total > 0 {
                let name = origin.suffix(25).prefix(21)
                let finding = "segment \(name): sequences \(hit) to \(hit + 4)"
                #expect(found == [finding], "byte \(index)")
                #expect(try copy.files().contains { $0.hasPrefix("outbox/damaged-") })
            }
            // It is booked once, and the queue goes on.
            let again = try copy.open()
            try again.append([try Sample.write(again.lastSequence + 1)])
            #expect(again.usage.losses == opened.usage.losses, "byte \(index)")
        }
    }

    @Test("of any byte of a header leads past no other frame", arguments: [false, true])
    func header(isOpen: Bool) throws {
        let queue = try FramedQueue()
        let origin = try #require(queue.folder.segments().dropFirst(1).first)
        let frame = try #require(queue.folder.frames(of: origin).dropFirst(3).first)
        for index in 0..<FrameHeader.byteCount {
            let copy = try queue.folder.copy()
            let path = copy.same(origin, of: queue.folder)
            let store = try copy.open(segmentBytes: FramedQueue.segmentBytes)
            if isOpen { try store.begin() }
            try copy.flip(path, frame.place.lowerBound + index, bit: index * 3 % 8)
            let other = isOpen ? store : try copy.open(segmentBytes: FramedQueue.segmentBytes)
            // What was before it has left, so its header is what is asked.
            try other.remove(Array(1..<frame.first))
            let left = try other.allSequences()
            #expect(left == Array(frame.first + 5...FramedQueue.last), "\(index)")
            #expect(other.usage.losses.ranges == [frame.first...frame.first + 4])
            try other.remove(left)
            #expect(other.usage.messages == 0 && other.usage.bytes == 0)
        }
    }

    @Test("of several frames side by side is one gap, and what is behind it is read")
    func middle() throws {
        let queue = try FramedQueue()
        let folder = queue.folder
        let path = try #require(folder.segments().first)
        let frames = try folder.frames(of: path).dropFirst(3).prefix(3)
        let first = try #require(frames.first), last = try #require(frames.last)
        let junk = [UInt8](repeating: 0xA5, count: last.place.upperBound - first.place.lowerBound)
        try folder.overwrite(path, junk, at: first.place.lowerBound)
        let gap = first.first...last.first + 4
        let store = try folder.open(segmentBytes: FramedQueue.segmentBytes)
        try store.begin()
        #expect(try store.allSequences() == all.filter { !gap.contains($0) })
        #expect(store.usage.losses.ranges == [gap])
        #expect(store.takeDamaged() == ["queue \(gap.lowerBound) to \(gap.upperBound)"])
        #expect(try folder.open().takeDamaged().isEmpty)
    }

    @Test("of what is in flight of another segment books nothing of it")
    func inFlight() throws {
        let queue = try FramedQueue()
        let folder = queue.folder
        let store = try folder.open(segmentBytes: FramedQueue.segmentBytes)
        try store.begin()
        let path = try #require(folder.segments().dropFirst(1).first)
        let frame = try #require(folder.frames(of: path).dropFirst(1).first)
        try folder.flip(path, frame.place.upperBound - 9, bit: 1)
        // All before it was read, and none of it has arrived.
        let part = try store.next(after: 0, limit: Int(frame.first) - 1)
        #expect(part.last?.sequence == frame.first - 1)
        #expect(try store.next(after: frame.first - 1, limit: 1).first?.sequence == frame.first + 5)
        #expect(store.usage.losses.ranges == [frame.first...frame.first + 4])
        #expect(store.usage.messages == FramedQueue.last - 5)
    }

    @Test("that cut a segment, emptied it or took it away is announced", arguments: [
        "cut", "zeros", "empty",
    ])
    func cut(kind: String) throws {
        let queue = try FramedQueue()
        let folder = queue.folder
        let paths = try folder.segments()
        let frames = try folder.frames(of: paths[1])
        let next = try #require(folder.frames(of: paths[2]).dropFirst().first?.first)
        let size = switch kind {
        case "cut": frames[5].place.lowerBound + 20
        default: 0
        }
        let bytes = Array(try folder.bytes(paths[1]).prefix(size))
            + [UInt8](repeating: 0, count: kind == "zeros" ? 8192 : 0)
        try PrivateFile.write(paths[1], bytes)
        let gap = (kind == "cut" ? frames[5].first : frames[1].first)...next - 1
        #expect(try folder.open().verify() != [])
        for _ in 0..<2 {
            let store = try folder.open(segmentBytes: FramedQueue.segmentBytes)
            try store.begin()
            #expect(try store.allSequences() == all.filter { !gap.contains($0) })
            #expect(store.usage.losses.ranges == [gap])
            #expect(store.usage.losses.causes == [.damaged: Int64(gap.count)])
        }
        #expect(try folder.open().verify().allSatisfy { $0.contains("set aside") })
    }

    @Test("of the last frame is announced where its number is known, and never given again")
    func end() throws {
        let queue = try FramedQueue()
        let folder = queue.folder
        let path = try #require(folder.segments().last)
        let frame = try #require(folder.frames(of: path).last)
        try folder.flip(path, frame.place.upperBound - 9, bit: 3)
        let store = try folder.open(segmentBytes: FramedQueue.segmentBytes)
        try store.begin()
        #expect(store.lastSequence == FramedQueue.last)
        #expect(store.usage.losses.ranges == [frame.first...FramedQueue.last])
        try store.append([try Sample.write(FramedQueue.last + 1)])
        let left = Array(1..<frame.first) + [FramedQueue.last + 1]
        #expect(try folder.open().allSequences() == left)
        #expect(try folder.open().usage.losses == store.usage.losses)
    }

    @Test("of any byte of the last frame gives no number again, where nothing else knows it",
        arguments: [false, true])
    func unknownEnd(isReused: Bool) throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: FramedQueue.segmentBytes)
        // A file that was a segment before has old frames, and old marks, behind its end.
        let count: Int64 = isReused ? 300 : 3
        for sequence in 1...count {
            try store.append([try Sample.write(sequence)])
            try store.remove([sequence])
        }
        let (first, last) = (count + 1, count + 4)
        try store.append(try Sample.writes(first...last))
        let path = try #require(folder.segments().last)
        let frame = try #require(folder.frames(of: path).last)
        #expect(frame.first == first)
        try PrivateFile.remove(folder.outbox + "/head")
        for index in frame.place.lowerBound..<frame.place.upperBound + EndMark.byteCount {
            let copy = try folder.copy()
            try copy.flip(copy.same(path, of: folder), index, bit: index % 8)
            for _ in 0..<2 {
                let again = try copy.open(segmentBytes: FramedQueue.segmentBytes)
                #expect(again.lastSequence == last, "byte \(index)")
                try again.begin()
                let there = try again.allSequences().filter { $0 >= first }
                let isThere = there == Array(first...last)
                #expect(isThere || there.isEmpty && again.usage.losses.ranges == [first...last])
                #expect(again.takeDamaged() == [] && again.queue.damage.isEmpty)
            }
            let again = try copy.open(segmentBytes: FramedQueue.segmentBytes)
            try again.append([try Sample.write(last + 1)])
            #expect(try copy.open().allSequences().last == last + 1)
        }
    }

    @Test("of all segments loses no number")
    func allGone() throws {
        let queue = try FramedQueue()
        try FileManager.default.removeItem(atPath: queue.folder.outbox)
        let store = try queue.folder.open()
        #expect(store.lastSequence >= FramedQueue.last && store.usage.messages == 0)
        #expect(!store.takeDamaged().isEmpty)
        let next = store.lastSequence + 1
        try store.append([try Sample.write(next)])
        #expect(try queue.folder.open().allSequences() == [next])
    }

    @Test("of the head brings back what left, with the numbers it had, and nothing more")
    func head() throws {
        let queue = try FramedQueue()
        let folder = queue.folder
        let store = try folder.open(segmentBytes: FramedQueue.segmentBytes)
        try store.remove(Array(1...90))
        let bytes = try folder.bytes("outbox/head")
        for index in stride(from: 0, to: bytes.count, by: 51) {
            let copy = try folder.copy()
            try copy.flip(copy.path + "/outbox/head", index, bit: index % 8)
            let left = try copy.open().allSequences()
            #expect(left.suffix(310) == Array(91...400)[...] && left == left.sorted())
        }
        try PrivateFile.remove(folder.path + "/outbox/head")
        let again = try folder.open()
        try again.append([try Sample.write(401)])
        #expect(again.lastSequence == 401)
        #expect(try again.allSequences().suffix(311) == Array(91...401)[...])
    }
}
