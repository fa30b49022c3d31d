/// The few places where the databases have no words in common.
package enum SQLDialect: Sendable {
    case sqlite
    case postgreSQL

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

    /// SQLite numbers a row by itself where it is given none.
    var newTimelineNumber: String {
        switch self {
        case .sqlite: "NULL"
        case .postgreSQL: "nextval('timeline_number_seq')"
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

    /// The hour of a session's last use, as its index has it.
    var hourSeen: String {
        switch self {
        case .sqlite: "last_seen / 3600000"
        case .postgreSQL: "hour_seen"
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
