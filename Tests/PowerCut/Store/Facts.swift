import BoardStore
import Cryptography
import Foundation
import Gate
import Sessions

/// What a board's database holds, as one line of JSON: no secret in it, only digests.
struct Facts: Codable {
    struct Row: Codable {
        let seq: Int64
        let session: String
        let user: String
        let payload: String
    }

    /// Why it did not open, or why it could not be read or written afterwards.
    var error: String?
    var last: Int64 = 0
    var rows: [Row] = []
    /// A digest of each vault record that is set.
    var records: [String: String] = [:]
    /// Packet id and sequence of each entry of the redelivery window.
    var window: [[Int64]] = []
    var counters: [String: Int64] = [:]
    var messages: Int64 = 0
    var bytes: Int64 = 0
    var damaged: [String] = []
    var integrity: [String] = []

    init() {}

    init(of database: BoardDatabase) throws {
        last = database.lastSequence
        rows = try Self.rows(of: database)
        for record in VaultRecord.allCases {
            guard let secret = try database.read(record) else { continue }
            records[record.rawValue] = try Self.digest(secret.reveal())
        }
        window = try database.redeliveryWindow().map { [Int64($0.packetID), $0.sequence] }
        counters = database.counters
        let usage = database.usage()
        messages = usage.messages
        bytes = usage.bytes
        damaged = database.takeDamaged().map(\.name)
    }

    private static func rows(of database: BoardDatabase) throws -> [Row] {
        var rows: [Row] = []
        while case let part = try database.next(after: rows.last?.seq ?? 0, limit: 256),
            !part.isEmpty
        {
            for write in part {
                guard write.sequence > rows.last?.seq ?? 0 else { throw Unusable.outOfOrder }
                rows.append(Row(
                    seq: write.sequence, session: write.session.description,
                    user: write.user.description, payload: try digest(write.payload)))
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
            let database = try BoardDatabase(folder: folder, keySource: KeyFile(folder: folder))
            facts = try Facts(of: database)
            facts.integrity = try database.integrityCheck()
            try writeOn(database)
        } catch {
            facts.error = "\(error)"
        }
        return facts
    }

    /// Opens, says what there is, and closes; adds nothing.
    static func look(at folder: String) throws {
        let database = try BoardDatabase(folder: folder, keySource: KeyFile(folder: folder))
        try Facts(of: database).say()
    }

    /// The next write of the board must be possible, and be there.
    private static func writeOn(_ database: BoardDatabase) throws {
        let next = database.lastSequence + 1
        try database.transact([.append([try Sample.write(next, payload: [1])])])
        guard try database.next(after: next - 1, limit: 2).map(\.sequence) == [next] else {
            throw Unusable.lostAtOnce
        }
    }
}

private enum Unusable: Error { case outOfOrder, lostAtOnce }
