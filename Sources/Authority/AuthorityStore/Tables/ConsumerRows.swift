import AuthorityCore
import Gate
import PostgreSQLClient
import Sessions

/// Broker logins of consumers.
extension StoreTransaction {
    func consumer(_ id: ObjectID) throws(AuthorityError) -> ConsumerRecord? {
        try row("SELECT * FROM consumers WHERE id = ?", [id.description]).map(readConsumer)
    }

    func consumers(of user: UserID) throws(AuthorityError) -> [ConsumerRecord] {
        try map(
            try rows(
                "SELECT * FROM consumers WHERE user_id = ? ORDER BY name", [user.description]),
            readConsumer)
    }

    func everyConsumer() throws(AuthorityError) -> [ObjectID] {
        try every("id", in: "consumers", ObjectID.init)
    }

    func consumers(
        endedBy time: Timestamp, limit: Int
    ) throws(AuthorityError) -> [ConsumerRecord] {
        try map(
            try rows(
                "SELECT * FROM consumers WHERE until <= ? ORDER BY until LIMIT ?",
                [time.milliseconds, limit]),
            readConsumer)
    }

    func insert(_ consumer: ConsumerRecord) throws(AuthorityError) -> Bool {
        try change(
            """
            INSERT INTO consumers
                (id, user_id, name, boards, classes, created_at, until, password)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, name) DO NOTHING
            """,
            [consumer.id.description, consumer.user.description, consumer.name.description,
             Self.list(consumer.boards), Self.list(consumer.classes),
             consumer.createdAt.milliseconds, consumer.until?.milliseconds,
             try wrapping.wrap(consumer.password, place: place(ofConsumer: consumer.id))]) == 1
    }

    func setBoards(_ boards: [InstallationID], of consumer: ObjectID) throws(AuthorityError) {
        try run(
            "UPDATE consumers SET boards = ? WHERE id = ?",
            [Self.list(boards), consumer.description])
    }

    func deleteConsumer(_ id: ObjectID) throws(AuthorityError) -> Bool {
        try change("DELETE FROM consumers WHERE id = ?", [id.description]) == 1
    }

    private func place(ofConsumer id: ObjectID) -> String { "consumers.password \(id)" }

    static func list<T: CustomStringConvertible>(_ all: [T]?) -> String? {
        all.map { $0.map(\.description).joined(separator: " ") }
    }

    func list<T>(
        _ column: String, _ row: SQLRow, _ parse: (Substring) -> T?
    ) throws(AuthorityError) -> [T]? {
        guard let text = try row.optional(column, as: String.self) else { return nil }
        let words = text.split(separator: " ")
        let all = words.compactMap(parse)
        guard all.count == words.count else { throw damaged(column) }
        return all
    }

    private func readConsumer(_ row: SQLRow) throws(AuthorityError) -> ConsumerRecord {
        let id = try row.parsed("id", ObjectID.init)
        return ConsumerRecord(
            id: id, user: try row.parsed("user_id", UserID.init),
            name: try row.parsed("name", ConsumerName.init),
            boards: try list("boards", row) { InstallationID(String($0)) },
            classes: try list("classes", row) { ClassName($0) },
            createdAt: try row.time("created_at"), until: try row.optionalTime("until"),
            password: try wrapping.unwrap(
                try row.bytes("password"), place: place(ofConsumer: id)))
    }
}

/// The boards' sensors that consumers find in Home Assistant.
extension StoreTransaction {
    func sensors(of board: InstallationID) throws(AuthorityError) -> [SensorID] {
        let row = try row(
            "SELECT ids FROM sensors WHERE installation_id = ?", [board.description])
        guard let row else { return [] }
        return try list("ids", row) { SensorID($0) } ?? []
    }

    func setSensors(_ sensors: [SensorID], of board: InstallationID) throws(AuthorityError) {
        guard !sensors.isEmpty else {
            return try run("DELETE FROM sensors WHERE installation_id = ?", [board.description])
        }
        try run(
            """
            INSERT INTO sensors (installation_id, ids, count) VALUES (?, ?, ?)
            ON CONFLICT (installation_id) DO UPDATE SET
                ids = excluded.ids, count = excluded.count
            """, [board.description, Self.list(sensors), sensors.count])
    }

    func sensorCount() throws(AuthorityError) -> Int {
        let found: Int64? = try row(
            "SELECT CAST(coalesce(sum(count), 0) AS BIGINT) AS number FROM sensors"
        ).map { row throws(AuthorityError) in try row.value("number") }
        return Int(clamping: found ?? 0)
    }

    func boardsWithSensors(
        released: Bool, limit: Int
    ) throws(AuthorityError) -> [InstallationID] {
        let found = try rows(
            """
            SELECT installation_id FROM sensors JOIN boards ON boards.id = installation_id
            \(released ? "WHERE boards.released" : "") ORDER BY installation_id LIMIT ?
            """, [limit])
        return try map(found) { row throws(AuthorityError) in
            try row.parsed("installation_id", InstallationID.init)
        }
    }
}
