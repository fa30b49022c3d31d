import AuthorityCore
import Foundation
import Gate
import PostgreSQLClient
import Sessions
import Wire

extension PostgreSQLTables {
    private static let given = """
        json_to_recordset(($1::text)::json) AS g(owner text, class text, object text)
        """

    func changed(
        _ keys: Set<ObjectKey>
    ) throws(AuthorityError) -> [ObjectKey: ChangedObject] {
        var found: [ObjectKey: ChangedObject] = [:]
        let rows = try rows("""
            SELECT f.* FROM \(Self.given) JOIN data_objects f
                ON f.owner = g.owner AND f.class = g.class AND f.object = g.object
            """, list: keys.map(\.json))
        for row in rows {
            let key = ObjectKey(
                owner: try row.parsed("owner") { UserID($0) },
                className: try row.parsed("class") { ClassName($0) },
                id: try row.parsed("object") { RecordID($0) })
            found[key] = try ChangedObject(row)
        }
        return found
    }

    func save(_ objects: [ObjectKey: ChangedObject?]) throws(AuthorityError) {
        try send("""
            DELETE FROM data_objects f USING \(Self.given)
            WHERE f.owner = g.owner AND f.class = g.class AND f.object = g.object
            """, list: objects.keys.map(\.json))
        for (key, object) in objects {
            guard let object else { continue }
            try send("""
                INSERT INTO data_objects (owner, class, object, board, app, created_at,
                    updated_at, received_at, members, awaits, mixed)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
                """, [
                    .text(key.owner.description), .text(key.className.description),
                    .text(key.id.description), .text(object.board.description),
                    .text(object.app.description), .integer(object.createdAt.milliseconds),
                    .integer(object.updatedAt.milliseconds),
                    .integer(object.receivedAt.milliseconds),
                    object.members.map { .blob(JSONValue.object($0).bytes) } ?? .null,
                    .bool(object.awaitsCreation), .bool(object.isMixed),
                ])
        }
    }

    func anyAwaitsCreation() throws(AuthorityError) -> Bool {
        try !rows("SELECT 1::bigint AS n FROM data_objects WHERE awaits LIMIT 1").isEmpty
    }

    func creation(_ key: ObjectKey) throws(AuthorityError) -> DataRecord? {
        try keptCreation(key)?.record
    }

    /// The record that made an object, and whether a later write changed that.
    func keptCreation(
        _ key: ObjectKey
    ) throws(AuthorityError) -> (record: DataRecord, isChanged: Bool)? {
        guard let creation = key.id.creation else { return nil }
        let row = try rows("""
            SELECT \(Self.recordColumns) FROM data_feeds f JOIN data_records r ON r.feed = f.id
            WHERE f.owner = $1 AND f.board = $2 AND f.class = $3 AND r.seq = $4 AND r.kind <= 1
            LIMIT 1
            """, [
                .text(key.owner.description), .text(creation.board.description),
                .text(key.className.description), .integer(creation.sequence),
            ]).first
        guard let row else { return nil }
        return (try DataRecord(row), try row.integer("kind") == 1)
    }

    func hideCreations(_ keys: Set<ObjectKey>) throws(AuthorityError) {
        for key in keys {
            guard let creation = key.id.creation else { continue }
            try send("""
                UPDATE data_records SET kind = 1 WHERE seq = $4 AND kind = 0 AND feed = (
                    SELECT id FROM data_feeds WHERE owner = $1 AND board = $2 AND class = $3)
                """, [
                    .text(key.owner.description), .text(creation.board.description),
                    .text(key.className.description), .integer(creation.sequence),
                ])
        }
    }

    /// For a query with the tables `r` and `f`.
    static let recordColumns = """
        \(PostgreSQLDataSchema.milliseconds("r.written_at")) AS written, f.board AS board, \
        f.class AS class, r.feed AS feed, r.kind AS kind, r.seq AS seq, r.wait AS wait, \
        r.app AS app, r.object AS object, r.payload AS payload
        """
}

extension ObjectKey {
    fileprivate var json: JSONValue {
        .object([
            "owner": .string(owner.description), "class": .string(className.description),
            "object": .string(id.description),
        ])
    }
}

extension ChangedObject {
    init(_ row: SQLRow) throws(AuthorityError) {
        var members: [String: JSONValue]?
        if row["members"] != .null {
            do throws(WireError) {
                members = try JSONValue(
                    parsing: row.blobOrEmpty("members"), limit: ObjectMembers.limit).asObject
            } catch {
                throw damagedData("members")
            }
        }
        self.init(
            board: try row.parsed("board", InstallationID.init),
            app: try row.parsed("app") { AppName($0) }, createdAt: try row.time("created_at"),
            updatedAt: try row.time("updated_at"), receivedAt: try row.time("received_at"),
            members: members, awaitsCreation: row["awaits"] == .bool(true),
            isMixed: row["mixed"] == .bool(true))
    }
}

extension SQLRow {
    /// Empty bytes are no JSON, so the caller finds the column damaged.
    fileprivate func blobOrEmpty(_ column: String) -> [UInt8] {
        if case .blob(let bytes)? = self[column] { bytes } else { [] }
    }
}

extension DataRecord {
    /// A row with `PostgreSQLTables.recordColumns`.
    init(_ row: SQLRow) throws(AuthorityError) {
        guard let kind = RecordKind(rawValue: try row.integer("kind")),
            let path = RecordPath(
                className: try row.parsed("class") { ClassName($0) }, operation: kind.operation,
                record: row.optionalText("object").flatMap { RecordID($0) })
        else { throw damagedData("kind") }
        let written = try row.integer("written")
        self.init(
            board: try row.parsed("board", InstallationID.init), sequence: try row.integer("seq"),
            path: path, app: try row.parsed("app") { AppName($0) },
            writtenAt: Timestamp(milliseconds: written),
            receivedAt: Timestamp(milliseconds: written &+ (try row.integer("wait"))),
            payload: try row.blob("payload"))
    }
}
