import Foundation
import Gate
import LinuxIO
import Sessions
import Testing
@testable import BoardStore

@Suite("Obstacle")
struct ObstacleTests {
    @Test("of a full database is named, costs nothing held, and passes")
    func full() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try store.transact([.append(try Sample.writes(1...10))])
        let usage = store.usage()
        let pages = try store.connection.number("PRAGMA page_count")
        try store.connection.run("PRAGMA max_page_count=\(pages + 2)")
        let large = try (11...60).map {
            try Sample.write($0, payload: String(repeating: "x", count: 5000))
        }
        #expect(throws: StoreError.unavailable(.full)) { try store.transact([.append(large)]) }
        #expect(store.usage() == usage)
        #expect(store.lastSequence == 10)
        #expect(try store.allSequences() == Array(1...10))
        try store.connection.run("PRAGMA max_page_count=1000000")
        try store.transact([.append(large)])
        #expect(try folder.open().allSequences() == Array(1...60))
    }

    @Test("of another process that writes is waited for, then named")
    func busy() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        let other = try folder.raw()
        try other.run("BEGIN IMMEDIATE")
        #expect(throws: StoreError.unavailable(.busy)) {
            try store.transact([.append([try Sample.write(1)])])
        }
        #expect(store.lastSequence == 0)
        try other.run("COMMIT")
        try store.transact([.append([try Sample.write(1)])])
        #expect(try store.allSequences() == [1])
    }

    @Test("is no second opener that reads, writes the vault or destroys a record")
    func secondOpener() throws {
        let folder = try StateFolder()
        let agent = try folder.open()
        let tool = try folder.open()
        try agent.transact([
            .append(try Sample.writes(1...3)), .put(.identity, Sample.secret("identity")),
        ])
        #expect(try tool.allSequences() == [1, 2, 3])
        try tool.transact([.put(.claim, Sample.secret("claim"))])
        #expect(try agent.text(.claim) == "claim")
        try tool.transact([.destroy(.claim)])
        #expect(try agent.read(.claim) == nil)
        #expect(try agent.text(.identity) == "identity")
        try agent.transact([
            .append(try Sample.writes(4...5)), .put(.session, Sample.secret("session")),
        ])
        #expect(try tool.text(.session) == "session")
        try agent.transact([.destroyQueue, .append([try Sample.write(6)])])
        #expect(try tool.allSequences() == [6])
        #expect(try tool.integrityCheck() == [])
        #expect(tool.lastSequence == 6)
    }

    @Test("of a file deleted under the agent is named before anything is promised")
    func deleted() throws {
        let folder = try StateFolder()
        let store = try folder.open()
        try FileManager.default.removeItem(atPath: folder.database)
        #expect(throws: StoreError.unreadable("board.db was moved or deleted")) {
            try store.transact([.append([try Sample.write(1)])])
        }
    }
}

@Suite("Row")
struct RowTests {
    private let head = RowHead(
        first: 1, last: 9, count: 9, oldest: 1, classes: 1, session: "sess000001",
        user: "user000001")

    private func row() throws -> [UInt8] {
        var encoder = BatchEncoder()
        var row: [UInt8] = []
        encoder.begin("sess000001", "user000001", in: &row)
        for write in try Sample.writes(1...9) {
            #expect(encoder.append(write, class: 1, to: &row))
        }
        return row
    }

    @Test("of any bytes gives values or nothing, never a trap")
    func anyBytes() throws {
        var state: [UInt8] = []
        var whole = QueueState()
        whole.holes = [3...4]
        whole.encode(into: &state)
        var counted = QueueLedger()
        counted.count("gaps", 7)
        counted.losses.lose(1...3, .full)
        counted.losses.drop(3, of: "Reading")
        _ = counted.classes.bit(for: "Reading")
        var ledger: [UInt8] = []
        counted.encode(into: &ledger)
        for bytes in [try row(), state, ledger] {
            for length in 0...bytes.count {
                decode(Array(bytes.prefix(length)))
                for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] where length < bytes.count {
                    var changed = bytes
                    changed[length] = value
                    decode(changed)
                }
            }
        }
        #expect(QueueState(state, lastSequence: 0) == whole)
        #expect(QueueLedger(ledger) == counted)
    }

    private func decode(_ bytes: [UInt8]) {
        if var row = BatchReader(bytes, head) {
            while let item = row.next() { _ = row.write(item) }
        }
        _ = QueueState(bytes, lastSequence: 1)
        _ = QueueLedger(bytes)
        _ = DeadLetter(bytes, 1, 1, "sess000001", "user000001")
    }

    @Test("gives back what was put in, whatever the order of times and destinations")
    func roundTrip() throws {
        let base = try Sample.write(1)
        let writes = (Int64(1)...200).map { number in
            AcceptedWrite(
                sequence: number * 3, session: base.session, user: base.user,
                acceptedAt: Timestamp(milliseconds: 1_700_000_000_000 - number * 7919 % 1000),
                app: base.app, className: base.className, topic: "t/\(number * 31 % 40)",
                payload: Array(repeating: UInt8(number % 256), count: Int(number * 37 % 900)))
        }
        var encoder = BatchEncoder()
        var row: [UInt8] = []
        encoder.begin("sess000001", "user000001", in: &row)
        for write in writes { #expect(encoder.append(write, class: 1, to: &row)) }
        var reader = try #require(BatchReader(row, encoder.head))
        var found: [AcceptedWrite] = []
        while let item = reader.next() { found.append(reader.write(item)) }
        #expect(found == writes && reader.isAtEnd)
    }
}
