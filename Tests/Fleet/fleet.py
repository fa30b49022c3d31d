"""All that stands while a fleet is tried: a database, a broker, two authorities, the boards."""

import secrets
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path

from bench.broker import Broker
from bench.postgres import Postgres
from bench.program import Program
from bench.replica import Replica, write
from invariants import Records
from plan import Plan
from simulation import Simulation
from telemetry import Consumer, Window

BEGUN = time.monotonic()


def tell(words: str) -> None:
    print(f"{time.monotonic() - BEGUN:6.1f} s  {words}", flush=True)


def milliseconds() -> int:
    return time.time_ns() // 1_000_000


class Fleet:
    """Made: PostgreSQL, the broker, the consumer and both authorities run; no board yet."""

    def __init__(self, plan: Plan, folder: Path, programs: Path):
        self.plan = plan
        self.postgres: Postgres | None = None
        self.kills: list[Window] = []
        # What was done to which part, and how long it was away, in seconds.
        self.events: list[dict] = []
        self.calm_since = 0
        # PSS of the parts at the end, in MB.
        self.sizes: dict[str, float] = {}
        self.paired_at = time.monotonic()
        self._parts: list = []
        try:
            self._open(folder, programs)
        except BaseException:
            self.close()
            raise

    def _open(self, folder: Path, programs: Path) -> None:
        key, password = folder / "master.key", folder / "password"
        write(password, secrets.token_urlsafe(24))
        store = ""
        if self.plan.store == "postgres":
            self.postgres = self._opened(Postgres(folder / "postgres")).create()
            store = f'store = "{self.postgres.uri}"\nmaster_key_file = "{key}"\n'
            tell("✓ PostgreSQL runs, its log synced as it comes")
        self.broker = self._opened(Broker(
            "broker", folder, "allow_anonymous true", "log_type error",
            "max_inflight_messages 0", "set_tcp_nodelay true")).start()
        broker = f"mqtt://127.0.0.1:{self.broker.port}"
        self.replicas = [self._opened(Replica(name, folder, programs, broker, store))
                         for name in ("authority-a", "authority-b")[:2 if self.postgres else 1]]
        first = self.replicas[0]
        first.found(password)
        for replica in self.replicas:
            replica.start()
        profile = folder / "profile"
        first.login(profile, password)
        tell(f"✓ {' and '.join(one.name for one in self.replicas)}, behind one broker")
        self.consumer = self._opened(Consumer(self.broker.port)).open()
        self.simulation = self._opened(Simulation(first.cli(profile), broker, self.plan, folder))

    def _opened(self, part):
        self._parts.append(part)
        return part

    def close(self) -> None:
        for part in reversed(self._parts):
            try:
                part.close()
            except Exception as error:  # noqa: BLE001, the rest is to be closed all the same
                print(f"closing {type(part).__name__}: {error}", flush=True)

    @property
    def age(self) -> float:
        """Seconds since all boards were paired."""
        return time.monotonic() - self.paired_at

    @contextmanager
    def event(self, title: str):
        """Something is done to a part; at the end it is there again."""
        begun = time.monotonic()
        tell(f"… {title}")
        yield
        seconds = time.monotonic() - begun
        self.events.append({"event": title, "seconds": round(seconds, 2)})
        self.calm_since = milliseconds()
        tell(f"✓ {title}: back after {seconds:.1f} s")

    def run(self, seconds: float) -> None:
        """Lets it run; fails as soon as a part has ended by itself."""
        end, shown = time.monotonic() + seconds, self.simulation.progress
        while time.monotonic() < end:
            self.look()
            time.sleep(0.2)
            if (now := self.simulation.progress) != shown:
                shown = now
                tell(f"  {now}")

    def look(self) -> None:
        for program in self.programs:
            assert program.is_running, f"{program.name} ended by itself:\n{program.log[-4000:]}"

    def memory(self) -> dict[str, float]:
        """PSS in MB of 10^6 bytes, of each part that is one process."""
        return {program.name: _pss(program.pid) for program in self.programs
                if program.is_running and program.name != "postgres"}

    @property
    def programs(self) -> list[Program]:
        store = [self.postgres.program] if self.postgres else []
        return [*(replica.program for replica in self.replicas), *store, self.broker.program,
                self.simulation.program]

    @property
    def records(self) -> Records:
        if self.postgres:
            return self.postgres.rows
        return lambda statement: sqlite_rows(self.replicas[0].database, statement)

    def logs(self) -> str:
        """The last words of every part."""
        return "\n".join(
            f"--- {program.name}\n" + "\n".join(program.log.splitlines()[-12:])
            for program in self.programs)


def sqlite_rows(path: Path, statement: str) -> list[dict[str, str]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        return [{name: "" if row[name] is None else str(row[name]) for name in row.keys()}
                for row in connection.execute(statement)]


def _pss(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6
