import AuthorityCore
import AuthorityStore
import Foundation
import GRDB
import Gate
import Sessions
import Wire

extension SQLiteTables {
    func changed(
        _ keys: Set<ObjectKey>
    ) throws(AuthorityError) -> [ObjectKey: ChangedObject] {
        var found: [ObjectKey: ChangedObject] = [:]
        for key in keys {
            if let object = try StoredRows.changed(key, in: database) { found[key] = object }
        }
        return found
    }

    func save(_ objects: [ObjectKey: ChangedObject?]) throws(AuthorityError) {
        for (key, object) in objects {
            guard let object else {
                try with(
                    "DELETE FROM objects WHERE owner = ? AND class = ? AND object = ?"
                ) { statement in try statement.run(key.values) }
                continue
            }
            try with("""
                INSERT OR REPLACE INTO objects (owner, class, object, board, app, created_at,
                    updated_at, received_at, members, awaits, mixed)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """) { statement in
                try statement.run(key.values + [
                    object.board.description, object.app.description,
                    object.createdAt.milliseconds, object.updatedAt.milliseconds,
                    object.receivedAt.milliseconds,
                    object.members.map { Data(JSONValue.object($0).bytes) },
                    object.awaitsCreation, object.isMixed,
                ])
            }
        }
    }

    func anyAwaitsCreation() throws(AuthorityError) -> Bool {
        try with("SELECT 1 FROM objects WHERE awaits = 1 LIMIT 1") { try $0.first([]) != nil }
    }

    func creation(_ key: ObjectKey) throws(AuthorityError) -> DataRecord? {
        try StoredRows.creation(key, in: database)?.record
    }

    func hideCreations(_ keys: Set<ObjectKey>) throws(AuthorityError) {
        for key in keys {
            guard let creation = key.id.creation, let feed = try find(FeedKey(
                owner: key.owner, board: creation.board, className: key.className))
            else { continue }
            try with(
                "UPDATE records SET kind = 1 WHERE feed = ? AND seq = ? AND kind = 0"
            ) { statement in try statement.run([feed, creation.sequence]) }
        }
    }
}

extension ObjectKey {
    /// The columns owner, class and object.
    var values: [(any DatabaseValueConvertible)?] {
        [owner.description, className.description, id.description]
    }
}

/// Rows as values, for readers and the writer.
enum StoredRows {
    static let recordColumns = """
        r.id AS id, r.kind AS kind, r.seq AS seq, r.wait AS wait, r.app AS app, \
        r.object AS object, r.payload AS payload
        """
    static let objectColumns = """
        object, board, app, created_at, updated_at, received_at, members, awaits, mixed
        """

    static func changed(
        _ key: ObjectKey, in database: Database
    ) throws(AuthorityError) -> ChangedObject? {
        try asStore {
            try database.cachedStatement(sql: """
                SELECT \(objectColumns) FROM objects WHERE owner = ? AND class = ? AND object = ?
                """).first(key.values).map(changed)
        }
    }

    static func changed(_ row: Row) throws -> ChangedObject {
        guard let board = InstallationID(row["board"] as String),
            let app = AppName(row["app"] as String)
        else { throw damagedData("board") }
        var members: [String: JSONValue]?
        if let bytes = row["members"] as Data? {
            members = try JSONValue(
                parsing: Array(bytes), limit: ObjectMembers.limit).asObject
        }
        return ChangedObject(
            board: board, app: app, createdAt: Timestamp(milliseconds: row["created_at"]),
            updatedAt: Timestamp(milliseconds: row["updated_at"]),
            receivedAt: Timestamp(milliseconds: row["received_at"]), members: members,
            awaitsCreation: row["awaits"], isMixed: row["mixed"])
    }

    /// The record that made an object, and whether a later write changed that.
    static func creation(
        _ key: ObjectKey, in database: Database
    ) throws(AuthorityError) -> (record: DataRecord, isChanged: Bool)? {
        guard let creation = key.id.creation else { return nil }
        return try asStore {
            let row = try database.cachedStatement(sql: """
                SELECT \(recordColumns) FROM feeds f CROSS JOIN records r ON r.feed = f.id
                WHERE f.owner = ? AND f.board = ? AND f.class = ? AND r.seq = ? AND r.kind <= 1
                """).first([
                    key.owner.description, creation.board.description,
                    key.className.description, creation.sequence,
                ])
            return try row.map { row in
                (try record(row, creation.board, key.className), row["kind"] == 1)
            }
        }
    }

    static func record(
        _ row: Row, _ board: InstallationID, _ className: ClassName
    ) throws -> DataRecord {
        guard let kind = RecordKind(rawValue: row["kind"]),
            let app = AppName(row["app"] as String),
            let path = RecordPath(
                className: className, operation: kind.operation,
                record: (row["object"] as String?).flatMap { RecordID($0) })
        else { throw damagedData("kind") }
        let writtenAt = RecordRowID.time(of: row["id"])
        return DataRecord(
            board: board, sequence: row["seq"], path: path, app: app, writtenAt: writtenAt,
            receivedAt: Timestamp(milliseconds: writtenAt.milliseconds &+ (row["wait"] as Int64)),
            payload: Array(row["payload"] as Data))
    }

    static func asStore<R>(_ body: () throws -> R) throws(AuthorityError) -> R {
        do { return try body() } catch { throw storeFailure(error) }
    }
}
