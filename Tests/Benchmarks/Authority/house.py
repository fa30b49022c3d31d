"""A broker, one or two authorities with their store, and an administrator."""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cores
import processes
from bench.broker import Broker
from bench.postgres import Postgres
from bench.replica import Replica, write
from load import Load
from plan import Plan

# Makes the argv of a program that is kept to certain cores.
Place = Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class Site:
    """Where everything runs: by itself the authority and its database have the first core, the
    broker and the load have the others."""

    # "sqlite" or "postgres".
    store: str
    replicas: int = 1
    authority: Place = cores.first
    others: Place = cores.others

    @property
    def cores(self) -> int:
        """How many the authority may use."""
        return 1 if self.authority is cores.first else len(os.sched_getaffinity(0))


class House:
    """All of it runs when it is made, of several authorities the first, and an administrator is
    logged in."""

    def __init__(self, folder: Path, programs: Path, site: Site):
        folder.mkdir(mode=0o711)
        self.site = site
        self._folder = folder
        self._parts: list = []
        self.postgres: Postgres | None = None
        try:
            self._open(programs)
        except BaseException:
            self.close()
            raise

    def _open(self, programs: Path) -> None:
        folder, site = self._folder, self.site
        # Of all that is logged, nothing for each message.
        self._broker = self._opened(Broker(
            "broker", folder, "allow_anonymous true", "log_type error",
            "max_inflight_messages 1024", "set_tcp_nodelay true"))
        self._broker.program.argv = site.others(self._broker.program.argv)
        self._broker.start()
        store = ""
        if site.store == "postgres":
            self.postgres = self._opened(Postgres(
                folder / "postgres", wrapped=site.authority)).create()
            store = (f'store = "{self.postgres.uri}"\n'
                     f'master_key_file = "{folder / "master.key"}"\n')
        self.authorities = [
            self._opened(Replica(f"authority-{number}", folder, programs, self.uri, store,
                                 wrapped=site.authority))
            for number in range(site.replicas)]
        password, profile = folder / "password", folder / "profile"
        write(password, secrets.token_urlsafe(24))
        self.authorities[0].found(password)
        self.start(1)
        self.authorities[0].login(profile, password)
        self.cli = self.authorities[0].cli(profile)

    def _opened(self, part):
        self._parts.append(part)
        return part

    @property
    def port(self) -> int:
        return self._broker.port

    @property
    def uri(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def pids(self) -> list[int]:
        """Of the authorities that run."""
        return [authority.program.pid for authority in self.authorities
                if authority.program.is_running]

    def start(self, count: int | None = None) -> None:
        """So many of the authorities, all without it; those that run go on."""
        for authority in self.authorities[:count]:
            if not authority.program.is_running:
                authority.start()
        # What they tell the broker at their start is not part of any load.
        processes.wait_quiet(self.pids, 120)

    def stop(self) -> None:
        """Those that were started; one that has ended by itself did not end well."""
        for authority in self.authorities:
            if authority.program.process is not None:
                authority.stop_well()

    def close(self) -> None:
        for part in reversed(self._parts):
            part.close()

    @property
    def database(self) -> Path:
        """The file of SQLite's."""
        return self.authorities[0].database

    def stored_bytes(self) -> int:
        """Of tables and indexes, without the log that is written ahead."""
        if self.postgres:
            return int(self.postgres.value("SELECT pg_database_size(current_database()) AS n"))
        return self.database.stat().st_size

    def written_bytes(self) -> int:
        """What went to the disk so far: PostgreSQL's log, or all that the authority wrote."""
        if self.postgres:
            return self.postgres.written_bytes()
        lines = Path(f"/proc/{self.pids[0]}/io").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))

    def lost_races(self) -> int:
        """Transactions that PostgreSQL rolled back so far, each of which was run again."""
        return self.postgres.transactions()[1] if self.postgres else 0

    def memory(self) -> dict:
        found = processes.memory(self.pids[0])
        return found | {"database": self.stored_bytes() / 1e6}

    def used(self) -> dict[str, float]:
        """Seconds of a processor so far, of what runs."""
        found = {
            "authority": sum(processes.processor_seconds(pid) for pid in self.pids),
            "broker": self.broker_seconds()}
        if self.postgres:
            found["postgres"] = self.postgres.processor_seconds()
        return found

    def broker_seconds(self) -> float:
        return processes.processor_seconds(self._broker.program.pid)

    def fleet(self, boards: int, plan: Plan) -> Load:
        """So many boards, each with its session.

        An empty PostgreSQL refuses some of a hundred claims at once as contended; what those
        that went before have stored makes room for the next.
        """
        for last in (False, False, True):
            load = Load(self, boards, plan)
            self._parts.append(load)
            try:
                load.pair()
                return load
            except RuntimeError:
                load.close()
                if last:
                    raise
        raise RuntimeError("no fleet")
