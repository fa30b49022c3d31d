"""Sessions that nobody holds, made by SQL in the store of an authority that is stopped.

They live on no board, so that the authority does not bring each one's inbox in line at its
start, which is not what is measured; the tables and indexes that a heartbeat meets are the same.
"""

import sqlite3

from house import House

_DAY = 86_400_000
_USER = "(SELECT id FROM users LIMIT 1)"
_NOW = "(SELECT max(last_seen) AS now FROM sessions) AS latest"

# Each with the tables that a board's session has rows in.
_ROWS = f"""
    INSERT INTO sessions (
        id, user_id, state, restricted, action, provider, installation_id, created_at,
        expires_at, token_hash, family, absolute_limit, last_seen)
    SELECT name, {_USER}, 'active', {{true}}, 'create', 'masterkey', uuid,
        now - age, now + {_DAY} - age, token, family, now + {30 * _DAY} - age, now - age
    FROM generated, {_NOW};
    INSERT INTO families (id, session_id, generation, invalidated)
    SELECT family, name, 1, {{false}} FROM generated ORDER BY family;
    INSERT INTO boards (id, name, device_key, owner, released, owned_since, name_key, labels)
    SELECT uuid, 'generated', token, {_USER}, {{false}}, 0, 'generated', ''
    FROM generated ORDER BY uuid;
    """


def generate(house: House, count: int) -> float:
    """Adds `count` sessions, with a family and a board each; the bytes of each in the store."""
    before = house.stored_bytes()
    if house.postgres:
        _in_postgres(house, count)
    else:
        _in_sqlite(house, count)
    return (house.stored_bytes() - before) / count


def _in_sqlite(house: House, count: int) -> None:
    with sqlite3.connect(house.database) as connection:
        # This connection's alone: what it writes is synced once, at the end.
        for pragma in ("synchronous = OFF", "cache_size = -1000000", "temp_store = MEMORY"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("""
            CREATE TEMP TABLE generated AS
            WITH RECURSIVE numbers (n) AS (
                SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
            SELECT printf('g%09d', n) AS name, randomblob(16) AS family,
                randomblob(32) AS token, abs(random() % 3600000) AS age, lower(printf(
                '%s-%s-4%s-8%s-%s', hex(randomblob(4)), hex(randomblob(2)),
                substr(hex(randomblob(2)), 2), substr(hex(randomblob(2)), 2),
                hex(randomblob(6)))) AS uuid
            FROM numbers
            """, (count,))
        for statement in _ROWS.format(true="1", false="0").split(";")[:-1]:
            connection.execute(statement)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _in_postgres(house: House, count: int) -> None:
    kind = house.postgres.value(
        "SELECT data_type FROM information_schema.columns "
        "WHERE table_name = 'sessions' AND column_name = 'restricted'")
    true, false = ("true", "false") if kind == "boolean" else ("1", "0")
    house.postgres.run(f"""
        BEGIN;
        SET LOCAL synchronous_commit = off;
        CREATE TEMP TABLE generated AS
        SELECT 'g' || lpad(n::text, 9, '0') AS name,
            decode(md5(random()::text), 'hex') AS family,
            sha256(random()::text::bytea || n::text::bytea) AS token,
            (random() * 3600000)::bigint AS age, gen_random_uuid()::text AS uuid
        FROM generate_series(1, {count}) AS n;
        {_ROWS.format(true=true, false=false)}
        COMMIT;
        VACUUM ANALYZE sessions;
        VACUUM ANALYZE families;
        VACUUM ANALYZE boards;
        CHECKPOINT;
        """)
