import AuthorityCore

extension PostgreSQLTables {
    /// The bound of a timeline is the database's to keep, and costs nothing where a row is
    /// only counted up.
    static let timeline = [
        "CREATE SEQUENCE timeline_number",
        """
        CREATE TABLE timeline (
            number BIGINT PRIMARY KEY DEFAULT nextval('timeline_number'),
            installation_id TEXT COLLATE "C" NOT NULL,
            session_id TEXT COLLATE "C",
            event TEXT COLLATE "C" NOT NULL,
            at BIGINT NOT NULL,
            until BIGINT NOT NULL,
            count BIGINT NOT NULL,
            detail TEXT COLLATE "C" NOT NULL
        ) WITH (fillfactor = 80)
        """,
        "CREATE INDEX timeline_of_board ON timeline (installation_id, number)",
        "CREATE INDEX timeline_of_session ON timeline (session_id)",
        """
        CREATE FUNCTION bound_timeline() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM timeline WHERE installation_id = NEW.installation_id AND number <= (
                SELECT number FROM timeline WHERE installation_id = NEW.installation_id
                ORDER BY number DESC LIMIT 1 OFFSET \(TimelineRules.limit));
            RETURN NULL;
        END
        $$
        """,
        """
        CREATE TRIGGER timeline_bound AFTER INSERT ON timeline
            FOR EACH ROW EXECUTE FUNCTION bound_timeline()
        """,
        """
        CREATE TABLE touches (
            number BIGINT PRIMARY KEY DEFAULT next_number(),
            installation_id TEXT COLLATE "C" NOT NULL UNIQUE
        )
        """,
    ]

    static let rest = [
        """
        CREATE TABLE audit (
            number BIGINT PRIMARY KEY DEFAULT next_number(),
            at BIGINT NOT NULL,
            event TEXT COLLATE "C" NOT NULL,
            actor TEXT COLLATE "C" NOT NULL,
            installation_id TEXT COLLATE "C",
            session_id TEXT COLLATE "C",
            detail TEXT COLLATE "C" NOT NULL
        )
        """,
        "CREATE INDEX audit_of_board ON audit (installation_id, number)",
        "CREATE INDEX audit_times ON audit (at)",
        "CREATE TABLE failures (key TEXT COLLATE \"C\" NOT NULL, at BIGINT NOT NULL)",
        "CREATE INDEX failures_by_key ON failures (key, at)",
        "CREATE INDEX failures_by_time ON failures (at)",
        """
        CREATE TABLE keys (
            kind TEXT COLLATE "C" NOT NULL,
            name TEXT COLLATE "C" NOT NULL,
            public BYTEA NOT NULL,
            private BYTEA NOT NULL,
            created_at BIGINT NOT NULL,
            retired_at BIGINT,
            PRIMARY KEY (kind, name)
        )
        """,
        """
        CREATE UNIQUE INDEX key_that_signs ON keys (kind)
            WHERE kind = 'signing' AND retired_at IS NULL
        """,
        "CREATE TABLE times (name TEXT COLLATE \"C\" PRIMARY KEY, at BIGINT NOT NULL)",
    ]

    /// How much each store on this database has committed that others watch for: a row for each
    /// of its connections, so that no two transactions write to one.
    static let news = [
        """
        CREATE TABLE news (
            store TEXT COLLATE "C" NOT NULL,
            connection BIGINT NOT NULL,
            count BIGINT NOT NULL,
            at TIMESTAMPTZ NOT NULL,
            PRIMARY KEY (store, connection)
        ) WITH (fillfactor = 50)
        """,
    ]
}
