"""One run: brokers, board, publisher and consumer, and what all phases share."""

import random
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.evidence import Evidence
from bench.waiting import until
from board import Board
from ledger import Ledger
from proxy import Proxy
from publisher import Publisher
from upstream import TorturedUpstream
from weather import Clear

BEGUN = time.monotonic()


def tell(words: str) -> None:
    print(f"{time.monotonic() - BEGUN:6.1f} s  {words}", flush=True)


@dataclass(frozen=True)
class Plan:
    """How much of it: messages in all, and the factor by which phases last."""

    seed: int
    messages: int
    is_short: bool
    patience: float

    def seconds(self, short: float, long: float) -> float:
        return short if self.is_short else long


@dataclass
class Torture:
    """Everything is up and the board has a session when it is made."""

    plan: Plan
    folder: Path
    programs: Path
    settings: dict[str, str] = field(default_factory=dict)
    figures: dict[str, int | float | str] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    _open: list = field(default_factory=list)

    def begin(self) -> "Torture":
        threading.excepthook = lambda failed: self.fault("the test's own", repr(failed))
        evidence = Evidence()
        self.draw = random.Random(self.plan.seed)
        self.ledger = Ledger()
        self.upstream = self._opened(TorturedUpstream(self.folder, evidence, self.ledger))
        self.proxy = self._opened(Proxy(self.upstream.broker.port, self.plan.seed + 1))
        self.board = self._opened(Board(self.folder, evidence, self.programs, self.proxy.port))
        self.board.settings = self.settings
        self.board.run_with({})
        url = self.board.pair()
        self.board.start_ready()
        self.installation = self.upstream.authority.claim(url)
        self.upstream.authority.wait_live(self.installation, 30)
        until(self.is_flowing, "the session to be available", 30)
        self.publisher = self._opened(
            Publisher(self.board.logins, self.ledger, self.plan.seed + 2, self.plan.patience))
        self.iid = self.installation.iid
        return self

    def _opened(self, part):
        self._open.append(part)
        return part

    def close(self) -> None:
        for part in reversed(self._open):
            try:
                part.close()
            except Exception as error:  # noqa: BLE001, the rest is to be closed all the same
                print(f"closing {type(part).__name__}: {error}", flush=True)

    # What the phases ask for.

    def is_flowing(self) -> bool:
        """Whether the session is available and the uplink stands."""
        status = self.board.status()
        return status.get("uplink") == "connected" and self.installation.has_new_password

    def fault(self, kind: str, words: str) -> None:
        self.faults.setdefault(kind, []).append(words)
        tell(f"✗ {kind}: {words}")

    def add(self, figure: str, count: float = 1) -> None:
        self.figures[figure] = self.figures.get(figure, 0) + count

    def most(self, figure: str, value: float) -> None:
        self.figures[figure] = max(self.figures.get(figure, 0), round(value, 2))

    @contextmanager
    def phase(self, title: str, share: float, seconds: float):
        """Offers a share of the messages over so many seconds, and says what came of it."""
        count = int(self.plan.messages * share)
        before = (len(self.ledger.sent), self.ledger.acknowledged, len(self.ledger.arrived))
        tell(f"… {title}: {seconds:.0f} s")
        begun = time.monotonic()
        if count:
            self.publisher.offer(count, seconds)
        yield Span(self, begun, seconds)
        now = (len(self.ledger.sent), self.ledger.acknowledged, len(self.ledger.arrived))
        sent, acknowledged, arrived = (b - a for a, b in zip(before, now, strict=True))
        tell(f"✓ {title}: {sent} sent, {acknowledged} acknowledged, {arrived} arrived, "
             f"{time.monotonic() - begun:.0f} s; {self.board.kills} kills so far")

    def flows_again(self, timeout: float) -> float | None:
        """Seconds until something new has arrived upstream; None: nothing did in time."""
        before, begun = len(self.ledger.arrived), time.monotonic()
        while time.monotonic() - begun < timeout:
            if len(self.ledger.arrived) > before:
                return time.monotonic() - begun
            self.board.is_dead and self.board.start()
            time.sleep(0.02)
        return None

    def answers_again(self, timeout: float) -> float | None:
        """Seconds until the bus has an acknowledgement again; None: none came in time."""
        before, begun = self.ledger.acknowledged, time.monotonic()
        while time.monotonic() - begun < timeout:
            if self.ledger.acknowledged > before:
                return time.monotonic() - begun
            time.sleep(0.02)
        return None

    def calm(self, timeout: float) -> None:
        """Good weather and an agent of its own start; returns once nothing is on its way."""
        self.proxy.change(Clear)
        self.board.run_with({})
        self.board.stop()
        self.board.start_ready()
        begun = time.monotonic()
        while time.monotonic() - begun < timeout:
            if self.publisher.is_done and not self.ledger.missing:
                if self.board.status()["queue"]["messages"] == 0:
                    return
            time.sleep(0.2)
        silent = sum(id_ in self.ledger.ids for id_ in self.ledger.unanswered)
        tell(f"✗ not all arrived within {timeout:.0f} s of calm: "
             f"{self.publisher.outstanding} unanswered, {silent} of them arrived, "
             f"{len(self.ledger.missing)} missing, queue {self.board.status()['queue']}")


@dataclass(frozen=True)
class Span:
    """The time of one phase: it lasts its seconds, and then until its messages are sent."""

    torture: Torture
    begun: float
    seconds: float

    @property
    def is_late(self) -> bool:
        """Whether more than its time has passed: no round begins any more."""
        return time.monotonic() - self.begun > self.seconds

    @property
    def goes_on(self) -> bool:
        spent = time.monotonic() - self.begun
        if spent > 1.5 * self.seconds:
            # What was not sent in time is left for a better one.
            self.torture.publisher.offer(self.torture.publisher.withdraw(), self.seconds)
            return False
        return spent < self.seconds or self.torture.publisher._budget > 0
