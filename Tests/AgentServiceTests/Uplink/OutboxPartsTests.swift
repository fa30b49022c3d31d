import AgentCore
import AgentStore
import ConfigurationFiles
import Foundation
import Gate
import LinuxIO
import Logging
import Sessions
import Testing

@testable import AgentService

private func write(_ sequence: Int64, bytes: Int = 10) throws -> AcceptedWrite {
    AcceptedWrite(
        sequence: sequence, session: try #require(ObjectID("Session001")),
        user: try #require(UserID("ann0000000")),
        acceptedAt: Timestamp(milliseconds: 1_800_000_000_123),
        app: try #require(AppName("thermo")), className: try #require(ClassName("Reading")),
        operation: .create, topic: "t", payload: [UInt8](repeating: 1, count: bytes))
}

@Suite("Recent write")
struct RecentWriteTests {
    @Test("is sent from memory where nothing before it can stand on disk")
    func next() throws {
        var recent = RecentWrites()
        #expect(recent.next(after: 0, limit: 9) == nil)
        recent.append(try (5...9).map { try write($0) })
        // 1 to 4 may stand on disk.
        #expect(recent.next(after: 0, limit: 9) == nil)
        let first = recent.next(after: 4, limit: 2)
        #expect(first?.map(\.sequence) == [5, 6])
        let rest = recent.next(after: 7, limit: 9)
        #expect(rest?.map(\.sequence) == [8, 9])
        // Back where they are gone: the disk has them.
        #expect(recent.next(after: 5, limit: 9) == nil)
        #expect(recent.next(after: 9, limit: 9)?.isEmpty == true)
        recent.append([try write(10)])
        let last = recent.next(after: 9, limit: 9)
        #expect(last?.map(\.sequence) == [10])
    }

    @Test("is one of a bounded number, and of bounded bytes")
    func bounds() throws {
        var recent = RecentWrites()
        recent.append(try (1...3000).map { try write($0) })
        #expect(recent.next(after: 0, limit: 9) == nil)
        let kept = recent.next(after: 1976, limit: 5000)
        #expect(kept?.count == 1024)
        recent.removeAll()
        recent.append(try (1...4).map { try write($0, bytes: 200_000) })
        #expect(recent.next(after: 1, limit: 9) == nil)
        let large = recent.next(after: 2, limit: 9)
        #expect(large?.map(\.sequence) == [3, 4])
    }
}

@Suite("Held batch")
struct PendingBatchTests {
    @Test("is safe once each of its writes is, and only what is not goes to disk")
    func settled() throws {
        var held = PendingBatch(at: .zero)
        held.add(try (3...5).map { try write($0) }, window: [], keys: [])
        held.add([try write(6)], window: [], keys: [KeptKey(digest: 1, sequence: 6)])
        #expect(held.keys.map(\.sequence) == [6])
        #expect(held.bytes == 4 * (10 + 1 + 256))
        #expect(held.deadline == .milliseconds(50))
        let sent = held.takeUnsent(3)
        #expect(sent.map(\.sequence) == [3, 4, 5])
        let isForeign = !held.settle(2)
        #expect(isForeign)
        for sequence in [4, 3, 3] as [Int64] {
            let isOwn = held.settle(sequence)
            #expect(isOwn)
        }
        #expect(!held.isSafe)
        #expect(held.rest.map(\.sequence) == [5, 6])
        let rest = held.takeUnsent(9)
        #expect(rest.map(\.sequence) == [6])
        _ = held.settle(5)
        _ = held.settle(6)
        #expect(held.isSafe)
    }
}

@Suite("Stalled event")
struct StalledEventTests {
    @Test("waits a second, with what follows behind it, in order and bounded")
    func order() {
        var stalled = StalledEvents(limit: 3)
        let isAlone = !stalled.follows(.deadline)
        #expect(isAlone)
        stalled.add(.inbox([1]), at: .seconds(10))
        for byte in 2...9 as ClosedRange<UInt8> {
            let follows = stalled.follows(.inbox([byte]))
            #expect(follows)
        }
        #expect(stalled.take(at: .seconds(10.9)).isEmpty)
        #expect(stalled.endsAt == .seconds(11))
        let taken = stalled.take(at: .seconds(11)).map { event -> [UInt8] in
            if case .inbox(let payload) = event { payload } else { [] }
        }
        #expect(taken == [[1], [2], [3]])
        #expect(stalled.isEmpty)
        #expect(stalled.endsAt == nil)
    }
}

@Suite("Sequence reserve")
struct SequenceReserveTests {
    private func makeStore(in folder: TemporaryFolder) throws -> BoardStore {
        try BoardStore(
            folder: folder.path, keyFile: KeyFile(folder: folder.path)
        ) { () throws(StoreError) in
            BoardIdentity(
                installation: InstallationID(random: Array(1...16)),
                deviceSecret: SecretBytes(Array(1...32)), deviceKey: Array(1...32))
        }
    }

