"""What the network does to the packets that pass: one kind of weather at a time.

`passed` says what becomes of a packet: the bytes that go on, none for a packet that is lost.
`Cut` ends the connection there and then.
"""

import random
import time
from dataclasses import dataclass

import frames
from frames import Packet

QUOTA_EXCEEDED, SERVER_BUSY, SERVER_SHUTTING_DOWN = 0x97, 0x89, 0x8B


class Cut(Exception):
    """Ends a connection after `last` bytes went to the board; with a reset if so wished."""

    def __init__(self, last: bytes = b"", is_reset: bool = True):
        super().__init__("cut")
        self.last = last
        self.is_reset = is_reset


@dataclass(frozen=True)
class Passing:
    """A packet on its way, up from the board or down to it."""

    packet: Packet
    is_up: bool
    tunnel: object


class Clear:
    """Everything passes."""

    name = "clear"
    # Bytes that are sent at once.
    piece = 1 << 20
    lets_in = True

    def __init__(self, draw: random.Random):
        self.draw = draw

    def passed(self, at: Passing) -> bytes:
        return at.packet.raw


class Delay(Clear):
    name = "delayed by 5 to 60 ms"

    def passed(self, at: Passing) -> bytes:
        if self.draw.random() < 0.2:
            time.sleep(self.draw.uniform(0.005, 0.06))
        return at.packet.raw


class Trickle(Clear):
    name = "one byte at a time"
    piece = 1


class Stall(Clear):
    """Holds what comes until the weather changes."""

    name = "stalled"

    def passed(self, at: Passing) -> bytes:
        at.tunnel.wait_change(self)
        return at.packet.raw


class HalfOpen(Clear):
    """The connection stands, and nothing arrives any more, not even its end."""

    name = "half-open"

    def passed(self, at: Passing) -> bytes:
        at.tunnel.is_dead = True
        return b""


class CutAfterConnect(Clear):
    name = "cut after CONNECT"

    def passed(self, at: Passing) -> bytes:
        # The broker has it; its answer is what the board never sees.
        if at.packet.type == frames.CONNACK:
            raise Cut(is_reset=self.draw.random() < 0.5)
        return at.packet.raw


class LosePuback(Clear):
    """The broker has the message, the board never hears so: it is sent twice."""

    name = "cut before a PUBACK"

    def __init__(self, draw: random.Random):
        super().__init__(draw)
        self.left = draw.randint(1, 60)

    def passed(self, at: Passing) -> bytes:
        if not at.is_up and at.packet.type == frames.PUBACK:
            self.left -= 1
            if self.left <= 0:
                self.left = self.draw.randint(1, 60)
                raise Cut(is_reset=self.draw.random() < 0.5)
        return at.packet.raw


class LatePuback(Clear):
    name = "PUBACK late by 0.2 to 1 s"

    def passed(self, at: Passing) -> bytes:
        if not at.is_up and at.packet.type == frames.PUBACK and self.draw.random() < 0.02:
            time.sleep(self.draw.uniform(0.2, 1))
        return at.packet.raw


class Drop(Clear):
    """Ends a connection in the middle of a packet."""

    name = "dropped or reset in a packet"

    def passed(self, at: Passing) -> bytes:
        if self.draw.random() < 0.01:
            half = at.packet.raw[:self.draw.randrange(len(at.packet.raw))]
            raise Cut(b"" if at.is_up else half, is_reset=self.draw.random() < 0.5)
        return at.packet.raw


class Quota(Clear):
    """Refuses data in the broker's name; some of it, as a broker does that counts."""

    name = "PUBACK 0x97, quota exceeded"

    def passed(self, at: Passing) -> bytes:
        if not at.is_up or not at.packet.is_data:
            return at.packet.raw
        at.tunnel.refuse(at.packet, QUOTA_EXCEEDED)
        return b""


class Dismiss(Clear):
    name = "DISCONNECT by the broker"

    def passed(self, at: Passing) -> bytes:
        if at.is_up and at.packet.is_data and self.draw.random() < 0.05:
            raise Cut(frames.disconnect(SERVER_SHUTTING_DOWN), is_reset=False)
        return at.packet.raw


class Busy(Clear):
    name = "CONNACK 0x89, server busy"

    def passed(self, at: Passing) -> bytes:
        if at.is_up and at.packet.type == frames.CONNECT:
            raise Cut(frames.connack(SERVER_BUSY), is_reset=False)
        return at.packet.raw


class Away(Clear):
    """Nobody is let in; who is in is thrown out."""

    name = "connection refused"
    lets_in = False

    def passed(self, at: Passing) -> bytes:
        raise Cut()


KINDS = (Delay, Trickle, Stall, HalfOpen, CutAfterConnect, LosePuback, LatePuback, Drop, Quota,
         Dismiss, Busy, Away)
# These do not end what the board has sent; the agent may stay connected through them.
MILD = (Clear, Delay, LosePuback, LatePuback, Drop)
