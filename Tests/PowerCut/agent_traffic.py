"""What the real agent said and heard on its connections, each with its place in the journal."""

import hashlib
import json
from dataclasses import dataclass, field

import journal
from journal import Record
from mqtt_stream import PUBACK, PUBLISH, Packet, Stream


@dataclass(frozen=True)
class Ledger:
    """What the players know: the payload of each write by its correlation, and who took over."""

    bus_port: int
    uplink_port: int
    writes: dict[bytes, bytes]
    # The sealed provisioning of another user: what waits may be destroyed once it has come.
    takeovers: set[bytes] = field(default_factory=set)


@dataclass(frozen=True)
class Taken:
    """A write that the agent has read from the local broker."""

    at: int
    packet_id: int
    connection: tuple[int, int, int]
    payload: str


@dataclass
class Traffic:
    """Instants are numbers of records. A payload stands as its digest."""

    # Answers {"seq":n}: when they left, and what they were the answers to.
    answers: list[tuple[int, int, str]] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    # When the PUBACK to the local broker left, and for which write.
    acknowledged: list[tuple[int, Taken]] = field(default_factory=list)
    # When a write left for the upstream broker, and when that broker's PUBACK came.
    sent: list[tuple[int, int, str]] = field(default_factory=list)
    confirmed: list[tuple[int, int, str]] = field(default_factory=list)
    takeovers: list[int] = field(default_factory=list)
    speeches: list[int] = field(default_factory=list)


def digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()[:16]


def read(records: list[Record], ledger: Ledger) -> Traffic:
    """Takes the packets of all connections to both brokers apart."""
    return _Reader(ledger).read(records)


class _Reader:
    def __init__(self, ledger: Ledger):
        self._ledger = ledger
        self._streams: dict[tuple, Stream] = {}
        self._generation: dict[tuple[int, int], int] = {}
        # Packet ids that wait for a PUBACK, of one connection each.
        self._unacknowledged: dict[tuple, Taken] = {}
        self._unconfirmed: dict[tuple, tuple[int, str]] = {}
        self._traffic = Traffic()

    def read(self, records: list[Record]) -> Traffic:
        # A command that only asks says nothing of what is durable.
        writers = {r.process for r in records if r.kind in journal.ON_DISK}
        for number, record in enumerate(records):
            if record.kind == journal.CONNECTED:
                known = self._generation.get(record.connection, 0)
                self._generation[record.connection] = known + 1
            elif record.kind in (journal.SAID, journal.HEARD):
                if record.kind == journal.SAID and record.process in writers:
                    self._traffic.speeches.append(number)
                self._take(number, record)
        return self._traffic

    def _take(self, number: int, record: Record) -> None:
        ports = {self._ledger.bus_port: self._on_bus, self._ledger.uplink_port: self._on_uplink}
        handle = ports.get(record.object)
        if handle is None:
            return
        connection = (*record.connection, self._generation.get(record.connection, 0))
        stream = self._streams.setdefault((connection, record.kind), Stream())
        for packet in stream.feed(record.data, number):
            handle(packet, connection, record.kind == journal.SAID)

    def _on_bus(self, packet: Packet, connection, is_said: bool) -> None:
        if packet.kind == PUBLISH and not is_said:
            if is_write(packet.topic):
                taken = Taken(packet.ended, packet.packet_id, connection, digest(packet.payload))
                self._traffic.taken.append(taken)
                self._unacknowledged[connection, packet.packet_id] = taken
        elif packet.kind == PUBACK and is_said:
            taken = self._unacknowledged.pop((connection, packet.packet_id), None)
            if taken is not None:
                self._traffic.acknowledged.append((packet.begun, taken))
        elif packet.kind == PUBLISH and packet.correlation in self._ledger.writes:
            sequence = json.loads(packet.payload).get("seq")
            if sequence is not None:
                payload = digest(self._ledger.writes[packet.correlation])
                self._traffic.answers.append((packet.begun, sequence, payload))

    def _on_uplink(self, packet: Packet, connection, is_said: bool) -> None:
        if packet.kind == PUBLISH and is_said and "seq" in packet.user:
            sent = (int(packet.user["seq"]), digest(packet.payload))
            self._unconfirmed[connection, packet.packet_id] = sent
            self._traffic.sent.append((packet.begun, *sent))
        elif packet.kind == PUBACK and not is_said:
            sent = self._unconfirmed.pop((connection, packet.packet_id), None)
            if sent is not None and packet.reason < 0x80:
                # The agent has it once the last byte is read.
                self._traffic.confirmed.append((packet.ended, *sent))
        elif packet.kind == PUBLISH and packet.payload in self._ledger.takeovers:
            self._traffic.takeovers.append(packet.ended)


def is_write(topic: str) -> bool:
    levels = topic.split("/")
    return topic.startswith("postern/app/") and len(levels) > 3 and levels[3] in (
        "create", "update", "delete")
