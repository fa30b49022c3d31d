"""MQTT packets as they stand on the wire, as far as a proxy has to know them."""

from dataclasses import dataclass

CONNECT, CONNACK, PUBLISH, PUBACK, DISCONNECT = 1, 2, 3, 4, 14
_SEQ = b"\x26\x00\x03seq"


@dataclass(frozen=True)
class Packet:
    """One whole packet; `body` begins behind the fixed header."""

    raw: bytes
    body: int

    @property
    def type(self) -> int:
        return self.raw[0] >> 4

    @property
    def topic(self) -> bytes:
        """Of a PUBLISH."""
        length = int.from_bytes(self.raw[self.body:self.body + 2], "big")
        return self.raw[self.body + 2:self.body + 2 + length]

    @property
    def packet_id(self) -> int:
        """Of a PUBLISH with QoS 1, or of a PUBACK."""
        at = self.body
        if self.type == PUBLISH:
            at += 2 + int.from_bytes(self.raw[at:at + 2], "big")
        return int.from_bytes(self.raw[at:at + 2], "big")

    @property
    def code(self) -> int:
        """The reason code of a PUBACK."""
        return self.raw[self.body + 2] if len(self.raw) > self.body + 2 else 0

    @property
    def seq(self) -> int | None:
        """The user property `seq` of a board's data."""
        at = self.raw.find(_SEQ, self.body)
        if at < 0:
            return None
        at += len(_SEQ)
        length = int.from_bytes(self.raw[at:at + 2], "big")
        return int(self.raw[at + 2:at + 2 + length])

    @property
    def is_data(self) -> bool:
        """Whether it is a write of a board's program, not the agent's own word."""
        return self.type == PUBLISH and b"/data/" in self.topic


def take(buffer: bytearray) -> list[Packet]:
    """Takes the whole packets from the front of `buffer`; the rest stays for later."""
    packets, at = [], 0
    while True:
        header = _header(buffer, at)
        if header is None:
            break
        body, end = header
        if end > len(buffer):
            break
        packets.append(Packet(bytes(buffer[at:end]), body - at))
        at = end
    del buffer[:at]
    return packets


def _header(buffer: bytearray, at: int) -> tuple[int, int] | None:
    """Where the body begins and ends. Source: MQTT 5.0 section 2.1.4."""
    length, shift = 0, 0
    for place in range(at + 1, min(at + 5, len(buffer))):
        length |= (buffer[place] & 0x7F) << shift
        shift += 7
        if not buffer[place] & 0x80:
            return place + 1, place + 1 + length
    return None


def puback(packet_id: int, code: int) -> bytes:
    return bytes((PUBACK << 4, 4)) + packet_id.to_bytes(2, "big") + bytes((code, 0))


def connack(code: int) -> bytes:
    return bytes((CONNACK << 4, 3, 0, code, 0))


def disconnect(code: int) -> bytes:
    return bytes((DISCONNECT << 4, 2, code, 0))
