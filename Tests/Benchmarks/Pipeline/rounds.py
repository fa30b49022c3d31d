"""What one round measures: every peer after the other, in an order of the round's own."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from loads import Broken, Load
from peers import AGENTS, LINKS, Peer, Peers
from processes import (
    memory, processor_seconds, voluntary_switches, wait_quiet, written_bytes)

PARTS = ("flow", "latency", "sync", "backlog", "open", "start", "idle")


@dataclass(frozen=True)
class Plan:
    """How much of each; the window is what is on its way from end to end at most."""

    rounds: int
    sizes: tuple[int, ...]
    parts: tuple[str, ...]
    flow: int
    latency: int
    backlog: int
    starts: int
    idle: float
    # Messages in the queue whose opening is timed.
    stored: int
    seed: int
    window: int = 2000
    backlog_bytes: int = 256
    backlog_link: str = "tls"


class Rounds:
    """Measures round by round; each figure is one row."""

    def __init__(self, house, peers: Peers, load: Load, plan: Plan):
        self._house = house
        self._peers = peers
        self._load = load
        self._plan = plan
        self._random = random.Random(plan.seed)
        self._round = 0
        self.rows: list[dict] = []

    def warm_up(self) -> None:
        """Every way is open, and has been gone, when this returns."""
        for peer in self._peers.all:
            self._load.flow(peer, count=100, bytes=64, window=20)
        self._be_quiet(*self._peers.all)

    def measure(self) -> None:
        for self._round in range(1, self._plan.rounds + 1):
            for part in self._plan.parts:
                _tell(f"round {self._round} of {self._plan.rounds}: {part}")
                getattr(self, part)()

    # The parts.

    def flow(self) -> None:
        for peer, size in self._turns():
            count = int(self._plan.flow * peer.share)
            limits = {"count": count, "bytes": size, "window": self._plan.window}
            said, spent = self._timed(peer, lambda: self._load.flow(peer, **limits))
            self._add("flow", peer, size, said | spent, rate=said["count"] / said["seconds"])

    def latency(self) -> None:
        for peer, size in self._turns():
            count = self._plan.latency if peer.share == 1 else 50
            said, spent = self._timed(
                peer, lambda: self._load.flow(peer, count=count, bytes=size, window=1))
            self._add("latency", peer, size, said | spent)

    def sync(self) -> None:
        """A sync alone: 4 KiB written over, in a file on the disk that the queue is on."""
        took = []
        with tempfile.TemporaryFile(dir=self._house.folder) as file:
            os.write(file.fileno(), bytes(1 << 20))
            os.fsync(file.fileno())
            for turn in range(self._plan.latency):
                os.pwrite(file.fileno(), os.urandom(4096), turn % 256 * 4096)
                begin = time.perf_counter()
                os.fdatasync(file.fileno())
                took.append(time.perf_counter() - begin)
        took.sort()
        for peer in self._peers.all:
            if peer.name in AGENTS and peer.share == 1 and peer.link == "plain":
                self._add("sync", peer, 0, {"p50_us": took[len(took) // 2] * 1e6})

    def open(self) -> None:
        """Opening a long queue: the store alone, its files in the kernel's memory."""
        program = self._house.binary.parent / "powercut-store"
        with tempfile.TemporaryDirectory(dir=self._house.folder) as folder:
            said = subprocess.run(
                [program, "time", f"{folder}/state", str(self._plan.stored)], check=True,
                stdout=subprocess.PIPE, text=True).stdout
        for peer in self._peers.all:
            if peer.name in AGENTS and peer.share == 1 and peer.link == "plain":
                self._add("open", peer, 0, {"milliseconds": float(said)})

    def backlog(self) -> None:
        """Upstream stands still while the backlog is published, and then goes on."""
        peers = [p for p in self._peers.of(self._plan.backlog_link) if p.share == 1]
        for peer in self._shuffled(peers):
            others = [p for p in self._peers.all if p.name in AGENTS and p is not peer]
            # A second agent would share its pages, and each would seem smaller than it is.
            for other in others:
                other.worker.stop()
            self._one_backlog(peer)
            for other in others:
                self._resume(other)

    def start(self) -> None:
        for peer in self._peers.of("plain"):
            if peer.name not in AGENTS or peer.share < 1:
                continue
            peer.worker.stop()
            found = self._load.starts(peer, peer.worker.argv, self._plan.starts)
            self._resume(peer)
            for milliseconds in found:
                self._add("start", peer, 0, {"milliseconds": milliseconds})

    def idle(self) -> None:
        """How often each was woken while nobody asked anything of anyone."""
        peers = [p for p in self._peers.all if p.share == 1]
        self._be_quiet(*self._peers.all)
        begin = time.monotonic()
        before = [(voluntary_switches(p.worker.pid), processor_seconds(p.worker.pid))
                  for p in peers]
        time.sleep(self._plan.idle)
        spent = time.monotonic() - begin
        for peer, (switches, seconds) in zip(peers, before):
            woken = voluntary_switches(peer.worker.pid) - switches
            worked = processor_seconds(peer.worker.pid) - seconds
            self._add("idle", peer, 0, {
                "wakeups_per_second": woken / spent, "cpu_us_per_second": worked / spent * 1e6})

    def _one_backlog(self, peer: Peer) -> None:
        plan, upstream = self._plan, self._house.upstream.pid
        limits = {"count": plan.backlog, "bytes": plan.backlog_bytes, "window": plan.window,
                  "timeout": 150}
        with self._load.backlog(peer, **limits) as backlog:
            os.kill(upstream, signal.SIGSTOP)
            try:
                filled = backlog.fill()
                if filled["refused"]:
                    raise Broken(f"{peer.name}: {filled['refused']} writes refused")
                wait_quiet([peer.worker.pid])
                held = memory(peer.worker.pid)
                begin = processor_seconds(peer.worker.pid)
                drained = backlog.drain(lambda: os.kill(upstream, signal.SIGCONT))
            finally:
                os.kill(upstream, signal.SIGCONT)
        self._be_quiet(peer)
        spent = processor_seconds(peer.worker.pid) - begin
        self._add("backlog", peer, plan.backlog_bytes, drained, held, {
            "fill_rate": filled["filled"] / filled["seconds"],
            "rate": drained["count"] / drained["arriving"],
            "rate_from_return": drained["count"] / drained["seconds"],
            "worker_us": spent / drained["count"] * 1e6,
        })

    # How it is measured.

    def _turns(self):
        """Peers of one link and size stand next to one another, in an order by chance."""
        for link in LINKS:
            for size in self._plan.sizes:
                for peer in self._shuffled(self._peers.of(link)):
                    yield peer, size

    def _shuffled(self, peers: list[Peer]) -> list[Peer]:
        return self._random.sample(peers, len(peers))

    def _timed(self, peer: Peer, body) -> tuple[dict, dict]:
        """What it said, and microseconds of each process for one message."""
        def clock() -> list[float]:
            return [processor_seconds(peer.worker.pid),
                    sum(processor_seconds(p.pid) for p in peer.before),
                    processor_seconds(self._house.upstream.pid)]

        disk = written_bytes(peer.worker.pid)
        before = clock()
        said = body()
        self._be_quiet(peer)
        spent = [(b - a) / said["count"] * 1e6 for a, b in zip(before, clock())]
        names = ("worker_us", "before_us", "upstream_us")
        written = (written_bytes(peer.worker.pid) - disk) / said["count"]
        more = {"written": written, "load_us": said["load_cpu"] / said["count"] * 1e6, "board_us": sum(spent[:2])}
        return said, dict(zip(names, spent)) | more

    def _resume(self, peer: Peer) -> None:
        """Starts an agent that was stopped; its way is open when this returns."""
        self._house.agents[f"{peer.name}-{peer.link}"].start()
        self._load.flow(peer, count=10, bytes=64, window=1)

    def _be_quiet(self, *peers: Peer) -> None:
        pids = [p.pid for peer in peers for p in (peer.worker, *peer.before)]
        wait_quiet([*pids, self._house.upstream.pid])

    def _add(self, part: str, peer: Peer, size: int, *figures: dict, **more) -> None:
        row = {"round": self._round, "part": part, "peer": peer.name, "link": peer.link,
               "bytes": size}
        for each in figures:
            row |= each
        self.rows.append(row | more)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
