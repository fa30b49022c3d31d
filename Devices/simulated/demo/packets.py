"""The few MQTT packets that a recorder has to read: CONNECT for who speaks and PUBLISH for what
is said. All others pass as bytes.

Source: OASIS MQTT 5.0 §2, §3.1, §3.3; the same packets of MQTT 3.1.1.
"""

from dataclasses import dataclass, field

CONNECT, PUBLISH = 1, 3

# How long the value of a property is, by its identifier. Source: MQTT 5.0 §2.2.2.
_ONE, _TWO, _FOUR, _VARIABLE, _TEXT, _PAIR = "one", "two", "four", "variable", "text", "pair"
_FORMS = {
    0x01: _ONE, 0x02: _FOUR, 0x03: _TEXT, 0x08: _TEXT, 0x09: _TEXT, 0x0B: _VARIABLE,
    0x11: _FOUR, 0x12: _TEXT, 0x13: _TWO, 0x15: _TEXT, 0x16: _TEXT, 0x17: _ONE, 0x18: _FOUR,
    0x19: _ONE, 0x1A: _TEXT, 0x1C: _TEXT, 0x1F: _TEXT, 0x21: _TWO, 0x22: _TWO, 0x23: _TWO,
    0x24: _ONE, 0x25: _ONE, 0x26: _PAIR, 0x27: _FOUR, 0x28: _ONE, 0x29: _ONE, 0x2A: _ONE,
}
_TOPIC_ALIAS, _USER_PROPERTY = 0x23, 0x26


class Malformed(ValueError):
    """These bytes are not the MQTT packet that they claim to be."""


@dataclass
class Connect:
    """Who speaks on a connection. `public` is the packet without its password."""

    client_id: str
    version: int
    username: str | None
    password: bytes | None
    public: bytes


@dataclass
class Publish:
    """One message. `user` holds the MQTT 5 user properties."""

    topic: str
    payload: bytes
    retain: bool
    qos: int
    alias: int | None = None
    user: dict[str, str] = field(default_factory=dict)


class Framer:
    """Cuts a stream of bytes into packets: (first byte, body)."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes):
        self._rest += data
        while (packet := self._take()) is not None:
            yield packet

    def _take(self) -> tuple[int, bytes] | None:
        length, shift = 0, 0
        for at in range(1, 5):
            if len(self._rest) <= at:
                return None
            length |= (self._rest[at] & 0x7F) << shift
            shift += 7
            if self._rest[at] < 0x80:
                break
        else:
            raise Malformed("the packet's length has more than four bytes")
        start = at + 1
        if len(self._rest) < start + length:
            return None
        packet = self._rest[0], self._rest[start:start + length]
        self._rest = self._rest[start + length:]
        return packet


class _Reader:
    """Reads a packet's body from its front."""

    def __init__(self, body: bytes):
        self.body, self.at = body, 0

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.body):
            raise Malformed("the packet ends early")
        self.at += count
        return self.body[self.at - count:self.at]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "big")

    def binary(self) -> bytes:
        return self.take(self.number(2))

    def text(self) -> str:
        return self.binary().decode(errors="replace")

    def variable(self) -> int:
        value = 0
        for shift in (0, 7, 14, 21):
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Malformed("a variable number has more than four bytes")

    def properties(self) -> list[tuple[int, object]]:
        length = self.variable()
        end = self.at + length
        found = []
        while self.at < end:
            identifier = self.variable()
            found.append((identifier, self._value(_FORMS.get(identifier))))
        return found

    def _value(self, form: str | None):
        match form:
            case "one": return self.number(1)
            case "two": return self.number(2)
            case "four": return self.number(4)
            case "variable": return self.variable()
            case "text": return self.binary()
            case "pair": return self.text(), self.text()
        raise Malformed("an unknown property")


def parse_connect(body: bytes) -> Connect:
    reader = _Reader(body)
    reader.text()
    version = reader.number(1)
    flags = reader.number(1)
    reader.number(2)
    if version >= 5:
        reader.properties()
    client_id = reader.text()
    if flags & 0x04:
        if version >= 5:
            reader.properties()
        reader.text()
        reader.binary()
    username = reader.text() if flags & 0x80 else None
    public = body[:reader.at]
    password = reader.binary() if flags & 0x40 else None
    return Connect(client_id, version, username, password, public)


def parse_publish(first: int, body: bytes, version: int) -> Publish:
    reader = _Reader(body)
    topic = reader.text()
    qos = first >> 1 & 3
    if qos:
        reader.number(2)
    properties = reader.properties() if version >= 5 else []
    aliases = [value for name, value in properties if name == _TOPIC_ALIAS]
    return Publish(
        topic, body[reader.at:], bool(first & 1), qos, aliases[-1] if aliases else None,
        {k: v for name, (k, v) in ((n, v) for n, v in properties if n == _USER_PROPERTY)},
    )