    @Test("moves its bound on disk a million at a time, and closes with the last that was given")
    func bound() throws {
        let folder = try TemporaryFolder()
        let store = try makeStore(in: folder)
        var reserve = SequenceReserve(folder.path + "/window", given: 0)
        #expect(reserve.given == nil)
        #expect(reserve.bound(before: 5) == 1_000_005)
        reserve.moved(before: 5)
        #expect(reserve.bound(before: 1_000_005) == nil)
        #expect(reserve.bound(before: 1_000_006) == 2_000_006)
        try reserve.note([DeliveredPacket(packetID: 1, digest: 2, sequence: 7)], in: store)
        #expect(reserve.given == 7)
        #expect(PrivateFile.isThere(folder.path + "/window"))
        try reserve.close(store)
        #expect(store.reserve.given == 7)
        #expect(!PrivateFile.isThere(folder.path + "/window"))
    }

    @Test("has the keys of what went upstream without the disk, and the last packets")
    func keys() throws {
        let folder = try TemporaryFolder()
        let store = try makeStore(in: folder)
        let path = folder.path + "/window"
        var reserve = SequenceReserve(path, given: 0)
        let packets = [DeliveredPacket(packetID: 1, digest: 2, sequence: 7, isDurable: false)]
        let keys = [KeptKey(digest: 3, sequence: 7), KeptKey(digest: 4, sequence: 8)]
        try reserve.note(packets, in: store)
        // A held write may be lost in a crash, so its key is not there before the write is safe.
        #expect(try VolatileWindow(path).foundKeys == [])
        reserve.keep([keys[0]], in: store)
        reserve.keep([], in: store)
        reserve.keep([keys[1]], in: store)
        #expect(try VolatileWindow(path).found == packets)
        #expect(try VolatileWindow(path).foundKeys == keys)
        #expect(store.unsavedKeys == keys)
        // The next life finds them, and leaves them there with its first batch.
        var next = SequenceReserve(path, given: 8)
        try next.note([], in: store)
        #expect(try VolatileWindow(path).foundKeys == keys)
        // Keys that are on disk need no memory.
        try store.saveKeys()
        try next.note(packets, in: store)
        #expect(try VolatileWindow(path).foundKeys == [])
    }

    @Test("takes over from the life before once")
    func inherited() throws {
        let folder = try TemporaryFolder()
        var reserve = SequenceReserve(folder.path + "/window", given: 12)
        #expect(reserve.inherited == 12)
        reserve.inheritedAll()
        #expect(reserve.inherited == nil)
    }

    @Test("leaves what the life before gave in memory, until it reserves by itself")
    func untouched() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/window"
        let given = [
            DeliveredPacket(packetID: 1, digest: 2, sequence: 12, isDurable: false)
        ]
        var first = SequenceReserve(path, given: 0)
        first.moved(before: 12)
        let store = try makeStore(in: folder)
        try first.note(given, in: store)
        // A clean end before the bus had repeated what the first life left open.
        var second = SequenceReserve(path, given: 12)
        #expect(second.given == nil)
        try second.close(store)
        #expect(PrivateFile.isThere(path))
        #expect(try VolatileWindow(path).found == given)
        second.moved(before: 13)
        try second.close(store)
        #expect(!PrivateFile.isThere(path))
    }

    @Test("has no key of the former user, and still the packets, after another user's claim",
          arguments: [false, true])
    func anotherUser(isRestarted: Bool) throws {
        let folder = try TemporaryFolder()
        let store = try makeStore(in: folder)
        let path = folder.path + "/window"
        var reserve = SequenceReserve(path, given: 0)
        let packets = [DeliveredPacket(packetID: 1, digest: 2, sequence: 7, isDurable: false)]
        try reserve.note(packets, in: store)
        let key = Array("a digest of keys".utf8)
        let digest = key.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        func isThere() throws -> Bool {
            try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data(key)) != nil
        }
        reserve.keep([KeptKey(digest: digest, sequence: 7)], in: store)
        #expect(try isThere())
        if isRestarted {
            let text = "[uplink]\nuri = \"mqtts://b.example\"\n"
            let settings = try BoardSettings.parse(text, file: "a.toml") { _ in nil }
            var outbox = Outbox(
                store,
                OutboxSettings(settings.outbox, volatileWindow: path),
                given: 7, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            var events: [AgentEvent] = []
            try outbox.commit([.destroyQueue], at: .zero, into: &events)
        } else {
            reserve.forgetKeys()
        }
        #expect(try VolatileWindow(path).found == packets)
        #expect(try VolatileWindow(path).foundKeys == [])
        #expect(try !isThere())
    }

    @Test("keeps the file in memory if its keys cannot be saved at the end")
    func unsaved() throws {
        let folder = try TemporaryFolder()
        let store = try makeStore(in: folder)
        let path = folder.path + "/window"
        let key = KeptKey(digest: 3, sequence: 7)
        var reserve = SequenceReserve(path, given: 0)
        reserve.moved(before: 7)
        try reserve.note([], in: store)
        reserve.keep([key], in: store)
        try Data().write(to: URL(fileURLWithPath: folder.path + "/outbox"))
        #expect(throws: StoreError.self) { try reserve.close(store) }
        #expect(try VolatileWindow(path).foundKeys == [key])
    }
}
