"""Sessions that nobody holds, made by SQL in the database of an authority that is stopped."""

import sqlite3
from pathlib import Path

_USER = "(SELECT id FROM users LIMIT 1)"
_NOW = "(SELECT max(last_seen) FROM sessions)"
_DAY = 86_400_000

# Each with the tables that a board's session has rows in. They live on no board, so that the
# authority does not bring each one's inbox in line at its start, which is not what is measured;
# the tables and indexes that a heartbeat meets are the same.
_STATEMENTS = (
    f"""
    INSERT INTO sessions (
        id, user_id, state, restricted, action, provider, installation_id, created_at,
        expires_at, token_hash, family, absolute_limit, last_seen)
    SELECT printf('g%09d', n), {_USER}, 'active', 1, 'create', 'masterkey', uuid,
        now - 3600000, now + {_DAY}, randomblob(32), family, now + 30 * {_DAY},
        now - abs(random() % 3600000)
    FROM generated, (SELECT {_NOW} AS now)
    """,
    "INSERT INTO families (id, session_id, generation, invalidated) "
    "SELECT family, printf('g%09d', n), 1, 0 FROM generated ORDER BY family",
    f"INSERT INTO boards (id, name, device_key, owner, released) "
    f"SELECT uuid, 'generated', randomblob(32), {_USER}, 0 FROM generated ORDER BY uuid",
)


def generate(database: Path, count: int) -> None:
    """Adds `count` sessions, with a family and a board each."""
    with sqlite3.connect(database) as connection:
        # This connection's alone: what it writes is synced once, at the end.
        for pragma in ("synchronous = OFF", "cache_size = -1000000", "temp_store = MEMORY"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("""
            CREATE TEMP TABLE generated AS
            WITH RECURSIVE numbers (n) AS (
                SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
            SELECT n, randomblob(16) AS family, lower(printf(
                '%s-%s-4%s-8%s-%s', hex(randomblob(4)), hex(randomblob(2)),
                substr(hex(randomblob(2)), 2), substr(hex(randomblob(2)), 2),
                hex(randomblob(6)))) AS uuid
            FROM numbers
            """, (count,))
        for statement in _STATEMENTS:
            connection.execute(statement)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
