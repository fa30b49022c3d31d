import AuthorityCore

/// The tables as SQLite's store has them, under the same names.
///
/// Text is kept under the collation "C", so that it sorts by its bytes whatever language the
/// database speaks. Tables of which one row is written with every heartbeat leave room in
/// their pages: such an update stays in its page and touches no index.
///
/// Source: PostgreSQL, 73.7 "Heap-Only Tuples".
enum PostgreSQLTables {
    static let first = functions + people + sessions + boards + claims + traffic + timeline
        + rest + news

    /// Numbers by which readers go through what others commit: the transaction's number first,
    /// so that all below the oldest transaction under way are there to be seen, and none comes
    /// later. A counter alone would give them out before their commits, in another order.
    ///
    /// `base` lifts them above what another cluster gave out, after records were brought here.
    ///
    /// Source: PostgreSQL, 9.27 "Transaction ID and Snapshot Information Functions".
    private static let functions = [
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

    private static let people = [
        """
        CREATE TABLE users (
            id TEXT COLLATE "C" PRIMARY KEY,
            username TEXT COLLATE "C" NOT NULL,
            password_hash TEXT COLLATE "C" NOT NULL,
            administrator BOOLEAN NOT NULL,
            may_claim BOOLEAN NOT NULL,
            created_at BIGINT NOT NULL,
            enabled BOOLEAN NOT NULL DEFAULT true,
            anonymous_hash BYTEA
        )
        """,
        "CREATE UNIQUE INDEX usernames ON users (lower(username))",
        """
        CREATE UNIQUE INDEX anonymous_users ON users (anonymous_hash)
            WHERE anonymous_hash IS NOT NULL
        """,
        """
        CREATE TABLE identities (
            provider TEXT COLLATE "C" NOT NULL,
            issuer TEXT COLLATE "C" NOT NULL,
            subject TEXT COLLATE "C" NOT NULL,
            user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
            created_at BIGINT NOT NULL,
            PRIMARY KEY (provider, issuer, subject)
        )
        """,
        "CREATE UNIQUE INDEX identities_of_user ON identities (user_id, provider)",
        "CREATE TABLE spent_id_tokens (hash BYTEA PRIMARY KEY, ends_at BIGINT NOT NULL)",
        "CREATE INDEX spent_id_token_ends ON spent_id_tokens (ends_at)",
    ]

    /// An index on the time of the last use would make each heartbeat write to every index of
    /// its session; one on the hour is written to once an hour.
    private static let sessions = [
        """
        CREATE TABLE sessions (
            id TEXT COLLATE "C" PRIMARY KEY,
            user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
            state TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'active', 'ended')),
            end_reason TEXT COLLATE "C",
            restricted BOOLEAN NOT NULL,
            action TEXT COLLATE "C" NOT NULL,
            provider TEXT COLLATE "C" NOT NULL,
            installation_id TEXT COLLATE "C",
            created_at BIGINT NOT NULL,
            expires_at BIGINT,
            custom TEXT COLLATE "C",
            token_hash BYTEA NOT NULL UNIQUE,
            family BYTEA,
            device_key BYTEA,
            scope TEXT COLLATE "C",
            absolute_limit BIGINT NOT NULL,
            last_seen BIGINT NOT NULL,
            ended_at BIGINT,
            farewell_payload BYTEA,
            farewell_until BIGINT,
            hour_seen BIGINT GENERATED ALWAYS AS (last_seen / 3600000) STORED
        ) WITH (fillfactor = 70)
        """,
        """
        CREATE UNIQUE INDEX session_of_board ON sessions (installation_id)
            WHERE state = 'active' AND installation_id IS NOT NULL AND device_key IS NOT NULL
        """,
        """
        CREATE UNIQUE INDEX session_of_installation ON sessions (user_id, installation_id)
            WHERE state = 'active' AND installation_id IS NOT NULL AND device_key IS NULL
        """,
        """
        CREATE INDEX departing_of_board ON sessions (installation_id)
            WHERE farewell_until IS NOT NULL
        """,
        "CREATE INDEX farewells ON sessions (farewell_until) WHERE farewell_until IS NOT NULL",
        "CREATE INDEX sessions_of_user ON sessions (user_id, created_at)",
        "CREATE INDEX session_ends ON sessions (expires_at) WHERE state = 'active'",
        "CREATE INDEX session_limits ON sessions (absolute_limit) WHERE state = 'active'",
        "CREATE INDEX session_uses ON sessions (hour_seen) WHERE state = 'active'",
        "CREATE INDEX session_beginnings ON sessions (created_at) WHERE state = 'active'",
        "CREATE INDEX session_past ON sessions (ended_at) WHERE state = 'ended'",
        """
        CREATE TABLE families (
            id BYTEA PRIMARY KEY,
            session_id TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
            generation BIGINT NOT NULL,
            last_request TEXT COLLATE "C",
            last_use BIGINT,
            invalidated BOOLEAN NOT NULL
        ) WITH (fillfactor = 70)
        """,
        "CREATE INDEX families_of_session ON families (session_id)",
        """
        CREATE TABLE person_logins (
            session_id TEXT COLLATE "C" PRIMARY KEY REFERENCES sessions (id),
            user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
            password BYTEA NOT NULL
        )
        """,
        "CREATE INDEX person_logins_of_user ON person_logins (user_id)",
    ]

    private static let boards = [
        """
        CREATE TABLE boards (
            id TEXT COLLATE "C" PRIMARY KEY,
            name TEXT COLLATE "C" NOT NULL,
            device_key BYTEA NOT NULL,
            owner TEXT COLLATE "C" NOT NULL REFERENCES users (id),
            released BOOLEAN NOT NULL,
            last_seen BIGINT,
            owned_since BIGINT NOT NULL DEFAULT 0
        ) WITH (fillfactor = 70)
        """,
        "CREATE INDEX boards_of_owner ON boards (owner)",
        """
        CREATE TABLE statuses (
            installation_id TEXT COLLATE "C" PRIMARY KEY,
            status TEXT COLLATE "C" NOT NULL
        ) WITH (fillfactor = 70)
        """,
        """
        CREATE TABLE broker_logins (
            installation_id TEXT COLLATE "C" PRIMARY KEY,
            password BYTEA NOT NULL
        )
        """,
        """
        CREATE TABLE sequences (
            seal_key TEXT COLLATE "C" NOT NULL,
            installation_id TEXT COLLATE "C" NOT NULL,
            last BIGINT NOT NULL,
            PRIMARY KEY (seal_key, installation_id)
        ) WITH (fillfactor = 70)
        """,
        """
        CREATE TABLE reports (
            installation_id TEXT COLLATE "C" PRIMARY KEY,
            numbers TEXT COLLATE "C" NOT NULL,
            rules TEXT COLLATE "C",
            since BIGINT NOT NULL
        ) WITH (fillfactor = 70)
        """,
        """
        CREATE TABLE installations (
            id TEXT COLLATE "C" PRIMARY KEY,
            installation_id TEXT COLLATE "C" NOT NULL UNIQUE,
            owner TEXT COLLATE "C" REFERENCES users (id),
            fields TEXT COLLATE "C" NOT NULL,
            created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL
        )
        """,
        "CREATE INDEX installations_of_owner ON installations (owner)",
        "CREATE INDEX installation_times ON installations (created_at)",
        """
        CREATE TABLE roles (
            id TEXT COLLATE "C" PRIMARY KEY,
            name TEXT COLLATE "C" NOT NULL UNIQUE,
            acl TEXT COLLATE "C" NOT NULL,
            users TEXT COLLATE "C" NOT NULL,
            roles TEXT COLLATE "C" NOT NULL,
            created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL
        )
        """,
    ]

    private static let claims = [
        """
        CREATE TABLE claims (
            id TEXT COLLATE "C" PRIMARY KEY,
            installation_id TEXT COLLATE "C" NOT NULL,
            session_id TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
            claimant TEXT COLLATE "C" NOT NULL REFERENCES users (id),
            state TEXT COLLATE "C" NOT NULL,
            created_at BIGINT NOT NULL,
            expires_at BIGINT NOT NULL,
            secret_hash BYTEA NOT NULL,
            board_name TEXT COLLATE "C" NOT NULL,
            device_key BYTEA NOT NULL,
            payload BYTEA,
            broker_password BYTEA,
            reason_code BIGINT,
            reason_text TEXT COLLATE "C",
            token_origin TEXT COLLATE "C" NOT NULL DEFAULT 'made'
        )
        """,
        """
        CREATE UNIQUE INDEX open_claim_of_board ON claims (installation_id)
            WHERE state = 'sent'
        """,
        "CREATE INDEX open_claim_ends ON claims (expires_at) WHERE state = 'sent'",
        "CREATE INDEX used_secrets ON claims (secret_hash) WHERE state = 'accepted'",
        "CREATE INDEX claims_of_session ON claims (session_id)",
        "CREATE TABLE spent_secrets (secret_hash BYTEA PRIMARY KEY)",
    ]

    private static let traffic = [
        """
        CREATE TABLE replies (
            number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            installation_id TEXT COLLATE "C" NOT NULL,
            request_id TEXT COLLATE "C" NOT NULL,
            payload BYTEA NOT NULL,
            expires_at BIGINT,
            created_at BIGINT NOT NULL
        )
        """,
        "CREATE UNIQUE INDEX reply_to_request ON replies (installation_id, request_id)",
        "CREATE INDEX reply_ends ON replies (expires_at) WHERE expires_at IS NOT NULL",
        """
        CREATE TABLE chores (
            number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            line TEXT COLLATE "C" NOT NULL,
            kind TEXT COLLATE "C" NOT NULL,
            password BOOLEAN NOT NULL,
            payload BYTEA,
            until BIGINT
        )
        """,
        "CREATE INDEX chores_in_line ON chores (line, number)",
    ]
}
