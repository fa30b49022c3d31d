"""A broker that answers as a test wants: it stands before a real one and judges each write.

It reads the packets that pass. A write that the judge lets through goes on to the real broker,
whose PUBACK comes back; any other is answered here, or ends the connection.
"""

import queue
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import Callable

from .program import free_port

CONNECT, PUBLISH, PUBACK, DISCONNECT = 1, 3, 4, 14
_USER_PROPERTY = 0x26


@dataclass(frozen=True)
class Write:
    """A PUBLISH at QoS 1 with a `seq`: a board's data."""

    topic: str
    payload: bytes
    seq: int
    packet_id: int
    connection: int
    at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class Code:
    """The PUBACK's reason code; nothing goes to the real broker. `closes`: and then the end."""

    code: int
    closes: bool = False


@dataclass(frozen=True)
class End:
    """The connection ends: in order, after a DISCONNECT with a code, or by a reset.

    `late`: the write arrives, and the connection ends in place of its PUBACK.
    """

    code: int | None = None
    reset: bool = False
    late: bool = False


@dataclass(frozen=True)
class Silence:
    """The write goes nowhere, and its PUBACK never comes."""


Judge = Callable[[Write], Code | End | Silence | None]


class JudgingBroker:
    """Listens on a port of its own; `target` is the real broker's.

    `judge` says what becomes of each write, `lose` whether the connection ends in place of a
    PUBACK, whatever that acknowledges: the first is a broker's part, the second a network's.
    `hang_ups` is how many of the next CONNECTs are answered by the connection's end;
    `versions` has the MQTT version of each. While `loses_status` is set, what a board says of
    itself goes nowhere.
    """

    def __init__(self, target: int, *, delay: float = 0.0):
        self.target = target
        self.delay = delay
        self.port = free_port()
        self.judge: Judge = lambda write: None
        self.lose: Callable[[], End | None] = lambda: None
        self.writes: list[Write] = []
        self.answers: list[tuple[int, int]] = []
        self.most_in_flight = 0
        self.connections = 0
        self.hang_ups = 0
        self.loses_status = False
        self.versions: list[int] = []
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=16)
        self._pairs: list[_Pair] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def seqs(self, since: int = 0) -> list[int]:
        """The numbers of all writes that came, in order."""
        return [write.seq for write in self.writes[since:]]

    def close(self) -> None:
        _shut(self._listener)
        self._listener.close()
        for pair in self._pairs:
            pair.end()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                if self._listener.fileno() < 0:
                    return
                continue
            far.settimeout(None)
            self.connections += 1
            self._pairs.append(_Pair(self, near, far, self.connections))


