/// The tables, and what SQLite is told before it touches them.
enum Schema {
    /// In `PRAGMA user_version`: the newest schema that this program knows.
    static let version = 1
    /// In `PRAGMA application_id`: the letters "Pstn". Its absence tells an empty file, or
    /// another program's, from a board database.
    static let application = 0x5073_746E

    /// Must come before the first table. Source: sqlite.org/pragma.html#pragma_auto_vacuum.
    static let beforeTables = "PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL;"

    static let tables = """
        CREATE TABLE keys (
            purpose TEXT PRIMARY KEY, generation INTEGER NOT NULL, wrapped BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE vault (name TEXT PRIMARY KEY, sealed BLOB NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL, sealed BLOB NOT NULL
        ) STRICT;
        CREATE TABLE queue (
            seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, sid TEXT NOT NULL,
            user TEXT NOT NULL, body BLOB NOT NULL
        ) STRICT;
        CREATE TABLE window (last INTEGER PRIMARY KEY, sealed BLOB NOT NULL) STRICT;
        CREATE TABLE aside (
            seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, sid TEXT NOT NULL,
            user TEXT NOT NULL, body BLOB NOT NULL, reason TEXT NOT NULL
        ) STRICT;
        PRAGMA user_version=\(version);
        PRAGMA application_id=\(application);
        """

    /// Each connection's settings. The cache is small, for the board's memory is.
    static let settings = """
        PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA foreign_keys=ON;
        PRAGMA secure_delete=ON; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY;
        PRAGMA cache_size=-1024; PRAGMA journal_size_limit=4194304;
        """
}
