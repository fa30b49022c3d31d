import GRDB

/// The tables, and how each version of them came to be.
enum Schema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            for statements in [people, sessions, boards, claims, traffic, rest] {
                try database.execute(sql: statements)
            }
        }
        migrator.registerMigration("2") { database in try database.execute(sql: wholeLife) }
        migrator.registerMigration("3") { database in try database.execute(sql: rotation) }
        migrator.registerMigration("timeline") { database in
            try database.execute(sql: timeline)
        }
        migrator.registerMigration("installations") { database in
            try database.execute(sql: parseObjects)
        }
        migrator.registerMigration("identities") { database in
            try database.execute(sql: identities)
        }
        migrator.registerMigration("reports") { database in
            try database.execute(sql: reports)
        }
        migrator.registerMigration("ownership") { database in
            try database.execute(
                sql: "ALTER TABLE boards ADD COLUMN owned_since INTEGER NOT NULL DEFAULT 0")
        }
        migrator.registerMigration("replies") { database in
            try database.execute(sql: replies)
        }
        migrator.registerMigration("gaps") { database in
            try database.execute(sql: gaps)
        }
        migrator.registerMigration("people") { database in
            try database.execute(sql: offBoards)
        }
        return migrator
    }

    /// The sessions of a person, however many boards he has.
    private static let offBoards = """
        CREATE INDEX sessions_off_boards ON sessions (user_id, created_at)
            WHERE device_key IS NULL AND state <> 'ended'
        """

    /// Sessions of people have installations too, what is over goes, and users come and go.
    private static let wholeLife = """
        DROP INDEX session_of_board;
        CREATE UNIQUE INDEX session_of_board ON sessions (installation_id)
            WHERE state = 'active' AND installation_id IS NOT NULL AND device_key IS NOT NULL;
        CREATE UNIQUE INDEX session_of_installation ON sessions (user_id, installation_id)
            WHERE state = 'active' AND installation_id IS NOT NULL AND device_key IS NULL;
        CREATE INDEX session_beginnings ON sessions (created_at) WHERE state = 'active';
        CREATE INDEX session_past ON sessions (ended_at) WHERE state = 'ended';
        CREATE INDEX families_of_session ON families (session_id);
        CREATE INDEX claims_of_session ON claims (session_id);
        CREATE INDEX audit_times ON audit (at);
        ALTER TABLE claims ADD COLUMN token_origin TEXT NOT NULL DEFAULT 'made';
        ALTER TABLE replies ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE users ADD COLUMN enabled INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE users ADD COLUMN anonymous_hash BLOB;
        CREATE UNIQUE INDEX anonymous_users ON users (anonymous_hash)
            WHERE anonymous_hash IS NOT NULL;
        CREATE TABLE spent_secrets (
            secret_hash BLOB PRIMARY KEY
        ) STRICT, WITHOUT ROWID;
        """

    /// Parse's `_Installation` and `_Role`; ids in a list are parted by spaces.
    private static let parseObjects = """
        CREATE TABLE installations (
            id TEXT PRIMARY KEY,
            installation_id TEXT NOT NULL UNIQUE,
            owner TEXT REFERENCES users (id),
            fields TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX installations_of_owner ON installations (owner);
        CREATE INDEX installation_times ON installations (created_at);
        CREATE TABLE roles (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            acl TEXT NOT NULL,
            users TEXT NOT NULL,
            roles TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL
        ) STRICT;
        """

    private static let people = """
        CREATE TABLE users (
            id TEXT PRIMARY KEY,
            username TEXT NOT NULL UNIQUE COLLATE NOCASE,
            password_hash TEXT NOT NULL,
            administrator INTEGER NOT NULL,
            may_claim INTEGER NOT NULL,
            created_at INTEGER NOT NULL
        ) STRICT;
        """

    private static let sessions = """
        CREATE TABLE sessions (
            id TEXT PRIMARY KEY,
            user_id TEXT NOT NULL REFERENCES users (id),
            state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'ended')),
            end_reason TEXT,
            restricted INTEGER NOT NULL,
            action TEXT NOT NULL,
            provider TEXT NOT NULL,
            installation_id TEXT,
            created_at INTEGER NOT NULL,
            expires_at INTEGER,
            custom TEXT,
            token_hash BLOB NOT NULL UNIQUE,
            family BLOB,
            device_key BLOB,
            scope TEXT,
            absolute_limit INTEGER NOT NULL,
            last_seen INTEGER NOT NULL,
            ended_at INTEGER,
            farewell_payload BLOB,
            farewell_until INTEGER
        ) STRICT;
        CREATE UNIQUE INDEX session_of_board ON sessions (installation_id)
            WHERE state = 'active' AND installation_id IS NOT NULL;
        CREATE INDEX departing_of_board ON sessions (installation_id)
            WHERE farewell_until IS NOT NULL;
        CREATE INDEX farewells ON sessions (farewell_until) WHERE farewell_until IS NOT NULL;
        CREATE INDEX sessions_of_user ON sessions (user_id, created_at);
        CREATE INDEX session_ends ON sessions (expires_at) WHERE state = 'active';
        CREATE INDEX session_limits ON sessions (absolute_limit) WHERE state = 'active';
        CREATE INDEX session_uses ON sessions (last_seen) WHERE state = 'active';
        CREATE TABLE families (
            id BLOB PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions (id),
            generation INTEGER NOT NULL,
            last_request TEXT,
            last_use INTEGER,
            invalidated INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    private static let boards = """
        CREATE TABLE boards (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            device_key BLOB NOT NULL,
            owner TEXT NOT NULL REFERENCES users (id),
            released INTEGER NOT NULL,
            last_seen INTEGER
        ) STRICT;
        CREATE TABLE statuses (
            installation_id TEXT PRIMARY KEY,
            status TEXT NOT NULL
        ) STRICT;
        CREATE INDEX boards_of_owner ON boards (owner);
        CREATE TABLE broker_logins (
            installation_id TEXT PRIMARY KEY,
            password BLOB NOT NULL
        ) STRICT;
        CREATE TABLE sequences (
            seal_key TEXT NOT NULL,
            installation_id TEXT NOT NULL,
            last INTEGER NOT NULL,
            PRIMARY KEY (seal_key, installation_id)
        ) STRICT, WITHOUT ROWID;
        """

    private static let claims = """
        CREATE TABLE claims (
            id TEXT PRIMARY KEY,
            installation_id TEXT NOT NULL,
            session_id TEXT NOT NULL REFERENCES sessions (id),
            claimant TEXT NOT NULL REFERENCES users (id),
            state TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            secret_hash BLOB NOT NULL,
            board_name TEXT NOT NULL,
            device_key BLOB NOT NULL,
            payload BLOB,
            broker_password BLOB,
            reason_code INTEGER,
            reason_text TEXT
        ) STRICT;
        CREATE UNIQUE INDEX open_claim_of_board ON claims (installation_id)
            WHERE state = 'sent';
        CREATE INDEX open_claim_ends ON claims (expires_at) WHERE state = 'sent';
        CREATE INDEX used_secrets ON claims (secret_hash) WHERE state = 'accepted';
        """

    private static let traffic = """
        CREATE TABLE replies (
            installation_id TEXT NOT NULL,
            request_id TEXT NOT NULL,
            payload BLOB NOT NULL,
            expires_at INTEGER,
            PRIMARY KEY (installation_id, request_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX reply_ends ON replies (expires_at) WHERE expires_at IS NOT NULL;
        CREATE TABLE chores (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            line TEXT NOT NULL,
            kind TEXT NOT NULL,
            password INTEGER NOT NULL,
            payload BLOB,
            until INTEGER
        ) STRICT;
        CREATE INDEX chores_in_line ON chores (line, number);
        """

    private static let rest = """
        CREATE TABLE person_logins (
            session_id TEXT PRIMARY KEY REFERENCES sessions (id),
            user_id TEXT NOT NULL REFERENCES users (id),
            password BLOB NOT NULL
        ) STRICT;
        CREATE INDEX person_logins_of_user ON person_logins (user_id);
        CREATE TABLE audit (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            at INTEGER NOT NULL,
            event TEXT NOT NULL,
            actor TEXT NOT NULL,
            installation_id TEXT,
            session_id TEXT,
            detail TEXT NOT NULL
        ) STRICT;
        CREATE INDEX audit_of_board ON audit (installation_id, number);
        CREATE TABLE failures (
            key TEXT NOT NULL,
            at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX failures_by_key ON failures (key, at);
        CREATE INDEX failures_by_time ON failures (at);
        CREATE TABLE keys (
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            public BLOB NOT NULL,
            private BLOB NOT NULL,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (kind, name)
        ) STRICT;
        """
}
