import AgentCore
@testable import AgentStore
import Foundation
import Gate
import Testing

@Suite("Kept key")
struct KeptKeyTests {
    @Test("is on disk with its write, and outlives the write and its segment", arguments: [1, 40])
    func outlives(batch: Int64) throws {
        let folder = try StateFolder()
        var store = try folder.open(segmentBytes: 8192)
        for start in stride(from: Int64(1), through: 400, by: Int64.Stride(batch)) {
            let range = start...min(start + batch - 1, 400)
            try store.append(try Sample.writes(range), keys: Sample.keys(range))
            try store.remove(Array(range))
            #expect(try folder.open(segmentBytes: 8192).keys == Sample.keys(1...range.upperBound))
            if start % 7 == 0 { store = try folder.open(segmentBytes: 8192) }
        }
        #expect(store.usage.messages == 0)
        #expect(try folder.segments().first?.hasSuffix("-000000000001.log") == false)
    }

    @Test("is one of the newest 4,096")
    func newest() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        for start in stride(from: Int64(1), through: 9001, by: 1000) {
            let range = start...start + 999
            try store.append([try Sample.write(start)], keys: [])
            try store.append([try Sample.write(start + 999)], keys: Sample.keys(range))
        }
        let newest = Sample.keys(5905...10_000)
        for store in [store, try folder.open()] { #expect(store.keys == newest) }
        #expect(store.queue.keys.count < 4608)
    }

    @Test("of an app stays on disk, however many another app gives")
    func shares() throws {
        let folder = try StateFolder()
        let store = try folder.open(segmentBytes: 128 * 1024)
        let own = (1...Int64(9)).map { KeptKey(digest: 1 << 96 | UInt128($0), sequence: $0) }
        try store.append(try Sample.writes(1...9), keys: own)
        for start in stride(from: Int64(1001), through: 9001, by: 1000) {
            let range = start...start + 999
            try store.append([try Sample.write(start + 999)], keys: Sample.keys(range))
        }
        let all = own + Sample.keys(5914...10_000)
        for store in [store, try folder.open(segmentBytes: 128 * 1024)] {
            #expect(store.keys == all)
        }
        let path = folder.path + "/window"
        var window = try VolatileWindow(path)
        try window.write([], own + Sample.keys(10...4600))
        #expect(try VolatileWindow(path).foundKeys == own + Sample.keys(514...4600))
    }

    @Test("without any, a frame is one byte longer, however many writes it has")
    func none() throws {
        let folder = try StateFolder()
        let queue = try folder.open().queue
        let plain = try queue.frames(of: try Sample.writes(1...300), [], [])
        let keyed = try queue.frames(of: try Sample.writes(1...300), [], Sample.keys(9...9))
        #expect(plain.count == 1 && keyed.count == 1)
        // The sequence has one byte, the digest sixteen.
        #expect(keyed[0].body.bytes.count - plain[0].body.bytes.count == 17)
        #expect(plain[0].body.bytes.last == 0)
    }

    @Test("stays with its write where a batch takes several frames")
    func frames() throws {
        let folder = try StateFolder()
        let queue = try folder.open().queue
        var writes = try Sample.writes(1...4)
        writes += try (5...9).map { try Sample.write($0, session: "sess000002") }
        let frames = try queue.frames(of: writes, [], Sample.keys(2...8))
        #expect(frames.map(\.keys) == [Sample.keys(2...4), Sample.keys(5...8)])
    }

    @Test("of a write that was never on disk comes with the next frame, or at a clean stop")
    func unsaved() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        store.keep(Sample.keys(1...3))
        #expect(try folder.open().keys == [])
        try store.append([try Sample.write(5)], keys: Sample.keys(5...5))
        #expect(try folder.open().keys == Sample.keys(1...3) + Sample.keys(5...5))
        store.keep(Sample.keys(6...7))
        try store.saveKeys()
        let all = Sample.keys(1...3) + Sample.keys(5...7)
        for store in [store, try folder.open()] { #expect(store.keys == all) }
        // Nothing is left to save, so nothing is written.
        let files = try folder.files()
        try store.saveKeys()
        #expect(try folder.files() == files)
        // However long nothing goes to disk, their number is bounded.
        for start in stride(from: Int64(1000), to: 90_000, by: 1000) {
            store.keep(Sample.keys(start...start + 999))
        }
        #expect(store.queue.unsavedKeys.count < 4608)
    }

    @Test("of a queue that another user's claim destroyed is gone")
    func destroyed() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.append(try Sample.writes(1...9), keys: Sample.keys(1...9))
        store.keep(Sample.keys(10...12))
        try store.commit([.destroyQueue])
        for store in [store, try folder.open()] { #expect(store.keys == []) }
        try store.append([try Sample.write(13)], keys: Sample.keys(13...13))
        #expect(try folder.open().keys == Sample.keys(13...13))
    }

    @Test("cannot be read in any file")
    func secret() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let key = KeptKey(
            digest: 0x0123_4567_89AB_CDEF_0123_4567_89AB_CDEF, sequence: 1)
        try store.append([try Sample.write(1)], keys: [key])
        var bytes: [UInt8] = []
        bytes.append(digest: key.digest)
        #expect(try !folder.contains(bytes))
        #expect(try folder.open().keys == [key])
    }
}
