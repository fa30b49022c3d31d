"""MQTT 5 packets out of the bytes that went over a connection, as far as the sweep reads them."""

from dataclasses import dataclass, field

PUBLISH, PUBACK = 0x30, 0x40

# The form of each property, by its identifier. Source: MQTT 5.0, 2.2.2.2.
_BYTES = {0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A}
_PAIRS = {0x13, 0x21, 0x22, 0x23}
_FOURS = {0x02, 0x11, 0x18, 0x27}
_STRINGS = {0x03, 0x08, 0x09, 0x12, 0x15, 0x16, 0x1A, 0x1C, 0x1F}
_CORRELATION, _USER, _SUBSCRIPTION = 0x09, 0x26, 0x0B


@dataclass(frozen=True)
class Packet:
    """One packet; `begun` and `ended` are the numbers of the records with its two ends."""

    kind: int
    begun: int
    ended: int
    packet_id: int = 0
    reason: int = 0
    topic: str = ""
    payload: bytes = b""
    correlation: bytes = b""
    user: dict[str, str] = field(default_factory=dict)


class Stream:
    """One direction of a connection."""

    def __init__(self):
        self._bytes = bytearray()
        self._begun: int | None = None

    def feed(self, data: bytes, record: int) -> list[Packet]:
        """The packets that these bytes complete."""
        packets = []
        if self._begun is None:
            self._begun = record
        self._bytes += data
        while (end := _whole(self._bytes)) is not None:
            start, length = end
            body = bytes(self._bytes[start:length])
            packets.append(_parsed(self._bytes[0], body, self._begun, record))
            del self._bytes[:length]
            self._begun = record
        if not self._bytes:
            self._begun = None
        return packets


def _whole(data: bytearray) -> tuple[int, int] | None:
    """Where the body of the first packet begins and ends, once it is there."""
    length = shift = 0
    for at in range(1, min(5, len(data))):
        length |= (data[at] & 0x7F) << shift
        shift += 7
        if data[at] < 0x80:
            end = at + 1 + length
            return (at + 1, end) if len(data) >= end else None
    return None


def _parsed(first: int, body: bytes, begun: int, ended: int) -> Packet:
    kind = first & 0xF0
    if kind == PUBACK:
        reason = body[2] if len(body) > 2 else 0
        return Packet(kind, begun, ended, int.from_bytes(body[:2], "big"), reason)
    if kind != PUBLISH:
        return Packet(kind, begun, ended)
    topic, at = _text(body, 0)
    packet_id = 0
    if first & 0x06:
        packet_id, at = int.from_bytes(body[at:at + 2], "big"), at + 2
    length, at = _number(body, at)
    correlation, user = _properties(body[at:at + length])
    return Packet(kind, begun, ended, packet_id, 0, topic.decode(), body[at + length:],
                  correlation, user)


def _properties(data: bytes) -> tuple[bytes, dict[str, str]]:
    correlation, user, at = b"", {}, 0
    while at < len(data):
        name, at = data[at], at + 1
        if name in _BYTES:
            at += 1
        elif name in _PAIRS:
            at += 2
        elif name in _FOURS:
            at += 4
        elif name == _SUBSCRIPTION:
            _, at = _number(data, at)
        elif name == _USER:
            key, at = _text(data, at)
            value, at = _text(data, at)
            user[key.decode()] = value.decode()
        elif name in _STRINGS:
            text, at = _text(data, at)
            correlation = text if name == _CORRELATION else correlation
        else:
            raise ValueError(f"an unknown MQTT property: {name}")
    return correlation, user


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    end = at + 2 + int.from_bytes(data[at:at + 2], "big")
    return data[at + 2:end], end


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at
