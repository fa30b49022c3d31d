/// The tables, and what SQLite is told before it touches them.
enum Schema {
    /// In `PRAGMA user_version`: the newest schema that this program knows.
    static let version = 2
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
        CREATE TABLE window (last INTEGER PRIMARY KEY, sealed BLOB NOT NULL) STRICT;
        \(queueTables)
        PRAGMA application_id=\(application);
        """

    /// The tables that schema 2 brought. A row of `batch` holds writes whose sequences lie in
    /// first...last; `classes` has a bit for each class among them, by its place in a list
    /// that stands in the sealed state.
    static let queueTables = """
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id IN (1, 2)), last INTEGER NOT NULL,
            sealed BLOB NOT NULL
        ) STRICT;
        CREATE TABLE batch (
            first INTEGER PRIMARY KEY, last INTEGER NOT NULL, count INTEGER NOT NULL,
            oldest INTEGER NOT NULL, classes INTEGER NOT NULL, sid TEXT NOT NULL,
            user TEXT NOT NULL, body BLOB NOT NULL
        ) STRICT;
        CREATE TABLE dead (
            seq INTEGER PRIMARY KEY, buried INTEGER NOT NULL, sid TEXT NOT NULL,
            user TEXT NOT NULL, body BLOB NOT NULL
        ) STRICT;
        CREATE TABLE aside (
            first INTEGER PRIMARY KEY, last INTEGER NOT NULL, user TEXT NOT NULL,
            body BLOB NOT NULL
        ) STRICT;
        PRAGMA user_version=\(version);
        """

    /// Each connection's settings. The cache is small, for the board's memory is. Rows of the
    /// queue are not overwritten when they go, for they are sealed; `secureDelete` is switched
    /// on for what touches keys and records.
    static let settings = """
        PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA foreign_keys=ON;
        PRAGMA secure_delete=FAST; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY;
        PRAGMA cache_size=-1024; PRAGMA journal_size_limit=4194304;
        """
}
