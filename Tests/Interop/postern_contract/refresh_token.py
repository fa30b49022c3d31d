"""Refresh tokens: `rt:` + b64(family ‖ generation ‖ HMAC), recomputed and never stored."""

import hashlib
import hmac
import struct
from dataclasses import dataclass

from . import base64url

_SIZE = 16 + 8 + 32


@dataclass(frozen=True)
class Generation:
    """One step of one family: what a refresh token says once its HMAC has proven it."""

    family: bytes
    number: int

    def token(self, server_key: bytes) -> str:
        body = self.family + struct.pack(">Q", self.number)
        tag = hmac.digest(server_key, body, hashlib.sha256)
        return "rt:" + base64url.encode(body + tag)

    @property
    def successor(self) -> "Generation":
        return Generation(self.family, self.number + 1)


def verify(token: str, server_key: bytes) -> Generation | None:
    """What the token stands for, or nothing when this server never made it."""
    if not token.startswith("rt:"):
        return None
    try:
        raw = base64url.decode(token.removeprefix("rt:"))
    except ValueError:
        return None
    if len(raw) != _SIZE:
        return None
    found = Generation(raw[:16], struct.unpack(">Q", raw[16:24])[0])
    return found if hmac.compare_digest(found.token(server_key), token) else None
