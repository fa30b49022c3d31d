"""What systemd does for a service of Type=notify with a watchdog, as sd_notify(3) has it.

It hears the service's words, ends it by SIGABRT when it has been silent for too long, and starts
it anew when it has failed.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from .program import Program
from .waiting import until


class ServiceManager:
    """`watchdog` seconds of silence end the service; give `environment` to its program."""

    def __init__(self, watchdog: float):
        # Short, for a socket's path has 107 bytes at most.
        self.place = Path(tempfile.mkdtemp(prefix="ntf-"))
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.place / "notify"))
        self.socket.settimeout(0.05)
        self.watchdog = watchdog
        self.environment = {
            "NOTIFY_SOCKET": str(self.place / "notify"),
            "WATCHDOG_USEC": str(int(watchdog * 1_000_000)),
            # As the units have it: a crash ends the program, without bytes of it in the log.
            "SWIFT_BACKTRACE": "enable=no",
        }
        # When each word was heard, its name and its value.
        self.words: list[tuple[float, str, str]] = []
        # When a service was ended for its silence.
        self.aborted: list[float] = []
        self.restarts = 0
        self._limit = watchdog
        self._sign: float | None = None
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def look_after(self, program: Program) -> "ServiceManager":
        """From now on, until `close`; the program is started by whoever has it."""
        self._thread = threading.Thread(target=self._run, args=(program,), daemon=True)
        self._thread.start()
        return self

    def times(self, name: str, value: str = "1") -> list[float]:
        return [at for at, n, v in list(self.words) if (n, v) == (name, value)]

    @property
    def statuses(self) -> list[str]:
        return [v for _, n, v in list(self.words) if n == "STATUS"]

    def wait_status(self, part: str, timeout: float = 60.0) -> str:
        def said():
            return next((s for s in self.statuses if part in s), None)

        return until(said, f"a status with {part!r}; said were {self.statuses}", timeout)

    def close(self) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join(20)
        self.socket.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def _run(self, program: Program) -> None:
        while not self._is_over.is_set():
            self._hear()
            process = program.process
            if process is None:
                continue
            if process.poll() is not None:
                self._start_anew(program)
            elif self._sign is not None and time.monotonic() - self._sign > self._limit:
                self.aborted.append(time.monotonic())
                self._sign = None
                process.send_signal(signal.SIGABRT)
                process.send_signal(signal.SIGCONT)

    def _start_anew(self, program: Program) -> None:
        """As Restart=on-failure does."""
        if program.process is None or program.process.returncode == 0:
            return
        self._sign, self._limit = None, self.watchdog
        program.process = None
        program.start()
        self.restarts += 1

    def _hear(self) -> None:
        try:
            datagram = self.socket.recv(65536)
        except TimeoutError:
            return
        now = time.monotonic()
        for line in datagram.decode().splitlines():
            name, _, value = line.partition("=")
            self.words.append((now, name, value))
            if (name, value) in (("WATCHDOG", "1"), ("READY", "1")):
                self._sign = now
            if name == "WATCHDOG_USEC":
                self._limit = int(value) / 1_000_000
                self._sign = now if self._sign is not None else None


class BrokenDisk:
    """A disk for one program, by its `environment`: it stands still while `hang` is there, and
    fails each sync while `fail` is."""

    def __init__(self, folder: Path):
        compiler = next((c for c in map(shutil.which, ("cc", "gcc", "clang")) if c), None)
        if compiler is None:
            pytest.skip("there is no C compiler to make a disk hang with")
        library = folder / "hanging_disk.so"
        source = Path(__file__).with_name("hanging_disk.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"],
                       check=True)
        self.hang, self.fail = folder / "hang", folder / "fail"
        self.environment = {
            "LD_PRELOAD": str(library), "HANGING_DISK": str(self.hang),
            "FAILING_DISK": str(self.fail),
        }


def stop_still(program: Program) -> None:
    """All of its threads stand still; only the manager's SIGCONT, or SIGKILL, ends that."""
    os.kill(program.pid, signal.SIGSTOP)
