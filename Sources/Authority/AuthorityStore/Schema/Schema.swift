import AuthorityCore
import PostgreSQLClient

/// Makes the tables of a store, and recognizes a store of another version.
package enum Schema {
    /// The version of these tables. A release that changes the tables raises it, and upgrades
    /// stores of earlier versions.
    package static let version: Int64 = 1

    /// A table with one row: the version.
    private static let mark = Table(
        name: "schema_version", columns: [.integer("number")], key: ["number"])

    /// Makes the tables if the database has none. Runs in a transaction. The caller must make sure
    /// that nobody else does the same at that time.
    ///
    /// - Throws: `failed(layer: "schema")` if there is a store of another version.
    static func make(
        in store: any SQLRunner, at place: String
    ) throws(AuthorityError) {
        guard try !isMade(in: store, at: place) else { return }
        let dialect = store.dialect
        for statement in dialect.before { try store.run(statement, []) }
        for table in [mark] + tables {
            for statement in dialect.statements(of: table) { try store.run(statement, []) }
        }
        for statement in dialect.after { try store.run(statement, []) }
        try store.run(
            "INSERT INTO schema_version (number) VALUES (?)", [.integer(version)])
    }

    /// Whether the tables exist in this version.
    ///
    /// - Throws: `failed(layer: "schema")` if they have another version, or none.
    static func isMade(
        in store: any SQLRunner, at place: String
    ) throws(AuthorityError) -> Bool {
        let found = try found(in: store)
        if let found, found != version {
            throw .failed(
                layer: "schema", text: "\(place): \(fault(of: found)); \(advice)")
        }
        return found != nil
    }

    /// The version of a store's tables; nil if there are no tables, 0 if they name no version.
    static func found(in store: any SQLRunner) throws(AuthorityError) -> Int64? {
        guard try has(mark.name, in: store) else {
            return try has("sessions", in: store) ? 0 : nil
        }
        let row = try store.rows("SELECT number FROM schema_version", []).first
        guard let row else { throw damaged("number") }
        return try row.value("number")
    }

    /// Describes the fault of a store with this version.
    package static func fault(of version: Int64) -> String {
        "its tables have version \(version), and this program knows only version \(Self.version)"
    }

    package static let advice = "install the version of the program that wrote it"

    private static func has(
        _ table: String, in store: any SQLRunner
    ) throws(AuthorityError) -> Bool {
        try !store.rows(store.dialect.isTable, [.text(table)]).isEmpty
    }
}

/// The statements of one database that the tables of `Schema` need.
extension SQLDialect {
    fileprivate var isTable: String {
        switch self {
        case .sqlite: "SELECT 1 AS n FROM sqlite_master WHERE type = 'table' AND name = ?"
        // Reading `pg_class` first takes in what other sessions made while this one waited for its
        // lock; `to_regclass` alone may answer from a cache.
        case .postgreSQL: "SELECT 1::bigint AS n FROM pg_class WHERE oid = to_regclass(?::text)"
        }
    }

    fileprivate var before: [String] { self == .postgreSQL ? Self.numbering : [] }

    fileprivate var after: [String] {
        switch self {
        case .sqlite: [
            """
            CREATE TRIGGER timeline_bound AFTER INSERT ON timeline BEGIN
                \(Self.timelineBound);
            END
            """,
        ]
        case .postgreSQL: [
            """
            CREATE FUNCTION bound_timeline() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                \(Self.timelineBound);
                RETURN NULL;
            END
            $$
            """,
            """
            CREATE TRIGGER timeline_bound AFTER INSERT ON timeline
                FOR EACH ROW EXECUTE FUNCTION bound_timeline()
            """,
            Self.news,
        ]
        }
    }

    /// The database keeps the limit of a timeline. This costs nothing if a row is only counted up.
    private static let timelineBound = """
        DELETE FROM timeline WHERE installation_id = NEW.installation_id AND number <= (
            SELECT number FROM timeline WHERE installation_id = NEW.installation_id
            ORDER BY number DESC LIMIT 1 OFFSET \(TimelineRules.limit))
        """

    /// Numbers for readers that follow the commits of others. The high part is the transaction's
    /// number. So a row below the oldest open transaction is visible, and no lower number comes
    /// later. A plain counter gives out numbers before the commits, in another order.
    ///
    /// `base` raises the numbers above those of another cluster, after records were moved here.
    ///
    /// Source: PostgreSQL, 9.27 "Transaction ID and Snapshot Information Functions".
    private static let numbering = [
        "CREATE TABLE numbering (base BIGINT NOT NULL)",
        "INSERT INTO numbering (base) VALUES (0)",
        "CREATE SEQUENCE number_in_transaction MINVALUE 0 MAXVALUE 1048575 CYCLE",
        """
        CREATE FUNCTION next_number() RETURNS BIGINT LANGUAGE sql VOLATILE AS $$
            SELECT base + pg_current_xact_id()::text::bigint * 1048576
                + nextval('number_in_transaction') FROM numbering
        $$
        """,
        """
        CREATE FUNCTION settled_below() RETURNS BIGINT LANGUAGE sql STABLE AS $$
            SELECT base + pg_snapshot_xmin(pg_current_snapshot())::text::bigint * 1048576
            FROM numbering
        $$
        """,
    ]

    /// Counts the commits of each store on this database that others watch for. Each connection has
    /// a row of its own, so that no two transactions write to the same row.
    private static let news = """
        CREATE TABLE news (
            store TEXT COLLATE "C" NOT NULL,
            connection BIGINT NOT NULL,
            count BIGINT NOT NULL,
            at TIMESTAMPTZ NOT NULL,
            PRIMARY KEY (store, connection)
        ) WITH (fillfactor = 50)
        """
}
