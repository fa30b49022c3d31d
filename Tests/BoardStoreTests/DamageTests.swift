import Foundation
import Gate
import LinuxIO
import Sessions
import Testing
@testable import BoardStore

@Suite("Damage")
struct DamageTests {
    /// Flips each bit group of one blob, asks, and puts it back.
    private func flipping(
        _ folder: StateFolder, table: String, column: String, where row: String,
        each: (Int) throws -> Void
    ) throws {
        let raw = try folder.raw()
        let select = try Statement(raw, "SELECT \(column) FROM \(table) WHERE \(row)")
        #expect(try select.step())
        let whole = try select.bytes(0)
        select.reset()
        let update = try Statement(raw, "UPDATE \(table) SET \(column) = ?1 WHERE \(row)")
        for index in whole.indices {
            var bytes = whole
            bytes[index] ^= UInt8(1 << (index % 8))
            try update.run(1, blob: bytes)
            try each(index)
        }
        try update.run(1, blob: whole)
    }

    @Test("to any byte of a record is found and named", arguments: VaultRecord.allCases)
    func vault(record: VaultRecord) throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([.put(record, Sample.secret("secret"))])
        let name = "vault record \(record.rawValue)"
        try flipping(folder, table: "vault", column: "sealed", where: "1") { _ in
            #expect(throws: StoreError.corrupt(name)) { try store.read(record) }
            let found = try store.integrityCheck()
            #expect(found == [name])
        }
        #expect(try store.text(record) == "secret")
    }

    @Test("to a record that took another's place is found")
    func swapped() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([
            .put(.identity, Sample.secret("one")), .put(.trust, Sample.secret("two")),
            .append([try Sample.write(1)]), .append([try Sample.write(2)]),
            .append([try Sample.write(3)]),
        ])
        try folder.raw().run("""
            UPDATE vault SET sealed = (SELECT sealed FROM vault WHERE name = 'trust')
                WHERE name = 'identity';
            UPDATE batch SET body = (SELECT body FROM batch WHERE first = 1) WHERE first = 2;
            """)
        #expect(throws: StoreError.corrupt("vault record identity")) { try store.read(.identity) }
        #expect(try store.allSequences() == [1, 3])
    }

    @Test("to any byte of a row is found, named, set aside, and holds up no other row")
    func queueRows() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact(try Sample.writes(1...3).map { .append([$0]) })
        try flipping(folder, table: "batch", column: "body", where: "first = 2") { _ in
            let found = try store.integrityCheck()
            #expect(found == ["queue 2"])
        }
        let raw = try folder.raw()
        for (row, column) in [
            (1, "sid = 'sess000002'"), (2, "user = 'x'"), (3, "oldest = oldest + 1"),
        ] {
            try raw.run("UPDATE batch SET \(column) WHERE first = \(row)")
        }
        try store.transact([.append(try Sample.writes(4...5))])
        #expect(try store.allSequences() == [4, 5])
        let named = (Int64(1)...3).map { number in
            DamagedRecord(name: "queue \(number)", sequence: number)
        }
        #expect(store.takeDamaged() == named)
        #expect(store.takeDamaged().isEmpty)
        for store in [store, try folder.open()] {
            #expect(store.counters["damaged"] == 3)
            #expect(store.usage().messages == 2)
            #expect(store.usage().losses.ranges == [1...3])
            #expect(store.usage().losses.causes == [.damaged: 3])
            #expect(try store.integrityCheck() == [])
        }
        #expect(try raw.number("SELECT count(*) FROM aside") == 3)
    }

    @Test("to any byte of a data key costs what is under it, and nothing else")
    func dataKeys() throws {
        let original = try StateFolder()
        try original.open().transact([
            .put(.identity, Sample.secret("identity")), .put(.session, Sample.secret("session")),
            .append(try Sample.writes(1...3)),
        ])
        for (purpose, record) in [("vault", VaultRecord.session), ("identity", .identity)] {
            let other: VaultRecord = record == .session ? .identity : .session
            try flipping(
                original, table: "keys", column: "wrapped", where: "purpose = '\(purpose)'"
            ) { index in
                guard index % 5 == 0 else { return }
                let folder = try original.copy()
                let store = try folder.open()
                #expect(store.takeDamaged().map(\.name) == ["key \(purpose)"])
                #expect(throws: StoreError.corrupt("vault record \(record.rawValue)")) {
                    try store.read(record)
                }
                #expect(try store.read(other) != nil)
                #expect(try store.allSequences() == [1, 2, 3])
                try store.transact([.destroy(record), .put(record, Sample.secret("new"))])
                #expect(try store.text(record) == "new")
            }
        }
    }

    @Test("to the queue's key or its state never makes a number come twice")
    func queueState() throws {
        let original = try StateFolder()
        try original.open().transact([
            .append([try Sample.write(1)]), .append(try Sample.writes(2...3)), .remove([1]),
        ])
        for (table, column, row) in [
            ("state", "sealed", "1"), ("keys", "wrapped", "purpose = 'queue'"),
        ] {
            try flipping(original, table: table, column: column, where: row) { index in
                guard index % 5 == 0 else { return }
                let folder = try original.copy()
                let store = try folder.open()
                #expect(store.lastSequence > 3)
                #expect(store.usage().messages == 2)
                #expect(store.takeDamaged().map(\.name).contains("queue state"))
                let next = store.lastSequence + 1
                try store.transact([.append([try Sample.write(next)])])
                let there = try folder.open().allSequences()
                #expect(there == (table == "state" ? [2, 3, next] : [next]))
            }
        }
    }

    @Test("to any byte of the file is named, or changes nothing that is read")
    func anyByte() throws {
        let original = try StateFolder()
        try original.open().transact([
            .put(.identity, Sample.secret("identity")), .put(.session, Sample.secret("session")),
            .append(try Sample.writes(1...8)),
            .window([WindowEntry(packetID: 1, digest: 1, sequence: 8)]),
        ])
        let whole = Array(try Data(contentsOf: URL(fileURLWithPath: original.database)))
        let key = try Data(contentsOf: URL(fileURLWithPath: original.path + "/storage.key"))
        let folder = try StateFolder()
        try PrivateFile.write(folder.path + "/storage.key", Array(key))
        var silent = 0
        for index in stride(from: 0, to: whole.count, by: 7) where whole[index] != 0 {
            var bytes = whole
            bytes[index] ^= UInt8(1 << (index % 8))
            try Data(bytes).write(to: URL(fileURLWithPath: folder.database))
            try folder.setMode(0o600, of: "board.db")
            if try !isNoticed(folder) { silent += 1 }
        }
        // What no one notices stands in SQLite's header fields that have no meaning here.
        #expect(silent < 20)
    }

    /// Whether damage was named. When it was not, all content must be there.
    private func isNoticed(_ folder: StateFolder) throws -> Bool {
        do throws(StoreError) {
            let store = try BoardDatabase(
                folder: folder.path, keySource: KeyFile(folder: folder.path))
            if !store.takeDamaged().isEmpty { return true }
            if try !store.integrityCheck().isEmpty { return true }
            #expect(try store.read(.identity)?.count == 8)
            #expect(try store.read(.session)?.count == 7)
            #expect(try store.next(after: 0, limit: 100).count == 8)
            #expect(try store.redeliveryWindow().count == 1)
            #expect(store.lastSequence == 8)
            return false
        } catch {
            return true
        }
    }
}
