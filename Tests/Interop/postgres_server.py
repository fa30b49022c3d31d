"""A PostgreSQL of the tests' own, from Debian's package, in a temporary folder.

It listens on a Unix socket, where it trusts whoever comes, and on a free port of loopback, where
it wants a password. A shell in a session of its own waits for the end of the process that made
it, whatever that is, then stops the server and removes the folder.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from bench.program import free_port
from bench.waiting import until

USER = "postern"
PASSWORD = "not a secret of anyone"
ROOT = Path("/usr/lib/postgresql")
BOUND = 90  # seconds that any of its programs may take

KEEPER = """
cat > /dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null)
case "$pid" in *[!0-9]* | "") ;; *)
    kill -QUIT "$pid" 2> /dev/null
    for _ in $(seq 100); do kill -0 "$pid" 2> /dev/null || break; sleep 0.1; done
    kill -KILL "$pid" 2> /dev/null
esac
rm -rf "$1"
"""


def programs() -> Path | None:
    """The folder of the newest version that is installed."""
    versions = [path for path in ROOT.glob("*/bin") if (path / "initdb").exists()]
    return max(versions, key=lambda path: int(path.parent.name), default=None)


class PostgresServer:
    """One cluster, started; `durable` is whether a commit is on the disk when it says so."""

    def __init__(self, durable: bool = False, settings: tuple[str, ...] = ()):
        folder = programs()
        if folder is None:
            raise RuntimeError("PostgreSQL is not installed: apt-get install postgresql")
        self._programs = folder
        # Short: a socket's path has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._keeper = subprocess.Popen(
            ["sh", "-c", KEEPER, "sh", str(self.folder)], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            self.port = free_port()
            (self.folder / "password").write_text(PASSWORD)
            if os.geteuid() == 0:
                subprocess.run(["chown", "-R", "postgres:postgres", self.folder], check=True)
            self._make(durable, settings)
            self.start()
        except BaseException:
            self.close()
            raise

    def _make(self, durable: bool, settings: tuple[str, ...]) -> None:
        self._run(
            "initdb", "-D", self.data, "-U", USER, "--auth-local=trust", "-E", "UTF8",
            "--auth-host=scram-sha-256", f"--pwfile={self.folder}/password", "--locale=C",
            "--no-sync")
        switch = "on" if durable else "off"
        lines = [
            *self._place, "max_connections = 250", "shared_buffers = 64MB", "timezone = 'UTC'", f"fsync = {switch}", f"full_page_writes = {switch}", *settings,
        ]
        (self.data / "postgresql.auto.conf").write_text("\n".join(lines) + "\n")

    @property
    def _place(self) -> list[str]:
        return ["listen_addresses = '127.0.0.1'", f"port = {self.port}",
                f"unix_socket_directories = '{self.folder}'"]

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def logs(self) -> list[tuple[str, str]]:
        return [("postgresql", self.log)]

    def start(self) -> None:
        self._run("pg_ctl", "start", "-s", "-w", "-t", "60", "-D", self.data,
                  "-l", self.folder / "log")

    def stop(self, immediate: bool = False) -> None:
        """Immediate is as in a crash: it recovers at the next start."""
        self._run("pg_ctl", "stop", "-s", "-w", "-t", "60", "-D", self.data,
                  "-m", "immediate" if immediate else "fast")

    def restart(self, immediate: bool = False) -> None:
        self.stop(immediate)
        self.start()

    def uri(self, database: str = "postgres") -> str:
        """Over the Unix socket, as a superuser, without a password."""
        return f"postgres://{USER}@/{database}?host={self.folder}&port={self.port}"

    def tcp_uri(self, database: str = "postgres") -> str:
        """Over loopback, with PASSWORD."""
        return f"postgres://{USER}@127.0.0.1:{self.port}/{database}"

    def new_database(self, name: str) -> str:
        """Makes an empty database and returns its URI."""
        self.query(f"CREATE DATABASE {name}")
        return self.uri(name)

    def query(self, sql: str, database: str = "postgres") -> str:
        """What psql prints of it, a line a row, columns parted by `|`."""
        return self._run(
            "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.folder,
            "-p", str(self.port), "-U", USER, "-d", database, "-c", sql)

    @contextlib.contextmanager
    def doing(self, sql: str, database: str):
        """Within a transaction that goes on for a minute at most, and is given up at the end."""
        psql = subprocess.Popen(
            [self._programs / "psql", "-X", "-q", "-d", self.uri(database),
             "-c", f"{sql}; SELECT pg_sleep(60)"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until(lambda: self.query("SELECT count(*) FROM pg_stat_activity"
                                     " WHERE wait_event = 'PgSleep'") != "0", "psql to have it")
            yield
        finally:
            psql.kill()
            psql.wait()

    def close(self) -> None:
        """Stops it and waits until nothing is left. Again does nothing."""
        if self._keeper.stdin and not self._keeper.stdin.closed:
            self._keeper.stdin.close()
        try:
            self._keeper.wait(30)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> str:
        command = [str(self._programs / program), *map(str, arguments)]
        if os.geteuid() == 0:  # which PostgreSQL refuses
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
                       *command]
        # A file, not a pipe: the server that pg_ctl leaves behind would keep a pipe open.
        with tempfile.TemporaryFile("w+") as output:
            ended = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                cwd="/", timeout=BOUND, check=False,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"})
            output.seek(0)
            text = output.read().strip("\n")
        if ended.returncode != 0:
            raise RuntimeError(f"{program} ended with {ended.returncode}: {text}")
        return text


class StandbyServer(PostgresServer):
    """Follows another cluster, until it is cut off or takes over."""

    def __init__(self, primary: PostgresServer):
        self._primary = primary
        super().__init__()

    def _make(self, durable: bool, settings: tuple[str, ...]) -> None:
        self._run("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast",
                  "-h", self._primary.folder, "-p", self._primary.port, "-U", USER)
        # The last word of several counts.
        with (self.data / "postgresql.auto.conf").open("a") as conf:
            conf.write("\n".join(self._place) + "\n")

    def wait_abreast(self) -> None:
        """Until it has all that the other has now."""
        place = self._primary.query("SELECT pg_current_wal_flush_lsn()")
        until(lambda: self.query(f"SELECT pg_last_wal_replay_lsn() >= '{place}'") == "t",
              "the standby to follow", 60)

    def cut(self) -> None:
        """What is committed from now on it does not hear of."""
        self.query("ALTER SYSTEM SET primary_conninfo = ''")
        self.query("SELECT pg_reload_conf()")
        until(lambda: self.query("SELECT count(*) FROM pg_stat_wal_receiver") == "0",
              "the standby to hear no more", 60)

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "-s", "-w", "-t", "60", "-D", self.data)


@pytest.fixture(scope="module")
def postgres_server():
    """Without PostgreSQL's package the test is skipped, aloud."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed: nothing was played against it")
    server = PostgresServer()
    yield server
    server.close()
