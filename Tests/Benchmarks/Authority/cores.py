"""Which cores a program may use, and how much of one."""

import os
import shutil
import signal
import threading
import time

import processes


def first(argv: list[str]) -> list[str]:
    """The first core that we may use: the authority's with its database, or the echo's."""
    return _pinned(argv, lambda cores: cores[:1])


def others(argv: list[str]) -> list[str]:
    """All but the first, for broker and load; the first where there is one alone."""
    return _pinned(argv, lambda cores: cores[1:])


def any_of_them(argv: list[str]) -> list[str]:
    return argv


def _pinned(argv: list[str], choose) -> list[str]:
    cores = choose(sorted(os.sched_getaffinity(0)))
    taskset = shutil.which("taskset")
    if not cores or not taskset:
        return argv
    return [taskset, "-c", ",".join(map(str, cores)), *argv]


class Share:
    """Keeps processes to a part of a core each, by stopping and continuing them.

    So two of them on one machine are as two small machines, as long as the machine has more than
    the sum: what the second adds is then not what the first gives up.
    """

    # Seconds between two looks, and how far ahead of its part a process may be.
    _LOOK = 0.004
    _AHEAD = 0.002

    def __init__(self, pids: list[int], part: float):
        self._pids = pids
        self._part = part
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Share":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ends.set()
        self._thread.join()
        for pid in self._pids:
            os.kill(pid, signal.SIGCONT)

    def _run(self) -> None:
        last = time.monotonic()
        credit = {pid: 0.0 for pid in self._pids}
        used = {pid: processes.processor_seconds(pid) for pid in self._pids}
        while not self._ends.wait(self._LOOK):
            now = time.monotonic()
            for pid in self._pids:
                seconds = processes.processor_seconds(pid)
                # What was not used is not saved up.
                credit[pid] = min(self._AHEAD, credit[pid] + (now - last) * self._part
                                  - (seconds - used[pid]))
                used[pid] = seconds
                os.kill(pid, signal.SIGSTOP if credit[pid] < 0 else signal.SIGCONT)
            last = now
