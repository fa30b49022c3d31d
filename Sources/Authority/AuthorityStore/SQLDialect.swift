/// The few places where the SQL of the databases differs.
enum SQLDialect: Sendable {
    case sqlite
    case postgreSQL

    /// The LIMIT for a query that needs only an OFFSET.
    var unlimited: String {
        switch self {
        case .sqlite: "-1"
        case .postgreSQL: "ALL"
        }
    }

    /// Folds upper and lower case, for ASCII letters only, in any language setting of the database.
    func folded(_ text: String) -> String {
        switch self {
        case .sqlite: "lower(\(text))"
        case .postgreSQL: "lower(\(text) COLLATE \"C\")"
        }
    }

    /// Where the first text is in the second, counted from 1; 0 if it is not there. No character
    /// has a meaning of its own, as `%` has for LIKE.
    func place(of part: String, in text: String) -> String {
        switch self {
        case .sqlite: "instr(\(text), \(part))"
        case .postgreSQL: "strpos(\(text), \(part))"
        }
    }

    /// The number of a new timeline row. SQLite numbers a row itself if the number is NULL.
    var newTimelineNumber: String {
        switch self {
        case .sqlite: "NULL"
        case .postgreSQL: "nextval('timeline_number_seq')"
        }
    }

    /// Touches a board again: its old row is replaced by a row with a new number.
    var touch: String {
        switch self {
        case .sqlite: "INSERT OR REPLACE INTO touches (installation_id) VALUES (?)"
        case .postgreSQL: """
            INSERT INTO touches (installation_id) VALUES (?)
            ON CONFLICT (installation_id) DO UPDATE SET number = excluded.number
            """
        }
    }

    /// A condition that leaves out rows before which a lower number may still be committed. SQLite
    /// has one writer, so its numbers follow the order of the commits. PostgreSQL has several
    /// writers, so its numbers do not.
    var settled: String {
        switch self {
        case .sqlite: ""
        case .postgreSQL: "AND number < settled_below()"
        }
    }

    /// The hour of a session's last use, in the form that its index has.
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

    /// The size of the database, in bytes.
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
