"""The claim URL: one parser and one printer, inverse to each other."""

from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from . import base64url, names

DEFAULT_BASE = "postern://claim"


@dataclass(frozen=True)
class ClaimURL:
    iid: str
    device_key: bytes
    claim_secret: bytes = field(repr=False)
    name: str
    base: str = DEFAULT_BASE

    def __str__(self) -> str:
        return (
            f"{self.base}#v=1&i={self.iid}&k={base64url.encode(self.device_key)}"
            f"&c={base64url.encode(self.claim_secret)}&n={quote(self.name, safe='')}"
        )

    @classmethod
    def parse(cls, text: str) -> "ClaimURL":
        base, mark, fragment = text.partition("#")
        if not mark or not base.endswith("claim"):
            raise ValueError("no claim in this URL")
        parts = _parts(fragment)
        if parts.get("v") != "1":
            raise ValueError("a claim of another version")
        if not names.is_a("iid", parts.get("i")):
            raise ValueError("the installation id is not a lower-case UUIDv4")
        return cls(
            iid=parts["i"],
            device_key=_key(parts, "k"),
            claim_secret=_key(parts, "c"),
            name=unquote(parts.get("n", ""), errors="strict"),
            base=base,
        )


def _parts(fragment: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for part in fragment.split("&"):
        key, mark, value = part.partition("=")
        if not mark or key in parts:
            raise ValueError("the claim's parts are not key=value, each once")
        parts[key] = value
    return parts


def _key(parts: dict[str, str], name: str) -> bytes:
    value = base64url.decode(parts.get(name, ""))
    if len(value) != 32:
        raise ValueError(f"{name} is not 32 bytes")
    return value
