"""What the kernel says of a process: its time, its memory, how often it slept."""

import time
from pathlib import Path


def processor_seconds(pid: int) -> float:
    """Time on a processor, user and system, of all its threads; to the nanosecond."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((thread / "schedstat").read_text().split()[0])
        except OSError:
            pass  # It ended meanwhile.
    return total / 1e9


def memory(pid: int) -> dict[str, float]:
    """PSS and RSS in MB of 10^6 bytes, as the budget counts."""
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("Pss", "Rss"):
            found[name.lower()] = int(value.split()[0]) * 1024 / 1e6
    return found


def written_bytes(pid: int) -> int:
    """Bytes of the pages that it has had the disk write. Source: proc_pid_io(5), write_bytes."""
    for line in Path(f"/proc/{pid}/io").read_text().splitlines():
        if line.startswith("write_bytes:"):
            return int(line.split()[1])
    raise RuntimeError(f"/proc/{pid}/io has no write_bytes")


def voluntary_switches(pid: int) -> int:
    """How often it gave the processor up: for a loop that polls, how often it was woken."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("voluntary_ctxt_switches:"):
            return int(line.split()[1])
    raise RuntimeError(f"/proc/{pid}/status has no voluntary_ctxt_switches")


def wait_quiet(pids: list[int], timeout: float = 20.0) -> None:
    """Returns once none of them did more than housekeeping for a tenth of a second."""
    end = time.monotonic() + timeout
    before = [processor_seconds(pid) for pid in pids]
    while time.monotonic() < end:
        time.sleep(0.1)
        after = [processor_seconds(pid) for pid in pids]
        if all(b - a < 0.001 for a, b in zip(before, after)):
            return
        before = after