class _Pair:
    """One connection of the board's and the one behind it."""

    def __init__(self, owner: JudgingBroker, near: socket.socket, far: socket.socket, number: int):
        self.owner = owner
        self.number = number
        self.near, self.far = near, far
        self.waiting: dict[int, Write] = {}
        self.fatal: dict[int, End] = {}
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.down, self.up = queue.Queue(), queue.Queue()
        for target, *arguments in ((self._from_board, ), (self._from_broker, ),
                                   (self._send, self.down, near), (self._send, self.up, far)):
            threading.Thread(target=target, args=arguments, daemon=True).start()

    def end(self, reset: bool = False) -> None:
        if reset:
            # A close with nothing to wait for sends RST.
            self.near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for one in (self.near, self.far):
            if not (reset and one is self.near):
                _shut(one)
        self.near.close()

    def _put(self, way: queue.Queue, data: bytes) -> None:
        way.put((time.monotonic() + self.owner.delay, data))

    def _send(self, way: queue.Queue, sink: socket.socket) -> None:
        while True:
            due, data = way.get()
            if data is None:
                return
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                if isinstance(data, End):
                    return self.end(data.reset)
                sink.sendall(data)
            except OSError:
                return

    def _from_board(self) -> None:
        for first, body in _packets(self.near):
            if first >> 4 == CONNECT and self._hangs_up(body):
                self._put(self.down, End())
                break
            write = _write(first, body, self.number) if first >> 4 == PUBLISH else None
            if write is None and self.owner.loses_status and b"/status" in body[:100]:
                continue
            verdict = None
            if write is not None:
                self.owner.writes.append(write)
                verdict = self.owner.judge(write)
            if verdict is None or (isinstance(verdict, End) and verdict.late):
                if write is not None:
                    if verdict is not None:
                        self.fatal[write.packet_id] = verdict
                    self.waiting[write.packet_id] = write
                    self.owner.most_in_flight = max(
                        self.owner.most_in_flight, len(self.waiting))
                self._put(self.up, _packet(first, body))
            elif isinstance(verdict, Code):
                self.owner.answers.append((write.seq, verdict.code))
                answer = struct.pack(">HB", write.packet_id, verdict.code)
                self._put(self.down, _packet(PUBACK << 4, answer))
                if verdict.closes:
                    self._put(self.down, End())
                    break
            elif isinstance(verdict, End):
                if verdict.code is not None:
                    self._put(self.down, _packet(DISCONNECT << 4, bytes([verdict.code, 0])))
                self._put(self.down, verdict)
                break
        if self.near.fileno() < 0 or not self.down.qsize():
            _shut(self.far)

    def _hangs_up(self, connect: bytes) -> bool:
        """The version stands behind the protocol's name. Source: MQTT 5 section 3.1.2.2."""
        self.owner.versions.append(connect[6])
        if self.owner.hang_ups == 0:
            return False
        self.owner.hang_ups -= 1
        return True

    def _from_broker(self) -> None:
        for first, body in _packets(self.far):
            if first >> 4 == PUBACK:
                packet_id = struct.unpack(">H", body[:2])[0]
                end = self.fatal.get(packet_id) or self.owner.lose()
                if end is not None:
                    self._put(self.down, end)
                    break
                write = self.waiting.pop(packet_id, None)
                if write is not None:
                    self.owner.answers.append((write.seq, body[2] if len(body) > 2 else 0))
            self._put(self.down, _packet(first, body))
        else:
            self._put(self.down, End())
        _shut(self.far)
        self.far.close()


def _shut(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def _packets(source: socket.socket):
    """Each packet's first byte and body, until the connection ends."""
    held = bytearray()
    while True:
        while (cut := _length(held)) is not None and len(held) >= sum(cut):
            start, length = cut
            yield held[0], bytes(held[start:start + length])
            del held[:start + length]
        try:
            data = source.recv(65536)
        except OSError:
            return
        if not data:
            return
        held += data


def _length(held: bytes) -> tuple[int, int] | None:
    """Where the body begins and how long it is, once that much is there. MQTT 5 §1.5.5."""
    value = 0
    for index in range(4):
        if len(held) < index + 2:
            return None
        value |= (held[index + 1] & 0x7F) << 7 * index
        if not held[index + 1] & 0x80:
            return index + 2, value
    raise AssertionError("a remaining length of more than four bytes")


def _packet(first: int, body: bytes) -> bytes:
    length, out = len(body), bytearray([first])
    while True:
        length, byte = length >> 7, length & 0x7F
        out.append(byte | (0x80 if length else 0))
        if not length:
            return bytes(out) + body


def _write(first: int, body: bytes, connection: int) -> Write | None:
    if (first >> 1) & 3 != 1:
        return None
    end = 2 + struct.unpack(">H", body[:2])[0]
    topic = body[2:end].decode()
    packet_id = struct.unpack(">H", body[end:end + 2])[0]
    start, length = _length(b"\0" + body[end + 2:end + 6])
    at = end + 2 + start - 1
    properties, payload = body[at:at + length], body[at + length:]
    seq = _user_properties(properties).get("seq")
    return None if seq is None else Write(topic, payload, int(seq), packet_id, connection)


def _user_properties(properties: bytes) -> dict[str, str]:
    """Those at the beginning: a board's data has no others."""
    found, at = {}, 0
    while at < len(properties) and properties[at] == _USER_PROPERTY:
        texts, at = [], at + 1
        for _ in range(2):
            size = struct.unpack(">H", properties[at:at + 2])[0]
            texts.append(properties[at + 2:at + 2 + size].decode())
            at += 2 + size
        found[texts[0]] = texts[1]
    return found
