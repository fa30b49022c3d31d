import AuthorityCore
import PostgreSQLClient

/// The tables of the records in the database of the sessions. Their names begin with `data_`.
///
/// Records are in partitions by the day on which they were written. The partition `data_past` has
/// the records of days that have no other.
enum PostgreSQLDataSchema {
    static let version: Int64 = 1
    /// Any number that nothing else in this database locks. The holder changes the records.
    static let lock: Int64 = 0x706F_7374_6572_6E04
    static let day: Int64 = 86_400_000
    /// The row of `data_days` that counts the records of `data_past`.
    static let past: Int64 = -1

    /// The time of a number of milliseconds.
    static func time(_ milliseconds: String) -> String {
        "(timestamptz 'epoch' + \(milliseconds)::bigint * interval '1 millisecond')"
    }

    static func milliseconds(_ time: String) -> String {
        "(extract(epoch FROM \(time)) * 1000)::bigint"
    }

    /// Makes the tables if there are none.
    ///
    /// - Throws: `failed(layer: "schema")` if there are tables of another version.
    static func make(
        in connection: PostgresConnection, at place: String
    ) throws(PostgresError) -> AuthorityError? {
        try connection.begin()
        _ = try connection.query("SELECT pg_advisory_xact_lock($1)", [.integer(lock)])
        let found = try connection.query(
            "SELECT to_regclass('data_version') IS NOT NULL AS made").first?["made"]
        if found == .bool(true) {
            let row = try connection.query("SELECT number FROM data_version").first
            connection.rollback()
            guard case .integer(version)? = row?["number"] else {
                return .failed(
                    layer: "schema",
                    text: "\(place): the records of boards have tables of another version; "
                        + "install the version of the program that wrote it")
            }
            return nil
        }
        for statement in statements { _ = try connection.change(statement) }
        let hasNames = try connection.query(
            "SELECT to_regclass('boards') IS NOT NULL AS made").first?["made"]
        _ = try connection.change(view(withNames: hasNames == .bool(true)))
        try connection.commit()
        return nil
    }

    private static let statements = [
        "CREATE TABLE data_version (number BIGINT NOT NULL)",
        "INSERT INTO data_version (number) VALUES (\(version))",
        """
        CREATE TABLE data_feeds (
            id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            owner TEXT COLLATE "C" NOT NULL, board TEXT COLLATE "C" NOT NULL,
            class TEXT COLLATE "C" NOT NULL, UNIQUE (owner, board, class)
        )
        """,
        "CREATE TABLE data_seen (board TEXT COLLATE \"C\" PRIMARY KEY, ranges BYTEA NOT NULL)",
        """
        CREATE TABLE data_releases (
            owner TEXT COLLATE "C" NOT NULL, board TEXT COLLATE "C" NOT NULL, at BIGINT NOT NULL,
            settled BOOLEAN NOT NULL, PRIMARY KEY (owner, board)
        )
        """,
        "CREATE INDEX data_releases_at ON data_releases (settled, at)",
        """
        CREATE TABLE data_days (
            day BIGINT PRIMARY KEY, records BIGINT NOT NULL, bytes BIGINT NOT NULL
        ) WITH (fillfactor = 50)
        """,
        "INSERT INTO data_days (day, records, bytes) VALUES (\(past), 0, 0)",
        """
        CREATE TABLE data_records (
            written_at TIMESTAMPTZ NOT NULL, feed BIGINT NOT NULL, seq BIGINT NOT NULL,
            kind SMALLINT NOT NULL, wait BIGINT NOT NULL, app TEXT COLLATE "C" NOT NULL,
            object TEXT COLLATE "C", payload BYTEA NOT NULL
        ) PARTITION BY RANGE (written_at)
        """,
        "CREATE INDEX data_records_feed ON data_records (feed, written_at, seq, kind)",
        "CREATE INDEX data_records_seq ON data_records (feed, seq)",
        "CREATE TABLE data_past PARTITION OF data_records DEFAULT",
        """
        CREATE TABLE data_series (
            id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, feed BIGINT NOT NULL,
            object TEXT COLLATE "C" NOT NULL, field TEXT COLLATE "C" NOT NULL,
            number DOUBLE PRECISION, text TEXT, written_at BIGINT NOT NULL,
            received_at BIGINT NOT NULL, UNIQUE (feed, object, field)
        ) WITH (fillfactor = 70)
        """,
        """
        CREATE TABLE data_rollups (
            series BIGINT NOT NULL, minute BIGINT NOT NULL, least DOUBLE PRECISION NOT NULL,
            greatest DOUBLE PRECISION NOT NULL, sum DOUBLE PRECISION NOT NULL,
            count BIGINT NOT NULL, late BOOLEAN NOT NULL, PRIMARY KEY (series, minute)
        ) WITH (fillfactor = 80)
        """,
        "CREATE INDEX data_rollups_minute ON data_rollups (minute)",
        """
        CREATE TABLE data_objects (
            owner TEXT COLLATE "C" NOT NULL, class TEXT COLLATE "C" NOT NULL,
            object TEXT COLLATE "C" NOT NULL, board TEXT COLLATE "C" NOT NULL,
            app TEXT COLLATE "C" NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
            received_at BIGINT NOT NULL, members BYTEA, awaits BOOLEAN NOT NULL,
            mixed BOOLEAN NOT NULL,
            PRIMARY KEY (owner, class, object)
        )
        """,
        "CREATE INDEX data_objects_created ON data_objects (owner, class, created_at, object)",
        "CREATE INDEX data_objects_updated ON data_objects (owner, class, updated_at, object)",
        "CREATE INDEX data_objects_age ON data_objects (updated_at)",
        "CREATE INDEX data_objects_awaiting ON data_objects (awaits) WHERE awaits",
        """
        CREATE FUNCTION data_json(bytes BYTEA) RETURNS JSONB LANGUAGE plpgsql STABLE STRICT AS $$
        BEGIN
            RETURN convert_from(bytes, 'UTF8')::jsonb;
        EXCEPTION WHEN OTHERS THEN
            BEGIN
                RETURN to_jsonb(convert_from(bytes, 'UTF8'));
            EXCEPTION WHEN OTHERS THEN
                RETURN to_jsonb(encode(bytes, 'base64'));
            END;
        END
        $$
        """,
    ]

    /// The view for people who write SQL. It is documented in REPLICAS.md.
    private static func view(withNames: Bool) -> String {
        """
        CREATE VIEW postern_data AS
        SELECT r.written_at AS time, r.written_at + r.wait * interval '1 millisecond' AS received,
            f.board AS board, \(withNames ? "b.name" : "NULL::text") AS board_name,
            f.owner AS owner, f.class AS class, r.app AS app,
            CASE r.kind WHEN 2 THEN 'update' WHEN 3 THEN 'delete' ELSE 'create' END AS operation,
            coalesce(r.object, f.board || '-' || r.seq) AS object_id,
            r.seq AS seq, data_json(r.payload) AS payload
        FROM data_records r JOIN data_feeds f ON f.id = r.feed
        \(withNames ? "LEFT JOIN boards b ON b.id = f.board" : "")
        """
    }
}
