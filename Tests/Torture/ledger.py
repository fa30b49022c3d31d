"""Who said what, and what became of it: the publisher's book and the consumer's, compared.

A message is known by the id in its payload, a record by (sid, seq).
"""

import hashlib
import threading
import time
from collections import Counter
from dataclasses import dataclass, field


def digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=12).digest()


@dataclass
class Sent:
    """One message of a program; `attempts` is how often it may have been given to the bus."""

    app: str
    digest: bytes
    attempts: int = 0
    at: float = 0.0
    sequences: set[int] = field(default_factory=set)

    @property
    def is_acknowledged(self) -> bool:
        return bool(self.sequences)


@dataclass
class Arrived:
    """A record's first arrival, `place` counts them; `times` is how often it came."""

    id: int
    digest: bytes
    place: int
    times: int = 1


class Ledger:
    """Thread-safe; `faults` are what no retransmission explains, in words, the first few."""

    def __init__(self):
        self.lock = threading.RLock()
        self.sent: dict[int, Sent] = {}
        self.arrived: dict[tuple[str, int], Arrived] = {}
        self.order: list[tuple[str, int]] = []
        self.ids: set[int] = set()
        self.tally: Counter = Counter()
        self.faults: dict[str, list[str]] = {}
        self.last_answer = time.monotonic()
        self.acknowledged = 0

    def fault(self, kind: str, words: str) -> None:
        with self.lock:
            self.faults.setdefault(kind, []).append(words)

    # The publisher's side.

    def open(self, id_: int, app: str, payload: bytes) -> None:
        with self.lock:
            self.sent[id_] = Sent(app, digest(payload))

    def attempt(self, id_: int) -> None:
        with self.lock:
            entry = self.sent[id_]
            entry.attempts += 1
            entry.at = time.monotonic()
            if entry.attempts > 1:
                self.tally["sent again by the publisher"] += 1
                if id_ in self.ids:
                    # The agent had it, and its word to the program was lost on the way.
                    self.tally["arrived without an answer"] += 1

    def answered(self, id_: int, body: dict) -> bool:
        """Books an answer; false where it is a refusal, which leaves the message unsent."""
        with self.lock:
            entry = self.sent.get(id_)
            if entry is None:
                self.fault("answer to nothing", f"id {id_}: {body}")
                return False
            self.last_answer = time.monotonic()
            if "seq" not in body:
                self.tally[f"refused with {body.get('code')}"] += 1
                return entry.is_acknowledged
            if not entry.is_acknowledged:
                self.acknowledged += 1
            elif body["seq"] in entry.sequences:
                self.tally["answered again with the same seq"] += 1
            entry.sequences.add(body["seq"])
            return True

    # The consumer's side.

    def arrive(self, sid: str, seq: int, app: str, id_: int, payload: bytes) -> None:
        key, mark = (sid, seq), digest(payload)
        with self.lock:
            self.tally["arrivals"] += 1
            known = self.arrived.get(key)
            if known is not None:
                known.times += 1
                self.tally["duplicates"] += 1
                if known.digest != mark:
                    self.fault("duplicate with another payload", f"{key}")
                return
            self.arrived[key] = Arrived(id_, mark, len(self.order))
            self.order.append(key)
            self.ids.add(id_)
            entry = self.sent.get(id_)
            if entry is None or entry.digest != mark or entry.app != app:
                self.fault("payload or app changed", f"{key}: id {id_} of {app}")

    @property
    def missing(self) -> list[int]:
        """Ids that were acknowledged, and of which a sequence has not arrived."""
        with self.lock:
            came = {seq for _, seq in self.arrived}
            return [i for i, s in self.sent.items() if not s.sequences <= came]

    @property
    def unanswered(self) -> list[int]:
        with self.lock:
            return [i for i, s in self.sent.items() if not s.is_acknowledged]
