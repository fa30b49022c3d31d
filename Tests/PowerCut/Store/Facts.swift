import AgentCore
import AgentStore
import Cryptography
import Foundation
import Gate
import Sessions

/// What a board's store holds, as one line of JSON: no secret in it, only digests.
struct Facts: Codable {
    struct Row: Codable {
        let seq: Int64
        let session: String
        let user: String
        let `class`: String
        let payload: String
    }

    /// What was done before these were said.
    var change = ""
    /// It was tried, and an error said that it was not done.
    var hasFailed = false
    /// So many calls were made to fail by then.
    var failures = 0

    /// Why it did not open, or why it could not be read or written afterwards.
    var error: String?
    var last: Int64 = 0
    var rows: [Row] = []
    /// A digest of each vault record that is set.
    var records: [String: String] = [:]
    /// Packet id and sequence of each entry of the redelivery window.
    var window: [[Int64]] = []
    /// Digest and sequence of each kept key.
    var keys: [[Int64]] = []
    var counters: [String: Int64] = [:]
    var messages: Int64 = 0
    var damaged: [String] = []
    var integrity: [String] = []

    init() {}

    init(of store: BoardStore) throws {
        var faults: [String] = []
        _ = try store.load { faults.append($0) }
        last = store.lastSequence
        rows = try Self.rows(of: store)
        for record in VaultRecord.allCases {
            guard let secret = store.secret(record) else { continue }
            records[record.rawValue] = try Self.digest(secret.reveal())
        }
        window = store.window.map { [Int64($0.packetID), $0.sequence] }
        keys = store.keys.map { key in
            [Int64(bitPattern: UInt64(truncatingIfNeeded: key.digest)), key.sequence]
        }
        let (reserved, given) = store.reserve
        let usage = store.usage
        counters = [
            "reserved": reserved, "given": given, "lost": usage.losses.total, "dead": usage.dead,
        ]
        messages = usage.messages
        damaged = faults + store.takeDamaged()
    }

    private static func rows(of store: BoardStore) throws -> [Row] {
        var rows: [Row] = []
        while case let part = try store.next(after: rows.last?.seq ?? 0, limit: 256),
            !part.isEmpty
        {
            for write in part {
                guard write.sequence > rows.last?.seq ?? 0 else { throw Unusable.outOfOrder }
                rows.append(Row(
                    seq: write.sequence, session: write.session.description,
                    user: write.user.description, class: write.className.description,
                    payload: try digest(write.payload)))
            }
        }
        return rows
    }

    private static func digest(_ bytes: [UInt8]) throws -> String {
        try SHA256.digest(bytes).prefix(8).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }

    /// Written at once and in one piece, so that it has a place in the order of all writes.
    func say() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        FileHandle.standardOutput.write(try encoder.encode(self) + Data("\n".utf8))
    }
}

/// Opens what a power cut has left, with the code that the agent opens it with.
enum Opening {
    static func facts(of folder: String) -> Facts {
        var facts = Facts()
        do {
            let store = try open(folder)
            facts = try Facts(of: store)
            try store.begin()
            facts.damaged += store.takeDamaged()
            facts.integrity = try store.verify()
            try writeOn(store)
            try flowOut(folder, store)
        } catch {
            facts.error = "\(error)"
        }
        return facts
    }

    /// Small segments, so that a short life has many.
    static func open(_ folder: String) throws -> BoardStore {
        try BoardStore(
            folder: folder, keyFile: KeyFile(folder: folder), segmentBytes: Sample.segmentBytes
        ) { () throws(StoreError) in try Sample.identity() }
    }

    /// Opens, says what there is before and after it is mended, and closes; adds nothing.
    static func look(at folder: String) throws {
        let store = try open(folder)
        let facts = try Facts(of: store)
        try store.begin()
        try facts.say()
        try Facts(of: store).say()
    }

    /// How long the opening of a queue of so many writes of 256 bytes takes.
    static func milliseconds(folder: String, count: Int64) throws -> Double {
        func open() throws -> BoardStore {
            try BoardStore(folder: folder, keyFile: KeyFile(folder: folder)) {
                () throws(StoreError) in try Sample.identity()
            }
        }
        var store: BoardStore? = try open()
        let payload = [UInt8](repeating: 7, count: 256)
        for first in stride(from: 1, through: count, by: 1000) {
            let writes = try (first...min(count, first + 999)).map {
                try Sample.write($0, payload: payload)
            }
            try store?.commit([.append(writes, window: [])])
        }
        store = nil
        let begin = ContinuousClock.now
        store = try open()
        let took = ContinuousClock.now - begin
        guard store?.usage.messages == count else { throw Unusable.lostAtOnce }
        return Double(took.components.attoseconds) / 1e15 + Double(took.components.seconds) * 1e3
    }

    /// The next write of the board must be possible, and be there.
    private static func writeOn(_ store: BoardStore) throws {
        let next = store.lastSequence + 1
        try store.commit([.append([try Sample.write(next, payload: [1])], window: [])])
        guard try store.next(after: next - 1, limit: 2).map(\.sequence) == [next] else {
            throw Unusable.lostAtOnce
        }
    }

    /// All must be able to leave. The next process must know that, and which numbers there were.
    private static func flowOut(_ folder: String, _ store: BoardStore) throws {
        while case let part = try store.next(after: 0, limit: 256), !part.isEmpty {
            try store.remove(part.map(\.sequence))
        }
        guard store.usage.messages == 0 else { throw Unusable.stuck }
        let next = try open(folder)
        let damaged = next.takeDamaged()
        guard next.usage.messages == 0, next.lastSequence == store.lastSequence, damaged.isEmpty
        else {
            throw Unusable.forgotten("""
                \(next.usage.messages) messages, last \(next.lastSequence), not \
                \(store.lastSequence); \(damaged)
                """)
        }
    }
}

private enum Unusable: Error { case outOfOrder, lostAtOnce, stuck, forgotten(String) }
