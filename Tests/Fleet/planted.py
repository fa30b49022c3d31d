"""Stores with a fault planted in them: each invariant is to find its own, before each run."""

import sqlite3
from dataclasses import replace

import invariants
from invariants import Told
from telemetry import ROOT, Book, Sent, Window, account

# The columns that the invariants read, as both stores have them.
_TABLES = """
    CREATE TABLE boards (id TEXT PRIMARY KEY);
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, user_id TEXT, state TEXT, end_reason TEXT, installation_id TEXT,
        family BLOB, device_key BLOB, last_seen INTEGER);
    CREATE TABLE families (id BLOB PRIMARY KEY, session_id TEXT, invalidated INTEGER);
    CREATE TABLE audit (event TEXT, installation_id TEXT, session_id TEXT, detail TEXT);
    """
# Four boards, the last of them stolen from.
_SOUND = """
    INSERT INTO boards VALUES ('b1'), ('b2'), ('b3'), ('b4');
    INSERT INTO sessions VALUES
        ('s1', 'ada', 'active', NULL, 'b1', 'f1', 'k1', 2000),
        ('s2', 'ada', 'active', NULL, 'b2', 'f2', 'k2', 2000),
        ('s3', 'ada', 'active', NULL, 'b3', 'f3', 'k3', 2000),
        ('s4', 'ada', 'ended', 'reuse', 'b4', 'f4', 'k4', 900),
        ('s5', 'ada', 'active', NULL, NULL, NULL, NULL, 900);
    INSERT INTO families VALUES ('f1', 's1', 0), ('f2', 's2', 0), ('f3', 's3', 0), ('f4', 's4', 1);
    INSERT INTO audit VALUES ('session.reuse', 'b4', 's4',
        'refresh token 3 was presented again by request r at 9; token 3 was spent by request q');
    """
_TOLD = Told(boards=4, thieves=1, thefts=1, thefts_seen=1)
_CALM = 1000

_ONE = "one live session per user and installation"
_TOKEN = "no live token in a revoked family"
_LOST = "no session lost"
_HEARD = "every live session used since the last fault"
_FALSE = "no false theft"
_FOUND = "every injected theft found"
_KNOWN = "no token that the store does not know"

# What is planted, and the invariants that find it, no others.
_ROWS = (
    ("INSERT INTO sessions VALUES ('s6', 'ada', 'active', NULL, 'b1', 'f1', 'k1', 2000)",
     {}, {_ONE}),
    ("""INSERT INTO families VALUES ('f6', 's6', 0);
        INSERT INTO sessions VALUES ('s6', 'eve', 'active', NULL, 'b1', 'f6', 'k6', 2000)""",
     {}, {_ONE}),
    ("UPDATE families SET invalidated = 1 WHERE id = 'f2'", {}, {_TOKEN}),
    ("UPDATE families SET invalidated = 0 WHERE id = 'f4'", {}, {_TOKEN}),
    ("DELETE FROM families WHERE id = 'f3'", {}, {_TOKEN}),
    ("DELETE FROM sessions WHERE id = 's1'", {}, {_LOST}),
    ("""UPDATE sessions SET state = 'ended', end_reason = 'expired' WHERE id = 's1';
        UPDATE families SET invalidated = 1 WHERE id = 'f1'""", {}, {_LOST}),
    ("DELETE FROM boards WHERE id = 'b2'", {}, {_LOST}),
    ("", {"sessions_lost": 1}, {_LOST}),
    ("", {"violations": ["a board was told 209"]}, {_LOST}),
    ("UPDATE sessions SET last_seen = 999 WHERE id = 's3'", {}, {_HEARD}),
    ("""UPDATE sessions SET state = 'ended', end_reason = 'reuse' WHERE id = 's1';
        UPDATE families SET invalidated = 1 WHERE id = 'f1'""", {}, {_FALSE}),
    ("INSERT INTO audit VALUES ('session.reuse', 'b1', 's1', '')", {}, {_FALSE}),
    ("DELETE FROM audit", {}, {_FOUND}),
    ("UPDATE audit SET detail = ''", {}, {_FOUND}),
    ("", {"thefts": 2, "thefts_seen": 1}, {_FOUND}),
    ("", {"thefts_seen": 0}, {_FOUND}),
    ("", {"thieves": 2}, {_FOUND}),
    *((f"INSERT INTO audit VALUES ('{event}', 'b1', NULL, 'is ahead of the store')",
       {}, {_KNOWN})
      for event in ("alarm.session", "alarm.refresh", "alarm.unknown", "refresh.forged")),
)

# The numbers that came of one board, each accepted at ten times its number; what the board says
# of them; when the broker was killed; and whether that is right.
_KILL = [Window(20, 40)]
_BOOKS = (
    ([1, 2, 3, 4, 5, 6], Sent(6, 6), [], True),
    ([1, 2, 2, 4, 3], Sent(4, 4), [], True),
    ([1, 2, 3], Sent(5, 3), [], True),
    ([1, 2, 5, 6], Sent(6, 6), _KILL, True),
    ([1, 2], Sent(4, 4, unjudged=2), _KILL, True),
    ([1, 2, 5, 6], Sent(6, 6), [], False),
    ([1, 2, 3, 4, 5, 7], Sent(7, 7), _KILL, False),
    ([1, 2, -2], Sent(2, 2), [], False),
    ([1, 2, 3], Sent(5, 5), [], False),
    ([1, 2, 3], Sent(5, 5), _KILL, False),
    ([1, 2, 3], Sent(2, 2), [], False),
    ([], Sent(0, 0), [], False),
)


def check() -> str:
    """Fails unless each planted fault is found, and nothing where nothing is planted."""
    for statements, told, names in (("", {}, set()), *_ROWS):
        with sqlite3.connect(":memory:") as connection:
            connection.row_factory = sqlite3.Row
            connection.executescript(_TABLES + _SOUND + statements)
            findings = invariants.judge(
                lambda statement, on=connection: _rows(on, statement),
                replace(_TOLD, **told), _CALM)
        connection.close()
        broken = {finding.name for finding in findings if not finding.holds}
        assert broken == names, f"planted {statements or told}: found {broken or 'nothing'}"
    for number, (numbers, sent, kills, holds) in enumerate(_BOOKS):
        finding = account(_book(numbers), sent, kills)
        assert finding.holds == holds, f"planted book {number}: {finding}"
    planted = len(_ROWS) + sum(not holds for *_, holds in _BOOKS)
    return f"{planted} planted faults found"


def _book(numbers: list[int]) -> Book:
    book = Book()
    for number in numbers:
        marks = {"sid": "s", "seq": str(abs(number)), "ts": str(abs(number) * 10)}
        # A negative number comes with another payload.
        book.take(
            f"{ROOT}/b1/data/Simulated/create", b"%d" % number, marks, abs(number) * 10)
    return book


def _rows(connection: sqlite3.Connection, statement: str) -> list[dict[str, str]]:
    return [{name: "" if row[name] is None else str(row[name]) for name in row.keys()}
            for row in connection.execute(statement)]
