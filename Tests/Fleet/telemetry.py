"""The book of all telemetry that a consumer gets, and what is not in it."""

import threading
import time
from dataclasses import dataclass, field
from hashlib import blake2b

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from invariants import Finding

ROOT = "postern/v1"
# Seconds between two tries to connect.
_PAUSE = 0.02


@dataclass
class Board:
    """What came of one board: its numbers with the times between which the board accepted them
    and they came here, in milliseconds. The board's own clock may be wrong."""

    times: dict[int, tuple[int, int]] = field(default_factory=dict)
    digests: dict[int, bytes] = field(default_factory=dict)


@dataclass
class Book:
    boards: dict[str, Board] = field(default_factory=dict)
    repeats: int = 0
    conflicts: list[str] = field(default_factory=list)
    malformed: list[str] = field(default_factory=list)

    def take(self, topic: str, payload: bytes, marks: dict[str, str], now: int) -> None:
        iid = topic[len(ROOT) + 1:].partition("/")[0]
        try:
            number, at = int(marks["seq"]), int(marks["ts"])
            content = b"\0".join([topic.encode(), marks["sid"].encode(), payload])
        except (KeyError, ValueError):
            self.malformed.append(topic)
            return
        digest = blake2b(content, digest_size=8).digest()
        board = self.boards.setdefault(iid, Board())
        if number not in board.times:
            board.times[number] = (min(at, now), max(at, now))
            board.digests[number] = digest
            return
        self.repeats += 1
        if board.digests[number] != digest:
            self.conflicts.append(f"board {iid}, seq {number}: two messages under one number")

    @property
    def arrived(self) -> int:
        return sum(len(board.times) for board in self.boards.values())

    def missing(self) -> list["Gap"]:
        """Numbers between 1 and a board's highest that did not come."""
        return [gap for iid, board in self.boards.items() for gap in _gaps(iid, board.times)]


@dataclass(frozen=True)
class Gap:
    iid: str
    first: int
    last: int
    # Between when the numbers around it were accepted; 0 where it stands before all others.
    after: int
    before: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"board {self.iid}, seq {self.first} to {self.last}"


def _gaps(iid: str, times: dict[int, tuple[int, int]]) -> list[Gap]:
    numbers, found, last = sorted(times), [], 0
    for number in numbers:
        if number > last + 1:
            after = times[last][0] if last else 0
            found.append(Gap(iid, last + 1, number - 1, after, times[number][1]))
        last = number
    return found


@dataclass(frozen=True)
class Window:
    """From when the broker was killed until it had its consumer again, in milliseconds."""

    begin: int
    end: int


@dataclass(frozen=True)
class Sent:
    """What the boards say of their telemetry."""

    # Numbers that were given out.
    made: int
    # Of these, those that the broker said it had.
    acknowledged: int
    # Acknowledged while no consumer could hear, and not come.
    unjudged: int = 0


def account(book: Book, sent: Sent, kills: list[Window]) -> Finding:
    """Whether each message has arrived, waits on its board, or was in a killed broker's memory.

    A broker that keeps nothing on disk acknowledges a message and may be killed before it has
    handed it on. Such a number was accepted before the kill's end, and the next one that came
    after its beginning.
    """
    held, faults = 0, book.conflicts + [f"no seq or ts: {topic}" for topic in book.malformed]
    gaps = book.missing()
    for gap in gaps:
        if any(gap.after <= kill.end and gap.before >= kill.begin for kill in kills):
            held += gap.count
        else:
            faults.append(f"{gap}: missing, and no broker was killed")
    # Numbers above a board's highest: no later one shows when they went.
    last = sent.made - book.arrived - sum(gap.count for gap in gaps)
    waiting = min(last, sent.made - sent.acknowledged)
    if 0 < last - waiting <= sent.unjudged and kills:
        held += last - waiting
    elif last != waiting:
        faults.append(f"{last - waiting:,} were acknowledged and did not come")
    if not sent.made:
        faults.append("none was made")
    if last < 0:
        faults.append(f"{-last:,} came that nobody made")
    return Finding(
        "every telemetry message accounted for",
        f"{sent.made:,} made: {book.arrived:,} arrived ({book.repeats:,} twice), {held:,} were in "
        f"the killed broker's memory, {waiting:,} wait on boards", faults)


class Consumer:
    """Reads all boards' data, and comes back at once when the broker does."""

    def __init__(self, port: int):
        self.book = Book()
        self._port = port
        self._lock = threading.Lock()
        self._listening = threading.Event()
        self._ends = threading.Event()
        self._client = paho.Client(
            paho.CallbackAPIVersion.VERSION2, "fleet-consumer", protocol=paho.MQTTv5)
        self._client.on_connect = lambda client, *_: client.subscribe(f"{ROOT}/+/data/#", qos=1)
        self._client.on_subscribe = lambda *_: self._listening.set()
        self._client.on_message = self._take
        self._thread = threading.Thread(target=self._run, daemon=True)

    def open(self) -> "Consumer":
        self._thread.start()
        self.wait(30)
        return self

    def expect_loss(self) -> None:
        """The broker is about to be killed: what `wait` waits for comes after it."""
        self._listening.clear()

    def wait(self, timeout: float) -> None:
        assert self._listening.wait(timeout), "the consumer does not hear the broker"

    def close(self) -> None:
        self._ends.set()
        self._client.disconnect()
        self._thread.join(10)

    def _run(self) -> None:
        wishes = Properties(PacketTypes.CONNECT)
        wishes.ReceiveMaximum = 65_535
        while not self._ends.is_set():
            try:
                self._client.connect("127.0.0.1", self._port, 30, clean_start=True,
                                     properties=wishes)
                while self._client.loop(0.5) == paho.MQTT_ERR_SUCCESS:
                    pass
            except OSError:
                pass
            self._ends.wait(_PAUSE)

    def _take(self, _client, _data, message) -> None:
        marks = dict(getattr(message.properties, "UserProperty", []))
        with self._lock:
            self.book.take(message.topic, message.payload, marks, time.time_ns() // 1_000_000)
