import AuthorityCore
import PostgreSQLClient
import Sessions
import Wire

/// Parse's `_Installation` and `_Role`, and the ids of requests.
extension StoreTransaction {
    func installation(_ id: ObjectID) throws(AuthorityError) -> InstallationRecord? {
        try row("SELECT * FROM installations WHERE id = ?", [id.description])
            .map(readInstallation)
    }

    func installation(
        named installation: InstallationID
    ) throws(AuthorityError) -> InstallationRecord? {
        try row(
            "SELECT * FROM installations WHERE installation_id = ?", [installation.description]
        ).map(readInstallation)
    }

    func installations(_ slice: ListSlice) throws(AuthorityError) -> [InstallationRecord] {
        let found = try rows(
            """
            SELECT * FROM installations ORDER BY created_at DESC, id
            LIMIT \(slice.limit) OFFSET \(slice.skip)
            """)
        return try map(found, readInstallation)
    }

    func countInstallations(of owner: UserID?) throws(AuthorityError) -> Int {
        let counted = "SELECT count(*) AS number FROM installations WHERE owner"
        let found = if let owner {
            try row("\(counted) = ?", [owner.description])
        } else {
            try row("\(counted) IS NULL")
        }
        return try found?.value("number") ?? 0
    }

    func save(_ record: InstallationRecord) throws(AuthorityError) {
        try run(
            """
            INSERT INTO installations (
                id, installation_id, owner, fields, created_at, updated_at)
            VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                owner = excluded.owner, fields = excluded.fields,
                updated_at = excluded.updated_at
            """,
            [record.objectID.description, record.installation.description,
             record.owner?.description, JSONValue.object(record.fields).text,
             record.createdAt.milliseconds, record.updatedAt.milliseconds])
    }

    func deleteInstallationsOfNobody(
        savedBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        try change(
            """
            DELETE FROM installations WHERE id IN (
                SELECT id FROM installations WHERE owner IS NULL AND updated_at < ? LIMIT ?)
            """, [time.milliseconds, limit])
    }

    func role(_ id: ObjectID) throws(AuthorityError) -> RoleRecord? {
        try row("SELECT * FROM roles WHERE id = ?", [id.description]).map(readRole)
    }

    func roles() throws(AuthorityError) -> [RoleRecord] {
        try map(try rows("SELECT * FROM roles ORDER BY name"), readRole)
    }

    func save(_ role: RoleRecord) throws(AuthorityError) -> Bool {
        // A role keeps its name, so only a new role can find its name taken.
        let members = [
            role.users.map(\.description).sorted().joined(separator: " "),
            role.roles.map(\.description).sorted().joined(separator: " "),
        ]
        let isKnown = try change(
            "UPDATE roles SET acl = ?, users = ?, roles = ?, updated_at = ? WHERE id = ?",
            [role.acl.json.text, members[0], members[1], role.updatedAt.milliseconds,
             role.objectID.description]) == 1
        if isKnown { return true }
        return try change(
            """
            INSERT INTO roles (id, name, acl, users, roles, created_at, updated_at)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            [role.objectID.description, role.name.description, role.acl.json.text, members[0],
             members[1], role.createdAt.milliseconds, role.updatedAt.milliseconds]) == 1
    }

    func deleteRole(_ id: ObjectID) throws(AuthorityError) {
        try run("DELETE FROM roles WHERE id = ?", [id.description])
    }

    func isSpent(requestHash hash: [UInt8], at now: Timestamp) throws(AuthorityError) -> Bool {
        try row(
            "SELECT ends_at FROM requests WHERE hash = ? AND ends_at > ?",
            [hash, now.milliseconds]) != nil
    }

    func spendRequest(
        hash: [UInt8], of holder: String, until end: Timestamp, at now: Timestamp
    ) throws(AuthorityError) -> Bool {
        try change(
            """
            INSERT INTO requests (hash, holder, ends_at) VALUES (?, ?, ?)
            ON CONFLICT (hash) DO UPDATE SET ends_at = excluded.ends_at
                WHERE requests.ends_at <= ?
            """, [hash, holder, end.milliseconds, now.milliseconds]) == 1
    }

    func requestEnd(
        of holder: String, skipping skipped: Int
    ) throws(AuthorityError) -> Timestamp? {
        try row(
            """
            SELECT ends_at FROM requests WHERE holder = ?
            ORDER BY ends_at DESC LIMIT 1 OFFSET \(skipped)
            """, [holder]
        ).map { row throws(AuthorityError) in try row.time("ends_at") }
    }

    func deleteRequests(
        endedBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        try change(
            """
            DELETE FROM requests WHERE hash IN (
                SELECT hash FROM requests WHERE ends_at <= ? ORDER BY ends_at LIMIT ?)
            """, [time.milliseconds, limit])
    }

    private func readInstallation(_ row: SQLRow) throws(AuthorityError) -> InstallationRecord {
        InstallationRecord(
            objectID: try row.parsed("id", ObjectID.init),
            installation: try row.parsed("installation_id", InstallationID.init),
            owner: try row.parsedOptional("owner") { UserID($0) },
            fields: try row.parsed("fields") { Self.json($0)?.asObject },
            createdAt: try row.time("created_at"), updatedAt: try row.time("updated_at"))
    }

    private func readRole(_ row: SQLRow) throws(AuthorityError) -> RoleRecord {
        RoleRecord(
            objectID: try row.parsed("id", ObjectID.init),
            name: try row.parsed("name", RoleName.init),
            acl: try row.parsed("acl") { Self.json($0).flatMap(AccessList.init(json:)) },
            users: try row.parsed("users") { Self.ids($0) { UserID($0) } },
            roles: try row.parsed("roles") { Self.ids($0, ObjectID.init) },
            createdAt: try row.time("created_at"), updatedAt: try row.time("updated_at"))
    }

    private static func json(_ text: String) -> JSONValue? {
        try? JSONValue(parsing: Array(text.utf8))
    }

    /// Nil if one of the parts is not an id.
    private static func ids<ID: Hashable>(_ text: String, _ parse: (String) -> ID?) -> Set<ID>? {
        let parts = text.split(separator: " ")
        let ids = parts.compactMap { parse(String($0)) }
        return ids.count == parts.count ? Set(ids) : nil
    }
}
