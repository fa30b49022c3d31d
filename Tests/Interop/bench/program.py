"""One child process: its output kept in files, ended by its own id, never outliving the test."""

import collections
import os
import resource
import secrets
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from .waiting import until

# A board of a bench is no fleet: it comes back at once, whatever its authority has not told it.
_ENVIRONMENT = {
    k: v for k, v in os.environ.items() if not k.startswith(("POSTERN_", "PYTEST"))
} | {"POSTERN_UPLINK_SPREAD": "0s"}


# The newest ports that were given out, each held by a socket that does not listen.
_held: collections.deque[socket.socket] = collections.deque()


def free_port(count: int = 1) -> int:
    """A port that nobody uses now, the first of `count` neighbours.

    It is below those that the kernel gives to outgoing connections, from 32768 on, so that nothing
    takes it while its server is away. The tests in Swift have the half below these. No other test
    run gets it meanwhile. A server may listen there if it sets SO_REUSEADDR, as all of ours do.
    """
    while True:
        port = 24_576 + secrets.randbelow(8192 - count)
        probes = [socket.socket() for _ in range(count)]
        try:
            for number, probe in enumerate(probes):
                # Set after the bind, so that two probes never share a port.
                probe.bind(("127.0.0.1", port + number))
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        except OSError:
            for probe in probes:
                probe.close()
            continue
        _held.extend(probes)
        while len(_held) > 256:
            _held.popleft().close()
        return port


def accepts(port: int, host: str = "127.0.0.1") -> bool:
    """Whether somebody listens on this loopback port."""
    try:
        socket.create_connection((host, port), timeout=0.5).close()
        return True
    except OSError:
        return False


class Program:
    """A program that runs until told; `<name>.err` and `<name>.out` grow with each start."""

    def __init__(self, name: str, argv: list, folder: Path, env: dict | None = None):
        self.name = name
        self.argv = [str(a) for a in argv]
        self.out = folder / f"{name}.out"
        self.err = folder / f"{name}.err"
        self.env = _ENVIRONMENT | (env or {})
        self.process: subprocess.Popen | None = None
        self.traces: list[bytes] = []
        self._log_start = 0

    def start(self) -> "Program":
        assert self.process is None, f"{self.name} runs already"
        self._log_start = self.err.stat().st_size if self.err.exists() else 0
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self.process = subprocess.Popen(
                _dying_with_us(self.argv), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env=self.env, start_new_session=True,
            )
        return self

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def log(self) -> str:
        """What it wrote to stderr since its last start."""
        raw = self.err.read_bytes()[self._log_start:] if self.err.exists() else b""
        return raw.decode(errors="replace")

    def _last_words(self) -> str:
        """For one who has nothing else of it: RabbitMQ has its log on stdout."""
        told = self.out.read_text(errors="replace") if self.out.exists() else ""
        return "\n".join((told + self.log).splitlines()[-60:])

    def wait_ready(self, is_ready, what: str, timeout: float = 60.0) -> "Program":
        """Waits for `is_ready()`, or fails at once with the log when the program has ended."""

        def ready_or_dead():
            return not self.is_running or is_ready()

        until(ready_or_dead, f"{self.name}: {what}", timeout, self._last_words)
        assert self.is_running, (
            f"{self.name} ended with {self.process.poll()}:\n{self._last_words()}")
        return self

    def reload(self) -> None:
        os.kill(self.pid, signal.SIGHUP)

    def kill(self) -> None:
        """SIGKILL, as a power cut would have it."""
        self._end(signal.SIGKILL, 60)

    def stop(self, timeout: float = 60.0) -> int | None:
        """SIGTERM and the exit status; SIGKILL and a failure when it does not end in time."""
        return self._end(signal.SIGTERM, timeout)

    def close(self) -> None:
        """Ends it and what it started, whatever state it is in. Says nothing about how."""
        try:
            self._end(signal.SIGTERM, 5)
        except AssertionError as stubborn:
            print(stubborn)

    def _end(self, sign: int, timeout: float) -> int | None:
        if self.process is None:
            return None
        process, self.process = self.process, None
        self._remember(process.pid)
        family = _descendants(process.pid)
        if process.poll() is None:
            process.send_signal(sign)
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
            raise AssertionError(f"{self.name} did not end within {timeout:g} s") from None
        finally:
            _reap(family)

    def _remember(self, pid: int) -> None:
        """Keeps argv and environment, which are searched for secrets at the end."""
        for part in ("cmdline", "environ"):
            try:
                self.traces.append(Path(f"/proc/{pid}/{part}").read_bytes())
            except OSError:
                pass


def run(
    argv: list, *, timeout: float = 60.0, env: dict | None = None
) -> subprocess.CompletedProcess:
    """Runs a program to its end; its output is text, and nothing is asked of its status."""
    return subprocess.run(
        [str(a) for a in argv], capture_output=True, text=True, timeout=timeout,
        stdin=subprocess.DEVNULL, env=_ENVIRONMENT | (env or {}),
    )


def _dying_with_us(argv: list[str]) -> list[str]:
    """A child ends with the test run, even when that is killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", *argv] if setpriv else argv


def _started(pid: int) -> tuple[int, str] | None:
    """Parent and start time of a process: together with the pid they name it for good."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[1]), fields[19]
    except (OSError, IndexError):
        return None


def _descendants(pid: int) -> dict[int, str]:
    all_of_them = {
        int(p.name): facts for p in Path("/proc").iterdir()
        if p.name.isdigit() and (facts := _started(int(p.name)))
    }
    found: dict[int, str] = {}
    parents = {pid}
    while parents:
        parents = {p for p, (parent, _) in all_of_them.items() if parent in parents}
        found |= {p: all_of_them[p][1] for p in parents}
    return found


def _reap(family: dict[int, str]) -> None:
    """Ends what a program of ours left behind: only the very processes it had started."""

    def alive() -> list[int]:
        return [p for p, at in family.items() if (facts := _started(p)) and facts[1] == at]

    try:
        until(lambda: not alive(), "the children to end", 3)
    except AssertionError:
        for pid in alive():
            print(f"killing process {pid}, which a program of ours left behind")
            os.kill(pid, signal.SIGKILL)


def allow_files(count: int) -> None:
    """So many open files for this program and those that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return
    if wanted < count and os.geteuid() == 0:
        wanted = hard = count
    assert wanted >= count, f"{count} connections need `ulimit -Hn {count}`; it is {hard}"
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
