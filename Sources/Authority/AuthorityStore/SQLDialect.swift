/// The few places where the databases have no words in common.
package enum SQLDialect: Sendable {
    case sqlite
    case postgreSQL

    /// What tells rows apart in a table without a key.
    var rowID: String {
        switch self {
        case .sqlite: "rowid"
        case .postgreSQL: "ctid"
        }
    }

    /// For a LIMIT that is there for the sake of its OFFSET.
    var unlimited: String {
        switch self {
        case .sqlite: "-1"
        case .postgreSQL: "ALL"
        }
    }

    /// Upper and lower case as one, for ASCII alone, whatever the database's language is.
    func folded(_ text: String) -> String {
        switch self {
        case .sqlite: "lower(\(text))"
        case .postgreSQL: "lower(\(text) COLLATE \"C\")"
        }
    }

    /// Finds a user by name, by the index that keeps names apart.
    var isUser: String {
        switch self {
        case .sqlite: "username = ?"
        case .postgreSQL: "lower(username) = \(folded("?"))"
        }
    }

    /// SQLite numbers a row by itself where it is given none.
    var newTimelineNumber: String {
        switch self {
        case .sqlite: "NULL"
        case .postgreSQL: "nextval('timeline_number')"
        }
    }

    /// A board that is touched again takes a new number, and its old row goes.
    var touch: String {
        switch self {
        case .sqlite: "INSERT OR REPLACE INTO touches (installation_id) VALUES (?)"
        case .postgreSQL: """
            INSERT INTO touches (installation_id) VALUES (?)
            ON CONFLICT (installation_id) DO UPDATE SET number = excluded.number
            """
        }
    }

    /// Leaves out what may still be joined by a lower number: SQLite's one writer gives numbers
    /// in the order of the commits, several of PostgreSQL do not.
    var settled: String {
        switch self {
        case .sqlite: ""
        case .postgreSQL: "AND number < settled_below()"
        }
    }

    /// PostgreSQL has an index on the hour alone, which an hour of heartbeats leaves as it is.
    func idleSince(_ time: String) -> String {
        switch self {
        case .sqlite: "last_seen <= \(time)"
        case .postgreSQL: "hour_seen <= CAST(\(time) AS BIGINT) / 3600000 AND last_seen <= \(time)"
        }
    }

    var newestEntry: String {
        switch self {
        case .sqlite: """
            SELECT coalesce(max(seq), 0) AS newest FROM sqlite_sequence WHERE name = 'audit'
            """
        case .postgreSQL: """
            SELECT coalesce(max(number), 0) AS newest FROM audit WHERE true \(settled)
            """
        }
    }

    /// How much room the records take, in bytes.
    var size: String {
        switch self {
        case .sqlite: """
            SELECT page_count * page_size AS number
            FROM pragma_page_count(), pragma_page_size()
            """
        case .postgreSQL: "SELECT pg_database_size(current_database()) AS number"
        }
    }
}
