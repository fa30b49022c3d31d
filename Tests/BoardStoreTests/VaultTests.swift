import Gate
import Sessions
import Testing
@testable import BoardStore

@Suite("Vault")
struct VaultTests {
    @Test("gives back every record after a restart", arguments: VaultRecord.allCases)
    func roundTrip(record: VaultRecord) throws {
        let folder = try StateFolder()
        try folder.open().transact([.put(record, Sample.secret("secret of \(record)"))])
        #expect(try folder.open().text(record) == "secret of \(record)")
        for other in VaultRecord.allCases where other != record {
            #expect(try folder.open().read(other) == nil)
        }
    }

    @Test("overwrites a record")
    func overwrite() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([.put(.session, Sample.secret("first"))])
        try store.transact([.put(.session, Sample.secret(String(repeating: "x", count: 9000)))])
        #expect(try store.read(.session)?.count == 9000)
    }

    @Test("keeps no record in clear, in no file")
    func nothingInClear() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact(
            VaultRecord.allCases.map { .put($0, Sample.secret("r:token-in-clear-\($0)")) })
        #expect(try !folder.contains("token-in-clear"))
    }

    @Test("does all of a transaction or nothing of it")
    func allOrNothing() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([
            .put(.claim, Sample.secret("claim")), .append([try Sample.write(5)]),
        ])
        let usage = store.usage()
        #expect(throws: StoreError.outOfOrder(sequence: 5, last: 6)) {
            try store.transact([
                .destroy(.claim), .put(.session, Sample.secret("session")),
                .append([try Sample.write(6), try Sample.write(5)]), .counter("gaps", 3),
            ])
        }
        for store in [store, try folder.open()] {
            #expect(try store.text(.claim) == "claim")
            #expect(try store.read(.session) == nil)
            #expect(store.usage() == usage)
            #expect(store.lastSequence == 5)
            #expect(store.counters.isEmpty)
        }
        try store.transact([.append([try Sample.write(6)])])
        #expect(try store.allSequences() == [5, 6])
    }
}

@Suite("Destruction")
struct DestructionTests {
    @Test("leaves neither an old record nor the key it was under in any file")
    func session() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([
            .put(.identity, Sample.secret("identity")), .put(.session, Sample.secret("old")),
        ])
        let sealed = try blob(folder, "SELECT sealed FROM vault WHERE name = 'session'")
        let wrapped = try blob(folder, "SELECT wrapped FROM keys WHERE purpose = 'vault'")
        #expect(try folder.contains(sealed) && folder.contains(wrapped))

        try store.transact([.destroy(.session)])

        #expect(try !folder.contains(sealed) && !folder.contains(wrapped))
        #expect(try store.read(.session) == nil)
        #expect(try store.text(.identity) == "identity")
        try store.transact([.put(.session, Sample.secret("new"))])
        #expect(try folder.open().text(.session) == "new")
    }

    @Test("does not open an old record that is put back")
    func putBack() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([.put(.session, Sample.secret("old"))])
        let raw = try folder.raw()
        try raw.run("CREATE TEMP TABLE saved AS SELECT * FROM vault")
        try store.transact([.destroy(.session)])
        try raw.run("INSERT INTO vault SELECT * FROM saved")
        #expect(throws: StoreError.corrupt("vault record session")) { try store.read(.session) }
    }

    @Test("moves what stays under the same purpose to the new key")
    func claim() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([
            .put(.identity, Sample.secret("identity")), .put(.claim, Sample.secret("claim")),
        ])
        let old = try blob(folder, "SELECT sealed FROM vault WHERE name = 'identity'")
        try store.transact([.put(.trust, Sample.secret("trust")), .destroy(.claim)])
        #expect(try !folder.contains(old))
        let again = try folder.open()
        #expect(try again.text(.identity) == "identity")
        #expect(try again.text(.trust) == "trust")
        #expect(try again.read(.claim) == nil)
    }

    @Test("of the queue leaves no row, no key, but numbers, counters and window")
    func queue() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let entry = WindowEntry(packetID: 7, digest: 9, sequence: 3000)
        try store.transact([
            .append(try Sample.writes(1...1233)), .append([try Sample.write(1234)]),
            .append(try Sample.writes(1235...3000)), .bury([Burial(sequence: 7, reason: "")]),
            .window([entry]), .counter("gaps", 2),
            .put(.session, Sample.secret("session")),
        ])
        let row = try blob(folder, "SELECT body FROM batch WHERE first = 1234")
        let wrapped = try blob(folder, "SELECT wrapped FROM keys WHERE purpose = 'queue'")
        #expect(try folder.contains(row) && folder.contains(wrapped))

        try store.transact([.destroyQueue])

        #expect(try !folder.contains(row) && !folder.contains(wrapped))
        var usage = QueueUsage(messages: 0, bytes: 0, oldest: nil)
        usage.losses.lose(7...7, .dead)
        usage.losses.lose(1...3000, .destroyed)
        for store in [store, try folder.open()] {
            #expect(store.usage() == usage)
            #expect(store.lastSequence == 3000)
            #expect(store.counters == ["gaps": 2])
            #expect(try store.redeliveryWindow() == [entry])
            #expect(try store.allSequences() == [])
            #expect(try store.text(.session) == "session")
            #expect(try store.integrityCheck() == [])
        }
        try store.transact([.append([try Sample.write(3001)])])
        #expect(try folder.open().allSequences() == [3001])
    }

    @Test("is finished at the next start when a reader stood in the way")
    func readerInTheWay() throws {
        let folder = try StateFolder()
        var store: BoardDatabase? = try folder.open()
        try store?.transact([.put(.session, Sample.secret("old"))])
        let sealed = try blob(folder, "SELECT sealed FROM vault WHERE name = 'session'")
        var reader: Connection? = try folder.raw()
        try reader?.run("BEGIN")
        _ = try reader?.number("SELECT count(*) FROM vault")
        try store?.transact([.destroy(.session)])
        #expect(try store?.read(.session) == nil)
        reader = nil
        store = nil
        store = try folder.open()
        #expect(try !folder.contains(sealed))
    }

    private func blob(_ folder: StateFolder, _ sql: String) throws -> [UInt8] {
        let statement = try Statement(try folder.raw(), sql)
        return try statement.step() ? try statement.bytes(0) : []
    }
}
