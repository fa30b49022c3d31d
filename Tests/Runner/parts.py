"""One part of `make test`: a command with a log of its own, its count and its time."""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from count import Count, Report, fault

ROOT = Path(__file__).resolve().parent.parent.parent
LOGS = ROOT / ".build/tests"
BEGUN = int(os.environ.get("BEGUN", time.time()))
# Where tests keep what they write: in memory where there is room, since syncing a store for each of
# a thousand tests keeps a disk busy for minutes.
SCRATCH_ROOM = 4 << 30
MEMORY = Path("/dev/shm")
HAS_MEMORY = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= SCRATCH_ROOM
SCRATCH = {"TMPDIR": str(MEMORY)} if HAS_MEMORY else {}
# Lines of a failure's own text that are shown at the end.
SHOWN = 12
LAST = 60


@dataclass
class Row:
    """A part that has ended. Times are in seconds: `began` since make began, and what the
    processors worked for its commands. A daemon's work is not among that."""

    name: str
    began: float
    took: float
    worked: float
    count: Count


@dataclass
class Sheet:
    """The parts that have ended. Parts run side by side, so each notes itself under a lock."""

    rows: list["Row"] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def part(self, name: str, work: Callable[["Log"], Count]) -> Count:
        """Runs one part. What it prints goes to its log, and to the screen only if it failed."""
        self._say(f"… {name}")
        begun = time.time()
        with Log(name) as log:
            try:
                count = work(log)
            except Exception as error:  # noqa: BLE001: a part that breaks is a failure of its own
                count = fault(name, f"{type(error).__name__}: {error}")
            took = time.time() - begun
            with self._lock:
                self.rows.append(Row(name, begun - BEGUN, took, log.worked, count))
                self._say(f"{'✗' if count.failed else '✓'} {name}: {count}, {clock(took)}",
                          *log.notes, *(log.last() if count.failed else ()))
        return count

    def _say(self, *lines: str) -> None:
        with self._lock:
            print("\n".join(f"{clock(time.time() - BEGUN)}  {line}" for line in lines), flush=True)

    @property
    def total(self) -> Count:
        return sum((row.count for row in self.rows), Count())

    def close(self) -> int:
        """Prints where the time went, the failures, and the total in the last line."""
        total = self.total
        print("\nbegan  took     CPU   passed  failed  skipped  part")
        for row in sorted(self.rows, key=lambda row: row.began):
            print(f"{clock(row.began)}  {clock(row.took)}  {clock(row.worked)}  {row.count.passed:6}"
                  f"  {row.count.failed:6}  {row.count.skipped:7}  {row.name}")
        print(f"{clock(time.time() - BEGUN)} in all; each part's output is in .build/tests\n")
        for name, words in total.faults.items():
            print(f"failed: {name}")
            print("\n".join(f"    {line}" for line in words.strip().splitlines()[:SHOWN]) + "\n")
        # Again, in short: some show only the last lines of a run.
        for name in total.faults:
            print(f"failed: {name}")
        print(total, flush=True)
        return 1 if total.failed or not total.passed else 0


class Log:
    """Where a part's commands write."""

    def __init__(self, name: str):
        LOGS.mkdir(parents=True, exist_ok=True)
        self.path = LOGS / (re.sub(r"\W+", "-", name) + ".log")
        # Lines that are shown even if all passed.
        self.notes: list[str] = []
        # Seconds of processor time of the commands that have ended.
        self.worked = 0.0

    def __enter__(self) -> "Log":
        self._file = self.path.open("wb")
        return self

    def __exit__(self, *_) -> None:
        self._file.close()

    def run(self, *argv: object, **environment: str) -> int:
        """The exit status of a command."""
        process = subprocess.Popen(
            [str(word) for word in argv], cwd=ROOT, env=os.environ | environment,
            stdin=subprocess.DEVNULL, stdout=self._file, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.worked += usage.ru_utime + usage.ru_stime
        return process.returncode

    def last(self, count: int = LAST) -> list[str]:
        return self.path.read_text(errors="replace").splitlines()[-count:]

    def command(self, name: str, *argv: object, **environment: str) -> Count:
        """A command that is one test: it passes if its status is 0."""
        if status := self.run(*argv, **environment):
            return fault(name, f"status {status}\n" + "\n".join(self.last(SHOWN - 1)))
        return Count(passed=1)

    def make(self, target: str, *variables: str, **environment: str) -> Count:
        """A target of the Makefile, as one test."""
        return self.command(f"make {target}", "make", "--no-print-directory", target, *variables,
                            **environment)

    def build(self, *arguments: str) -> Count:
        """A call of `swift build`. A warning of our own sources fails it."""
        # Tests that wait for brokers may run beside it.
        status = self.run("nice", "swift", "build", *arguments)
        found = [line for line in self.last(100_000)
                 if re.search(rf"^{re.escape(str(ROOT))}/(Sources|Tests)/.*(error|warning):", line)]
        if status or found:
            return fault(f"swift build {' '.join(arguments)}",
                         "\n".join(dict.fromkeys(found)) or "\n".join(self.last(SHOWN)))
        return Count()

    def swift_test(self, programs: Path, *chosen: str, width: int = 4, **environment: str) -> Count:
        """Swift's tests, `width` at once: more would starve each other's brokers on two cores."""
        with Report() as report:
            status = self.run(
                programs / "posternPackageTests.xctest", "--testing-library", "swift-testing",
                "--xunit-output", report.path, *chosen,
                SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=str(width), **SCRATCH,
                **environment)
            return report.count(status, "\n".join(self.last(SHOWN)),
                                lambda suite, name: f"{suite}/{name}")

    def pytest(
        self, programs: Path, *chosen: object, workers: int = 1, **environment: str
    ) -> Count:
        """Python's tests, `workers` files at once, in the folder `TMPDIR` where it is given."""
        spread = ["-n", workers, "--dist", "loadfile"] if workers > 1 else []
        with Report(environment.get("TMPDIR")) as report:
            status = self.run(
                ROOT / ".venv/bin/python", "-m", "pytest", "-q", "--durations=40",
                f"--junitxml={report.path}",
                # pytest would keep the folders of its last runs; these go with the report.
                f"--basetemp={report.folder / 't'}", "-p", "no:cacheprovider", *spread, *chosen,
                POSTERN_BIN=str(programs), PYTHONDONTWRITEBYTECODE="1", **environment)
            self.notes += report.measurements()
            return report.count(status, "\n".join(self.last(SHOWN)),
                                lambda file, name: f"{file.replace('.', '/')}.py::{name}")


def bin_path(*flags: str) -> Path:
    """The folder in which `swift build` with these flags puts the programs."""
    shown = subprocess.run(["swift", "build", *flags, "--show-bin-path"], cwd=ROOT,
                           stdout=subprocess.PIPE, text=True, check=True)
    return Path(shown.stdout.strip())


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60:2}:{int(seconds) % 60:02}"


if __name__ == "__main__":
    sys.exit("this is a part of Tests/run")
