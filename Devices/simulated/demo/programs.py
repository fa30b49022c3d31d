"""Child processes that end with the demo, whatever happens, and waiting with a bound."""

import argparse
import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, TypeVar

Found = TypeVar("Found")

_PR_SET_CHILD_SUBREAPER = 36
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_started: list["Program"] = []
# The demo's own settings and nobody's `POSTERN_…` beside them.
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("POSTERN_")}


class StepFailed(Exception):
    """A step of the demo failed. The sentence says which part; the logs have the details."""

    def __init__(self, sentence: str, *logs: Path):
        super().__init__(sentence)
        self.logs = logs


@contextmanager
def temporary_folder(prefix: str):
    """A new folder. At the end, whatever has happened, all programs that were started are ended,
    the last one first, and the folder is removed. SIGINT, SIGTERM and SIGHUP end the block."""
    def interrupt(*_):
        raise KeyboardInterrupt

    for name in _ENDINGS:
        signal.signal(name, interrupt)
    # The parent of all processes that its children leave behind.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        for name in _ENDINGS:
            signal.signal(name, signal.SIG_IGN)
        for program in reversed(_started):
            program.stop()
        if killed := _end_all():
            print(f"these programs did not end by themselves and were killed: {', '.join(killed)}")
        shutil.rmtree(folder)


class Program:
    """A program that runs until it is ended; its output is appended to two files."""

    def __init__(self, name: str, argv: list, folder: Path, env: dict | None = None):
        self.name = name
        self.argv = [str(a) for a in argv]
        self.output = folder / f"{name}.out"
        self.log = folder / f"{name}.log"
        self.env = ENVIRONMENT | (env or {})
        self._process: subprocess.Popen | None = None
        self._log_start = 0

    def start(self) -> "Program":
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        with self.output.open("ab") as out, self.log.open("ab") as err:
            self._process = subprocess.Popen(
                _dying_with_us(self.argv), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env=self.env, start_new_session=True)
        _started.append(self)
        return self

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def status(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.poll() if self._process else None

    @property
    def said(self) -> str:
        """Its log since the last start."""
        return self.log.read_bytes()[self._log_start:].decode(errors="replace")

    def wait(self, condition: Callable[[], Found], what: str, seconds: float = 20.0) -> Found:
        """The first truthy `condition()`; fails at once when this program has ended."""

        def found_or_ended() -> Found | str:
            return condition() or (self.status is not None and "ended")

        found = until(found_or_ended, f"{self.name}: {what}", seconds, self.log)
        if found == "ended" and not (found := condition()):
            raise StepFailed(
                f"{self.name} ended with status {self.status} before {what}", self.log)
        return found

    def kill(self) -> None:
        """SIGKILL, as a power cut would have it."""
        self._process.kill()
        self._process.wait()

    def stop(self, seconds: float = 8.0) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            print(f"  {self.name} did not end on SIGTERM within {seconds:g} s; it is killed")
            self.kill()


def binaries(text: str) -> Path:
    """A folder with the three built programs; an argument's type for argparse."""
    for name in ("postern-agent", "postern-authority", "postern"):
        if not (Path(text) / name).is_file():
            raise argparse.ArgumentTypeError(f"{Path(text) / name} does not exist; build it first")
    return Path(text).resolve()


def run(
    argv: list, log: Path, *, seconds: float = 60.0, stdin: str = "", ok: tuple = (0,)
) -> str:
    """The stdout of a command that must end with a status of `ok`; its stderr goes to `log`."""
    argv = [str(a) for a in argv]
    with log.open("ab") as err:
        try:
            done = subprocess.run(
                argv, input=stdin.encode(), stdout=subprocess.PIPE, stderr=err,
                env=ENVIRONMENT, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise StepFailed(f"{_title(argv)} did not end within {seconds:g} s", log) from None
    if done.returncode not in ok:
        raise StepFailed(f"{_title(argv)} ended with status {done.returncode}", log)
    return done.stdout.decode()


def until(
    condition: Callable[[], Found], what: str, seconds: float = 20.0, *logs: Path
) -> Found:
    """The first truthy value of `condition`."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise StepFailed(f"waited {seconds:g} s, without success, for {what}", *logs)
        time.sleep(0.01)
    return found


def free_port() -> int:
    """Below 32768, where the ports for outgoing connections begin, so that nothing takes it while
    its server is away."""
    while True:
        port = 16_384 + secrets.randbelow(16_384)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.5).close()
        return True
    except OSError:
        return False


def descendants() -> list[int]:
    """Every process that this one, or a child of it, has started and that still runs."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            # It has ended meanwhile.
            continue
        if fields[0] != "Z":
            parents[int(name)] = int(fields[1])
    found, generation = [], {os.getpid()}
    while generation:
        generation = {pid for pid, parent in parents.items() if parent in generation}
        found += generation
    return found


def traces() -> list[tuple[str, bytes]]:
    """Arguments and environment of everything that runs below this process."""
    found = []
    for pid in descendants():
        for part in ("cmdline", "environ"):
            try:
                found.append((f"process {pid}, {part}", Path(f"/proc/{pid}/{part}").read_bytes()))
            except OSError:
                continue
    return found


def _end_all() -> list[str]:
    """Kills our own processes that still run, by their ids. Returns the killed ones."""
    killed = []
    deadline = time.monotonic() + 2
    while left := descendants():
        if time.monotonic() > deadline:
            for pid in left:
                try:
                    killed.append(Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0])
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    continue
            deadline += 2
        time.sleep(0.02)
    return killed


def write_private(path: Path, text: str, mode: int = 0o600) -> Path:
    """A file that was never wider than `mode`."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "w") as file:
        file.write(text)
    return path


def _dying_with_us(argv: list[str]) -> list[str]:
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--", *argv] if setpriv else argv


def _title(argv: list[str]) -> str:
    """The program and its verbs, without a claim URL."""
    words = [Path(argv[0]).name, *argv[1:]]
    return " ".join(w for w in words if "#" not in w and not w.startswith("/"))
