import Foundation
import Gate
import LinuxIO
import Sessions
import Testing
@testable import BoardStore

/// `make test-all` sets POSTERN_LONG; `make test` overwrites fewer pages.
private let isLong = ProcessInfo.processInfo.environment["POSTERN_LONG"] != nil

@Suite("Salvage")
struct SalvageTests {
    private let noon = Timestamp(milliseconds: 1_700_000_000_000)

    private func filled() throws -> StateFolder {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([
            .put(.identity, Sample.secret("identity")), .put(.trust, Sample.secret("trust")),
            .put(.session, Sample.secret("session")), .counter("gaps", 4), .lose(1...2, .unknown),
        ])
        for start in stride(from: Int64(3), to: 2003, by: 20) {
            try store.transact([
                .append(try (start...start + 19).map {
                    try Sample.write($0, payload: String(repeating: "\($0) ", count: 20))
                }),
                .window([WindowEntry(packetID: 1, digest: 1, sequence: start + 19)]),
            ])
        }
        try store.transact([.remove(Array(3...100)), .bury([Burial(sequence: 200, reason: "r")])])
        try store.connection.emptyLog()
        return folder
    }

    private func salvage(_ folder: StateFolder) throws(StoreError) -> SalvageReport {
        try BoardDatabase.salvage(
            folder: folder.path, keySource: KeyFile(folder: folder.path), at: noon)
    }

    @Test("of a whole database carries everything on")
    func whole() throws {
        let folder = try filled()
        let report = try salvage(folder)
        #expect(report.lost == 0 && report.lostRecords == [] && report.messages == 1901)
        let store = try folder.open()
        #expect(try store.allSequences() == (101...2002).filter { $0 != 200 })
        #expect(try store.text(.identity) == "identity")
        #expect(try store.text(.session) == "session")
        #expect(store.counters["gaps"] == 4 && store.lastSequence == 2002)
        #expect(store.usage().losses.causes == [.unknown: 2, .dead: 1])
        #expect(try store.deadLetters(limit: 9).map(\.write.sequence) == [200])
        #expect(try store.redeliveryWindow().last?.sequence == 2002)
        #expect(try store.integrityCheck() == [])
        try store.transact([.append([try Sample.write(2003)])])
        #expect(try folder.names().contains("board.db.damaged-\(noon.milliseconds)"))
        #expect(try !folder.names().contains { $0.contains("salvag") })
    }

    @Test("after any page was overwritten keeps each write or books it",
          arguments: isLong ? 1...8 : 1...2)
    func pages(seed: Int) throws {
        let original = try filled()
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: original.database)))
        let key = [UInt8](
            try Data(contentsOf: URL(fileURLWithPath: original.path + "/storage.key")))
        for page in stride(from: seed - 1, to: whole.count / 4096, by: 8) {
            let folder = try StateFolder()
            try PrivateFile.write(folder.path + "/storage.key", key)
            var bytes = whole
            for index in page * 4096..<(page + 1) * 4096 { bytes[index] = 0xA5 }
            try PrivateFile.write(folder.database, bytes)
            do throws(StoreError) {
                _ = try salvage(folder)
            } catch {
                // Only without keys or identity; then nothing was touched.
                guard case .unreadable = error else { throw error }
                let left = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.database)))
                #expect(left == bytes)
                continue
            }
            try expectAll(folder)
        }
    }

    /// What was in the queue is there, or stands among the losses.
    private func expectAll(_ folder: StateFolder) throws {
        let store = try folder.open()
        #expect(try store.text(.identity) == "identity")
        #expect(try store.integrityCheck() == [])
        let there = Set(try store.allSequences())
        let dead = Set(try store.deadLetters(limit: 10).map(\.write.sequence))
        let losses = store.usage().losses
        #expect(store.lastSequence >= 2002)
        for number in Int64(101)...2002 where !there.contains(number) && !dead.contains(number) {
            #expect(losses.ranges.contains { $0.contains(number) }, "\(number)")
        }
        try store.transact([.append([try Sample.write(store.lastSequence + 1)])])
    }

    @Test("is finished wherever power was cut in it")
    func interrupted() throws {
        for step in 0...1 {
            let folder = try filled()
            _ = try salvage(folder)
            // As it was before the last rename, and before the old file's.
            try PrivateFile.move(folder.database, to: folder.path + "/board.db.salvaged")
            if step == 1 {
                try PrivateFile.move(
                    folder.path + "/board.db.damaged-\(noon.milliseconds)", to: folder.database)
            } else {
                #expect(throws: StoreError.self) { try folder.open() }
            }
            _ = try salvage(folder)
            #expect(try folder.open().usage().messages == 1901)
        }
    }
}

@Suite("Corruption")
struct CorruptionTests {
    @Test("of random pages never traps, and is named", arguments: isLong ? 1...6 : 1...1)
    func randomPages(seed: Int) throws {
        let original = try StateFolder()
        let store = try original.open()
        try store.transact([.put(.identity, Sample.secret("identity"))])
        for start in stride(from: Int64(1), to: 1500, by: 10) {
            try store.transact([.append(try Sample.writes(start...start + 9))])
        }
        try store.connection.emptyLog()
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: original.database)))
        let key = [UInt8](
            try Data(contentsOf: URL(fileURLWithPath: original.path + "/storage.key")))
        var random = SplitMix(UInt64(seed))
        for _ in 0..<25 {
            let folder = try StateFolder()
            try PrivateFile.write(folder.path + "/storage.key", key)
            var bytes = whole
            for _ in 0..<1 + random.next() % 6 {
                bytes[Int(random.next() % UInt64(bytes.count))] ^= UInt8(1 << (random.next() % 8))
            }
            let page = Int(random.next() % UInt64(bytes.count / 4096)) * 4096
            for _ in 0..<random.next() % 40 {
                bytes[page + Int(random.next() % 4096)] = UInt8(truncatingIfNeeded: random.next())
            }
            try PrivateFile.write(folder.database, bytes)
            try use(folder)
        }
    }

    private func use(_ folder: StateFolder) throws {
        do throws(StoreError) {
            let store = try BoardDatabase(
                folder: folder.path, keySource: KeyFile(folder: folder.path))
            attempt { () throws(StoreError) in _ = try store.next(after: 0, limit: 4000) }
            attempt { () throws(StoreError) in try store.transact([.remove(Array(5...700))]) }
            attempt { () throws(StoreError) in
                try store.transact([.makeRoom(bytes: 20_000, keep: [])])
            }
            let next = store.lastSequence
            if let write = try? Sample.write(next < .max ? next + 1 : next) {
                attempt { () throws(StoreError) in try store.transact([.append([write])]) }
            }
            attempt { () throws(StoreError) in _ = try store.integrityCheck() }
            attempt { () throws(StoreError) in try store.transact([.destroyQueue]) }
        } catch {
            #expect("\(error)".hasPrefix("store: "))
        }
        _ = try? BoardDatabase.salvage(
            folder: folder.path, keySource: KeyFile(folder: folder.path),
            at: Timestamp(milliseconds: 1))
    }

    private func attempt(_ body: () throws(StoreError) -> Void) {
        do throws(StoreError) {
            try body()
        } catch {
            #expect("\(error)".hasPrefix("store: "))
        }
    }
}
