"""Every secret that the demo knows, every place to which one could leak, and the search.

What is sealed to the board cannot be opened here: the board's key never leaves its vault. The
tokens in it are therefore looked for by their shape, and everything else by its value, in each
form in which a value is usually written.
"""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path

# The contract's forms of tokens: 32 bytes behind `r:`, 56 behind `rt:`, three parts of a JWT.
SHAPES = {
    "a session token's shape": re.compile(rb"(?<![A-Za-z0-9_-])r:[A-Za-z0-9_-]{43}"),
    "a refresh token's shape": re.compile(rb"(?<![A-Za-z0-9_-])rt:[A-Za-z0-9_-]{40,}"),
    "an access token's shape": re.compile(
        rb"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{40,}"),
}
_WIDE_SHAPES = {
    name: re.compile(_wide) for name, _wide in {
        "a session token's shape (UTF-16)": rb"r\0:\0(?:[A-Za-z0-9_-]\0){43}",
        "a refresh token's shape (UTF-16)": rb"r\0t\0:\0(?:[A-Za-z0-9_-]\0){40,}",
        "an access token's shape (UTF-16)": rb"e\0y\0J\0(?:[A-Za-z0-9_-]\0){10,}\.\0e\0y\0J\0",
    }.items()
}


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """32 bytes. Source: RFC 5869 §2, with SHA-256."""
    key = hmac.digest(salt, secret, hashlib.sha256)
    return hmac.digest(key, info + b"\x01", hashlib.sha256)


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(frozen=True)
class Secret:
    """One value. A broker password may be in the broker's own control messages."""

    name: str
    plain: bytes
    forms: frozenset[bytes]
    is_broker_password: bool = False

    @classmethod
    def of(cls, name: str, value: bytes | str, is_broker_password: bool = False) -> "Secret":
        if isinstance(value, str):
            texts, raw = {value}, [value.encode(), *_decoded(value)]
        else:
            texts, raw = set(), [value]
        for one in raw:
            texts |= {b64(one), base64.b64encode(one).decode().rstrip("="), one.hex(),
                      one.hex().upper()}
        forms = {*raw, *(t.encode() for t in texts), *(t.encode("utf-16-le") for t in texts)}
        long_enough = frozenset(f for f in forms if len(f) >= 12)
        plain = value.encode() if isinstance(value, str) else value
        return cls(name, plain, long_enough, is_broker_password)


@dataclass(frozen=True)
class Place:
    """Bytes that somebody could read, and where they were found."""

    name: str
    data: bytes
    is_control: bool = False


def search(secrets: list[Secret], places: list[Place]) -> list[str]:
    """The places of secrets and token shapes, never the values. Empty if nothing leaked."""
    found = set()
    for place in places:
        for secret in secrets:
            if place.is_control and secret.is_broker_password:
                continue
            if any(form in place.data for form in secret.forms):
                found.add(f"{secret.name} in {place.name}")
        for name, shape in (SHAPES | _WIDE_SHAPES).items():
            if shape.search(place.data):
                found.add(f"{name} in {place.name}")
    return sorted(found)


def files(folder: Path, *ours: Path) -> list[Path]:
    """Every file below `folder`, except those that hold our own secrets on purpose."""
    return [
        path for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(path == own or own in path.parents for own in ours)
    ]


def _decoded(text: str) -> list[bytes]:
    """The bytes of a token or password in base64url."""
    body = text.rpartition(":")[2]
    try:
        return [unb64(body)] if re.fullmatch(r"[A-Za-z0-9_-]{16,}", body) else []
    except ValueError:
        return []
