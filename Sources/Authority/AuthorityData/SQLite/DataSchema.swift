import AuthorityCore
import GRDB
import Sessions

/// The tables of `data.db`.
enum DataSchema {
    static let version: Int64 = 1

    /// The id of a record holds the time at which it was written, so that records are in the order
    /// of time. The low bits tell records of the same millisecond apart.
    private static let statements = [
        "CREATE TABLE schema_version (number INTEGER NOT NULL) STRICT",
        "INSERT INTO schema_version (number) VALUES (\(version))",
        """
        CREATE TABLE totals (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID
        """,
        "INSERT INTO totals (name, number) VALUES ('records', 0)",
        """
        CREATE TABLE feeds (
            id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, board TEXT NOT NULL,
            class TEXT NOT NULL, UNIQUE (owner, board, class)
        ) STRICT
        """,
        "CREATE INDEX feeds_board ON feeds (board)",
        "CREATE TABLE seen (board TEXT PRIMARY KEY, ranges BLOB NOT NULL) STRICT, WITHOUT ROWID",
        """
        CREATE TABLE releases (
            owner TEXT NOT NULL, board TEXT NOT NULL, at INTEGER NOT NULL,
            settled INTEGER NOT NULL, PRIMARY KEY (owner, board)
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX releases_at ON releases (settled, at)",
        """
        CREATE TABLE records (
            id INTEGER PRIMARY KEY, feed INTEGER NOT NULL, kind INTEGER NOT NULL,
            seq INTEGER NOT NULL, wait INTEGER NOT NULL, app TEXT NOT NULL, object TEXT,
            payload BLOB NOT NULL
        ) STRICT
        """,
        "CREATE INDEX records_feed ON records (feed, kind)",
        "CREATE INDEX records_seq ON records (feed, seq)",
        """
        CREATE TABLE series (
            id INTEGER PRIMARY KEY AUTOINCREMENT, feed INTEGER NOT NULL, object TEXT NOT NULL,
            field TEXT NOT NULL, number REAL, text TEXT, written_at INTEGER NOT NULL,
            received_at INTEGER NOT NULL, UNIQUE (feed, object, field)
        ) STRICT
        """,
        """
        CREATE TABLE rollups (
            series INTEGER NOT NULL, minute INTEGER NOT NULL, least REAL NOT NULL,
            greatest REAL NOT NULL, sum REAL NOT NULL, count INTEGER NOT NULL,
            late INTEGER NOT NULL, PRIMARY KEY (series, minute)
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE objects (
            owner TEXT NOT NULL, class TEXT NOT NULL, object TEXT NOT NULL, board TEXT NOT NULL,
            app TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
            received_at INTEGER NOT NULL, members BLOB, awaits INTEGER NOT NULL,
            mixed INTEGER NOT NULL,
            PRIMARY KEY (owner, class, object)
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX objects_created ON objects (owner, class, created_at)",
        "CREATE INDEX objects_updated ON objects (owner, class, updated_at)",
        "CREATE INDEX objects_age ON objects (updated_at)",
        "CREATE INDEX objects_board ON objects (board)",
        "CREATE INDEX objects_awaiting ON objects (awaits) WHERE awaits = 1",
    ]

    /// Makes the tables in an empty file, outside of a transaction.
    ///
    /// - Throws: `failed(layer: "schema")` if there are tables of another version. Then nothing was
    ///   changed.
    static func make(in database: Database, at path: String) throws {
        guard try !isMade(in: database, at: path) else { return }
        // The file takes this setting over only when it is written as a whole.
        try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
        try database.inTransaction(.immediate) {
            for statement in statements { try database.execute(sql: statement) }
            return .commit
        }
    }

    private static func isMade(in database: Database, at path: String) throws -> Bool {
        func has(_ table: String) throws -> Bool {
            try Bool.fetchOne(
                database,
                sql: "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?",
                arguments: [table]) ?? false
        }
        guard try has("schema_version") else { return false }
        let found = try Int64.fetchOne(database, sql: "SELECT number FROM schema_version") ?? 0
        guard found == version, try has("records") else {
            throw AuthorityError.failed(
                layer: "schema",
                text: "\(path): its tables have version \(found), and this program knows only "
                    + "version \(version); install the version of the program that wrote it")
        }
        return true
    }
}

/// The id of a row of `records`.
enum RecordRowID {
    /// The bits that tell records of one millisecond apart.
    static let bits: Int64 = 20
    static let mask: Int64 = 1 << bits - 1
    /// The year 2248. Later times do not fit.
    static let latest: Int64 = 1 << 43 - 1

    /// The first id of a time.
    static func first(at time: Timestamp) -> Int64 { min(time.milliseconds, latest) << bits }

    static func time(of id: Int64) -> Timestamp { Timestamp(milliseconds: id >> bits) }

    /// The ids to try, in order. The first follows the sequence, so that few records collide.
    static func candidate(_ record: DataRecord, feed: Int64, attempt: Int64) -> Int64 {
        let first = first(at: record.writtenAt)
        guard attempt > 0 else { return first | record.sequence & mask }
        // Spread by a mix of the number of tries, so that runs of taken ids are left. A millisecond
        // that is full overflows into the next ones.
        let seed = record.sequence &+ feed &* 0x2545_F491_4F6C_DD1D &+ attempt
        let mixed = (seed ^ seed >> 29) &* 0x5851_F42D_4C95_7F2D
        return first &+ (attempt / 16) << bits | (mixed >> 33) & mask
    }
}
