/// A statement that the server knows by name, on one connection.
struct PreparedStatement {
    let name: String
    let parameters: [ServerType]
    let columns: SQLColumns
    let types: [ServerType]
}

/// The prepared statements of one connection, by SQL text. The least recently used one is dropped
/// first.
struct PreparedStatements {
    private var bySQL: [String: (statement: PreparedStatement, lastUse: UInt64)] = [:]
    private var uses: UInt64 = 0
    private var names: UInt64 = 0
    private let limit: Int

    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    var count: Int { bySQL.count }

    /// A new name for a statement on this connection.
    mutating func newName() -> String {
        names += 1
        return "s\(names)"
    }

    mutating func find(_ sql: String) -> PreparedStatement? {
        uses += 1
        // One lookup, and its index is then used for the write.
        guard let place = bySQL.index(forKey: sql) else { return nil }
        bySQL.values[place].lastUse = uses
        return bySQL.values[place].statement
    }

    /// Adds `statement`. Returns the name of a dropped statement if the limit was reached.
    mutating func add(_ statement: PreparedStatement, _ sql: String) -> String? {
        var dropped: String?
        if bySQL.count >= limit, let oldest = bySQL.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            bySQL[oldest.key] = nil
            dropped = oldest.value.statement.name
        }
        bySQL[sql] = (statement, uses)
        return dropped
    }
}
