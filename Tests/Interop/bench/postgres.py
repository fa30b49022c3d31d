"""A PostgreSQL of Debian's package in a folder of its own, reached over a socket in that folder.

It is a child of ours, so that it can be kept to a core, killed, and its time counted. It runs as
`postgres` where the tests run as root, since it refuses to run as root, with `fsync` as PostgreSQL
has it: what it said to be committed is there after a kill.
"""

import csv
import io
import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote

from .program import Program
from .waiting import until

_USER = "postern"
_FOLDERS = "/usr/lib/postgresql"


def programs() -> Path:
    """The folder of the newest PostgreSQL's programs."""
    found = sorted(Path(_FOLDERS).glob("*/bin/postgres"),
                   key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    path = shutil.which("postgres")
    assert path, "PostgreSQL is not installed (Debian: postgresql)"
    return Path(path).parent


class Postgres:
    """One server with one database. `kill`, `crash` and `start` keep its address."""

    def __init__(self, folder: Path, *settings: str, wrapped=lambda argv: argv):
        """`wrapped` gives the argv that runs the server, such as one with a core of its own."""
        self.folder = folder
        self._bin = programs()
        self._data = folder / "data"
        folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        self._check([self._bin / "initdb", "--pgdata", self._data, "--username", _USER,
                     "--auth", "trust", "--encoding", "UTF8", "--locale", "C"], 120)
        lines = ["listen_addresses = ''", f"unix_socket_directories = '{folder}'", *settings]
        with (self._data / "postgresql.conf").open("a") as file:
            file.write("\n".join(lines) + "\n")
        self.program = Program(
            "postgres", wrapped(_as_postgres([self._bin / "postgres", "-D", self._data])),
            folder)

    @property
    def uri(self) -> str:
        """What stands behind `store =`."""
        return f"postgres://{_USER}@/{_USER}?host={quote(str(self.folder), safe='')}"

    def create(self) -> "Postgres":
        """Starts it and makes the database, with nothing in it."""
        self.start()
        self._check([self._bin / "createdb", "-h", self.folder, "-U", _USER, _USER], 60)
        return self

    def start(self) -> "Postgres":
        self.program.start()
        ask = [self._bin / "pg_isready", "-q", "-h", self.folder, "-U", _USER]
        self.program.wait_ready(
            lambda: subprocess.run([str(word) for word in ask]).returncode == 0,
            "PostgreSQL to answer", 120)
        return self

    def crash(self) -> None:
        """What `pg_ctl stop -m immediate` does: no checkpoint, and the log is read at start."""
        self._signal(signal.SIGQUIT, 20)

    def stop(self) -> None:
        """Transactions that run are rolled back, all else is written."""
        self._signal(signal.SIGINT, 120)

    def close(self) -> None:
        if self.program.is_running:
            self.crash()
        self.program.close()

    def processor_seconds(self) -> float:
        """Time on a processor of the server and all its processes, so far."""
        family = _family(self.program.pid)
        return sum(_seconds(pid) for pid in family) + _ended_seconds(family[0])

    def written_bytes(self) -> int:
        """What the log that is written ahead has taken so far."""
        return int(self.value("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS n"))

    def transactions(self) -> tuple[int, int]:
        """How many were committed so far, and how many rolled back. The count is a little late."""
        row = self.rows("SELECT xact_commit, xact_rollback FROM pg_stat_database "
                        "WHERE datname = current_database()")[0]
        return int(row["xact_commit"]), int(row["xact_rollback"])

    def rows(self, statement: str) -> list[dict[str, str]]:
        """What a SELECT finds, as text; NULL is the empty string."""
        return list(csv.DictReader(io.StringIO(self._psql(statement, "--csv"))))

    def value(self, statement: str) -> str:
        return next(iter(self.rows(statement)[0].values()))

    def run(self, statements: str, timeout: float = 600) -> None:
        self._psql(statements, "--quiet", timeout=timeout)

    def _psql(self, statements: str, form: str, timeout: float = 120) -> str:
        done = subprocess.run(
            [str(self._bin / "psql"), "-X", form, "-h", str(self.folder), "-U", _USER, "-d", _USER,
             "-v", "ON_ERROR_STOP=1", "-f", "-"],
            input=statements, capture_output=True, text=True, timeout=timeout)
        assert done.returncode == 0, f"psql: {done.stderr.strip()}"
        return done.stdout

    def _check(self, argv: list, timeout: float) -> None:
        done = subprocess.run(_as_postgres(argv), capture_output=True, text=True, timeout=timeout,
                              cwd=self.folder)
        assert done.returncode == 0, f"{argv[0]}: {done.stderr.strip()}"

    def _signal(self, sign: int, timeout: float) -> None:
        os.kill(self.program.pid, sign)
        until(lambda: not self.program.is_running, "PostgreSQL to end", timeout)
        self.program.close()


def _as_postgres(argv: list) -> list[str]:
    words = [str(word) for word in argv]
    if os.geteuid() != 0:
        return words
    known = pwd.getpwnam("postgres")
    # The death signal is forgotten when a process changes its user, so it is set once more.
    return ["setpriv", f"--reuid={known.pw_uid}", f"--regid={known.pw_gid}", "--clear-groups",
            "--pdeathsig", "KILL", *words]


def _family(parent: int) -> list[int]:
    """A process and its children; PostgreSQL's have none of their own."""
    found = [parent]
    try:
        text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        found += [int(word) for word in text.split()]
    except OSError:
        pass
    return found


def _seconds(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0


def _ended_seconds(pid: int) -> float:
    """Time of those children that have ended. Source: proc(5), cutime and cstime."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
