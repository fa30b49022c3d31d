import Cryptography
import Foundation
import Gate
import LinuxIO
import Sessions
import Testing
@testable import BoardStore

@Suite("Schema 1")
struct SchemaOneTests {
    /// Makes the tables that the program before had, with its rows.
    private func old(_ folder: StateFolder, _ writes: [AcceptedWrite]) throws {
        let store = try folder.open()
        try store.transact([
            .put(.identity, Sample.secret("identity")), .put(.session, Sample.secret("session")),
            .window([WindowEntry(packetID: 3, digest: 4, sequence: 30)]),
        ])
        let raw = store.connection
        try raw.run("""
            DROP TABLE state; DROP TABLE batch; DROP TABLE dead; DROP TABLE aside;
            CREATE TABLE state (
                id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL,
                sealed BLOB NOT NULL) STRICT;
            CREATE TABLE queue (
                seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, sid TEXT NOT NULL,
                user TEXT NOT NULL, body BLOB NOT NULL) STRICT;
            CREATE TABLE aside (
                seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, sid TEXT NOT NULL,
                user TEXT NOT NULL, body BLOB NOT NULL, reason TEXT NOT NULL) STRICT;
            PRAGMA user_version=1;
            """)
        let key = store.keys.queue
        var cipher = try EpochCipher(key, for: 0)
        for write in writes {
            let names = (write.session.description, write.user.description)
            var place = Place.queue(generation: key.generation)
            Place.append(
                sequence: write.sequence, at: write.acceptedAt.milliseconds, session: names.0,
                user: names.1, to: &place)
            var sealed: [UInt8] = []
            try cipher.seal(row(write), key: key, for: write.sequence, at: place, into: &sealed)
            let insert = try Statement(raw, "INSERT INTO queue VALUES (?1, ?2, ?3, ?4, ?5)")
            insert.bind(1, write.sequence)
            insert.bind(2, write.acceptedAt.milliseconds)
            insert.bind(3, names.0)
            insert.bind(4, names.1)
            try insert.run(5, blob: sealed)
        }
        var state: [UInt8] = [1]
        state.append(number: Int64(writes.count))
        state.append(number: 0)
        state.append(half: 1)
        _ = state.append(short: "gaps")
        state.append(number: 7)
        var sealed: [UInt8] = []
        let place = Place.state("queue", last: 40, generation: key.generation)
        try cipher.seal(state, key: key, for: 40, at: place, into: &sealed)
        let insert = try Statement(raw, "INSERT INTO state VALUES (1, 40, ?1)")
        try insert.run(1, blob: sealed)
    }

    private func row(_ write: AcceptedWrite) -> [UInt8] {
        var row: [UInt8] = [1]
        _ = row.append(short: write.app.description)
        _ = row.append(short: write.className.description)
        row.append(half: UInt16(write.topic.utf8.count))
        return row + Array(write.topic.utf8) + write.payload
    }

    @Test("is brought up at the first opening, with all that it held")
    func bringsUp() throws {
        let folder = try StateFolder()
        let writes = try Sample.writes(5...30)
        try old(folder, writes)
        try folder.raw().run("""
            UPDATE queue SET at = at + 1 WHERE seq = 9;
            INSERT INTO aside VALUES (2, 1, 's', 'u', x'00', 'unopened')
            """)
        for _ in 0..<2 {
            let store = try folder.open()
            #expect(try store.next(after: 0, limit: 100) == writes.filter { $0.sequence != 9 })
            #expect(store.lastSequence == 40 && store.counters["gaps"] == 7)
            #expect(store.usage().losses.ranges == [9...9])
            #expect(try store.text(.session) == "session")
            #expect(try store.redeliveryWindow().map(\.sequence) == [30])
            #expect(try store.integrityCheck() == [])
            #expect(try store.connection.number("SELECT count(*) FROM aside") == 2)
            #expect(try store.connection.number("PRAGMA user_version") == 2)
        }
        try folder.open().transact([.append([try Sample.write(41)]), .remove(Array(5...30))])
        #expect(try folder.open().allSequences() == [41])
    }

    /// A log cut off at any byte, as after a power cut during its writing: the old tables are
    /// there, or the new ones, never a part of each.
    @Test("is brought up whole, or not yet, wherever power is cut in it")
    func cut() throws {
        let folder = try StateFolder()
        try old(folder, try Sample.writes(1...300))
        try folder.raw().emptyLog()
        let before = try folder.copy()
        // A reader keeps the log from being carried into the file and cut.
        let reader = try folder.raw()
        try reader.run("BEGIN; SELECT count(*) FROM keys")
        _ = try folder.open()
        let log = Array(try Data(contentsOf: URL(fileURLWithPath: folder.database + "-wal")))
        #expect(log.count > 10 * 4096)
        var versions: Set<Int64> = []
        for length in stride(from: 0, through: log.count, by: 2039) + [log.count] {
            let copy = try before.copy()
            try PrivateFile.write(copy.database + "-wal", Array(log.prefix(length)))
            versions.insert(try copy.raw().number("PRAGMA user_version"))
            let store = try copy.open()
            #expect(try store.allSequences() == Array(1...300), "\(length)")
            #expect(store.lastSequence == 40 || store.lastSequence == 300, "\(length)")
            #expect(try store.text(.session) == "session", "\(length)")
            #expect(try store.integrityCheck() == [], "\(length)")
        }
        #expect(versions == [1, 2])
    }

    @Test("whose state is damaged goes on far above all its numbers")
    func damagedState() throws {
        let folder = try StateFolder()
        try old(folder, try Sample.writes(1...3))
        try folder.raw().run("UPDATE state SET last = 2")
        let store = try folder.open()
        #expect(store.lastSequence > 1 << 20)
        #expect(try store.allSequences() == [1, 2, 3])
        #expect(store.takeDamaged().map(\.name) == ["queue state"])
    }
}
