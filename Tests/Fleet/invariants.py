"""What must hold in the store once a fleet has been through everything, each as a SELECT.

The statements are the same for both stores, so that `planted.py` can break each one in SQLite.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

# What finds rows, as text by column; NULL is the empty string.
Records = Callable[[str], list[dict[str, str]]]


@dataclass(frozen=True)
class Finding:
    """One invariant: what was counted, and what speaks against it."""

    name: str
    numbers: str
    faults: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.faults


@dataclass(frozen=True)
class Told:
    """What the fleet says of itself."""

    # Boards that were paired.
    boards: int
    thieves: int
    # Thefts that were put in, and those of them whose board was told "reuse".
    thefts: int
    thefts_seen: int
    # Sessions that a board lost to nobody's theft.
    sessions_lost: int = 0
    # What the contract does not allow, in words.
    violations: list[str] = field(default_factory=list)


def judge(records: Records, told: Told, calm_since: int) -> list[Finding]:
    """`calm_since`: milliseconds since the epoch at which the last fault was over."""
    return [one_session(records), no_live_token(records), none_lost(records, told),
            all_heard(records, calm_since), no_false_theft(records, told),
            thefts_found(records, told), nothing_forgotten(records)]


def one_session(records: Records) -> Finding:
    """The indexes see to it; this sees to the indexes."""
    live = "state = 'active' AND installation_id IS NOT NULL"
    pairs = records(f"""
        SELECT count(*) AS live, count(DISTINCT installation_id) AS boards
        FROM sessions WHERE {live} AND device_key IS NOT NULL""")[0]
    several = records(f"""
        SELECT user_id, installation_id, count(*) AS live FROM sessions WHERE {live}
        GROUP BY user_id, installation_id HAVING count(*) > 1""")
    several += records(f"""
        SELECT min(user_id) AS user_id, installation_id, count(*) AS live FROM sessions
        WHERE {live} AND device_key IS NOT NULL
        GROUP BY installation_id HAVING count(DISTINCT user_id) > 1""")
    return Finding(
        "one live session per user and installation",
        f"{_count(pairs['live'])} live on {_count(pairs['boards'])} boards",
        [f"{row['live']} of user {row['user_id']} on {row['installation_id']}"
         for row in several])


def no_live_token(records: Records) -> Finding:
    families = records("""
        SELECT count(*) AS n, coalesce(sum(CAST(invalidated AS INTEGER)), 0) AS revoked
        FROM families""")[0]
    found = records("""
        SELECT s.id, s.state FROM sessions s JOIN families f ON f.session_id = s.id
        WHERE (CAST(f.invalidated AS INTEGER) = 1) <> (s.state = 'ended')""")
    orphans = records("""
        SELECT s.id FROM sessions s LEFT JOIN families f ON f.id = s.family
        WHERE s.state = 'active' AND s.device_key IS NOT NULL AND f.id IS NULL""")
    words = {"active": "is live, its family revoked", "pending": "waits, its family revoked",
             "ended": "has ended, its family lives"}
    return Finding(
        "no live token in a revoked family",
        f"{_count(families['n'])} families, {_count(families['revoked'])} revoked",
        [f"session {row['id']} {words.get(row['state'], row['state'])}" for row in found]
        + [f"session {row['id']} is live without a family" for row in orphans])


def none_lost(records: Records, told: Told) -> Finding:
    """Each board has a live session, or one that ended as stolen."""
    boards = """
        SELECT b.id, max(CASE WHEN s.state = 'active' THEN 1 ELSE 0 END) AS live,
            max(CASE WHEN s.state = 'ended' AND s.end_reason = 'reuse' THEN 1 ELSE 0 END)
                AS stolen,
            coalesce(max(s.state || ' ' || coalesce(s.end_reason, '')), 'no session') AS how
        FROM boards b LEFT JOIN sessions s ON s.installation_id = b.id GROUP BY b.id"""
    counts = records(f"""
        SELECT count(*) AS boards, coalesce(sum(live), 0) AS live,
            coalesce(sum(stolen), 0) AS stolen FROM ({boards}) AS known""")[0]
    lost = records(
        f"SELECT id, how FROM ({boards}) AS known WHERE live + stolen = 0 ORDER BY id")
    faults = [f"board {row['id']}: {row['how']}" for row in lost]
    if int(counts["boards"]) != told.boards:
        faults.append(f"{counts['boards']} boards stored, {told.boards} paired")
    if told.sessions_lost:
        faults.append(f"{told.sessions_lost} boards say that somebody ended their session")
    return Finding(
        "no session lost", f"{_count(counts['boards'])} boards: {_count(counts['live'])} live, "
        f"{_count(counts['stolen'])} stolen from", faults + told.violations)


def all_heard(records: Records, calm_since: int) -> Finding:
    """A live session that nobody can use any more is a lost one."""
    live = "FROM sessions WHERE state = 'active' AND device_key IS NOT NULL"
    total = records(f"SELECT count(*) AS n {live}")[0]["n"]
    silent = records(f"SELECT installation_id {live} AND last_seen < {calm_since}")
    return Finding(
        "every live session used since the last fault",
        f"{_count(int(total) - len(silent))} of {_count(total)}",
        [f"board {row['installation_id']} was not heard since" for row in silent])


def no_false_theft(records: Records, told: Told) -> Finding:
    """As many sessions ended as reuse as thefts were put in, at most."""
    ended = records("""
        SELECT count(*) AS n FROM sessions WHERE state = 'ended' AND end_reason = 'reuse'
        """)[0]["n"]
    written = records("SELECT count(*) AS n FROM audit WHERE event = 'session.reuse'")[0]["n"]
    faults = [f"{number} {what}, {told.thefts} put in"
              for number, what in ((int(ended), "sessions ended as reuse"),
                                   (int(written), "thefts in the audit log"))
              if number > told.thefts]
    return Finding("no false theft", f"{_count(ended)} sessions ended as reuse, "
                   f"{_count(told.thefts)} thefts put in", faults)


def thefts_found(records: Records, told: Told) -> Finding:
    """Each theft is in the audit log, with both uses, and its session has ended."""
    found = records("""
        SELECT count(DISTINCT s.id) AS n FROM audit a JOIN sessions s ON s.id = a.session_id
        WHERE a.event = 'session.reuse' AND s.state = 'ended' AND s.end_reason = 'reuse'
        AND a.detail LIKE '%was presented again by request%was spent by request%'""")[0]["n"]
    faults = []
    if int(found) < told.thefts:
        faults.append(f"{told.thefts - int(found)} thefts are not in the audit log")
    if told.thefts < told.thieves:
        faults.append(f"{told.thieves - told.thefts} of {told.thieves} thieves did not strike")
    if told.thefts_seen < told.thefts:
        faults.append(f"{told.thefts - told.thefts_seen} boards were not told \"reuse\"")
    return Finding("every injected theft found", f"{_count(found)} of {_count(told.thefts)}",
                   faults)


def nothing_forgotten(records: Records) -> Finding:
    """What a database has committed and then forgotten would be a token ahead of it."""
    found = records("""
        SELECT event, installation_id, detail FROM audit
        WHERE event IN ('alarm.session', 'alarm.refresh', 'alarm.unknown', 'refresh.forged')""")
    return Finding(
        "no token that the store does not know", f"{len(found)} alarms",
        [f"{row['event']} {row['installation_id']}: {row['detail']}" for row in found])


def _count(number: int | str) -> str:
    return f"{int(number):,}"
