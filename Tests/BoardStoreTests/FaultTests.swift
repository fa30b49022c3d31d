import CSQLite
import Foundation
import Gate
import Sessions
import Testing
@testable import BoardStore

@Suite("Disk fault", .serialized)
struct FaultTests {
    private typealias Plan = FaultyDisk.Plan

    @Test("is not risked by removals: they alone are not synced, all else is")
    func syncs() throws {
        let folder = try StateFolder()
        FaultyDisk.plan(folder.database, Plan())
        let store = try folder.open()
        try store.transact([.append(try Sample.writes(1...10))])
        let before = FaultyDisk.counts(folder.database)
        try store.transact([.remove([1, 2])])
        let after = FaultyDisk.counts(folder.database)
        #expect(after[.sync] == before[.sync])
        #expect(after[.write, default: 0] > before[.write, default: 0])
        try store.transact([.remove([3]), .append([try Sample.write(11)])])
        #expect(FaultyDisk.counts(folder.database)[.sync, default: 0] > after[.sync, default: 0])
    }

    @Test("of a sync undoes the change, and the file is opened anew before the next")
    func sync() throws {
        let folder = try StateFolder()
        FaultyDisk.plan(folder.database, Plan())
        let store = try folder.open()
        try store.transact([.append(try Sample.writes(1...10)), .counter("gaps", 1)])
        try store.transact([.remove([1, 2])])
        FaultyDisk.plan(
            folder.database, Plan(left: [.sync: 0], code: SQLITE_IOERR | 4 << 8, isOnce: true))
        #expect(throws: StoreError.unavailable(.inputOutput("SQLITE_IOERR_FSYNC"))) {
            try store.transact([.append([try Sample.write(11)])])
        }
        let old = ObjectIdentifier(store.connection)
        #expect(try store.allSequences().prefix(8) == Array(3...10)[...])
        #expect(ObjectIdentifier(store.connection) != old)
        try store.transact([.append([try Sample.write(store.lastSequence + 1)])])
        #expect(store.counters["gaps"] == 1)
        #expect(try store.integrityCheck() == [])
    }

    @Test("of any kind is named, costs nothing acknowledged, and passes", arguments: [
        (FaultyDisk.Operation.write, SQLITE_FULL), (.write, SQLITE_IOERR | 3 << 8),
        (.sync, SQLITE_IOERR | 4 << 8), (.read, SQLITE_IOERR | 1 << 8),
        (.truncate, SQLITE_IOERR | 6 << 8),
    ])
    func any(operation: FaultyDisk.Operation, code: Int32) throws {
        for successes in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55] {
            let folder = try StateFolder()
            FaultyDisk.plan(folder.database, Plan())
            let store = try folder.open()
            try store.transact([.put(.session, Sample.secret("session"))])
            FaultyDisk.plan(
                folder.database, Plan(left: [operation: successes], code: code, isOnce: false))
            var acknowledged: [Int64] = []
            var failures = 0
            for round in 0..<10 {
                // The obstacle goes after a while.
                if round == 7 { FaultyDisk.plan(folder.database, Plan()) }
                do throws(StoreError) {
                    // What failed at its sync may stand in the log after all.
                    _ = try store.next(after: 0, limit: 1)
                    let first = store.lastSequence + 1
                    try append(store, first...first + 9)
                    acknowledged += Array(first...first + 9)
                } catch {
                    guard case .unavailable = error else { throw error }
                    failures += 1
                    #expect(round < 7)
                }
            }
            for store in [store, try folder.open()] {
                let there = Set(try store.allSequences())
                #expect(acknowledged.allSatisfy(there.contains))
                #expect(try store.text(.session) == "session")
                #expect(try store.integrityCheck() == [])
            }
            if failures == 0 { break }
        }
    }

    private func append(
        _ store: BoardDatabase, _ range: ClosedRange<Int64>
    ) throws(StoreError) {
        let text = String(repeating: "x", count: 900)
        let writes = range.compactMap { try? Sample.write($0, payload: text) }
        try store.transact([.append(writes)])
        if range.lowerBound % 3 == 0 { try store.connection.emptyLog() }
    }

    @Test("that takes the file's name leaves its content to be salvaged")
    func deleted() throws {
        let folder = try StateFolder()
        var store: BoardDatabase? = try folder.open()
        try store?.transact([
            .put(.identity, Sample.secret("identity")), .append(try Sample.writes(1...50)),
        ])
        try store?.transact([.remove([1])])
        try FileManager.default.removeItem(atPath: folder.database)
        #expect(throws: StoreError.unreadable("board.db was moved or deleted")) {
            try store?.transact([.append([try Sample.write(51)])])
        }
        store = nil
        _ = try BoardDatabase.salvage(
            folder: folder.path, keySource: KeyFile(folder: folder.path),
            at: Timestamp(milliseconds: 1))
        let next = try folder.open()
        #expect(try next.text(.identity) == "identity")
        #expect(try next.allSequences() == Array(2...50))
        #expect(try next.integrityCheck() == [])
    }
}
