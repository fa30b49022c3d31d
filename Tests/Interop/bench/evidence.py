"""Every secret that was issued, everything that was written anywhere, and the search."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from postern_contract import base64url


@dataclass
class Evidence:
    """Collected through a test module, searched by its last test."""

    secrets: dict[str, set[bytes]] = field(default_factory=dict)
    journal: list[tuple[str, bytes]] = field(default_factory=list)
    texts: list[tuple[str, bytes]] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    ours: set[Path] = field(default_factory=set)

    def add_secret(self, label: str, value: str | bytes) -> None:
        """Keeps the value in each form that it could be written in: text, raw, b64, hex."""
        if isinstance(value, str):
            forms = {value.encode(), *_decoded(value)}
        else:
            forms = {value, base64url.encode(value).encode(), value.hex().encode()}
        self.secrets.setdefault(label, set()).update(f for f in forms if len(f) >= 16)

    def search(self) -> list[str]:
        """Where a secret stands, as `<label> in <place>`: empty when all is well."""
        places = [*self.texts, *((f"MQTT {topic}", data) for topic, data in self.journal)]
        places += [(str(path), content(path)) for path in self._files()]
        # Copied: threads of the benches go on.
        secrets = {label: set(forms) for label, forms in list(self.secrets.items())}
        return sorted(
            {
                f"{label} in {place}"
                for place, data in places
                for label, forms in secrets.items()
                if any(form in data for form in forms)
            }
        )

    def _files(self) -> list[Path]:
        # Folders that a running program removes meanwhile are passed over.
        paths = [Path(place, name) for folder in self.folders
                 for place, _, names in os.walk(folder) for name in names]
        return [path for path in paths if path.is_file() and path not in self.ours]


def content(path: Path) -> bytes:
    """What is in a file; nothing of one that a running program has just removed."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _decoded(text: str) -> set[bytes]:
    """A token without its prefix, as raw bytes and as hex; a JWT's signature."""
    body = text.rpartition(":")[2].rpartition(".")[2]
    try:
        raw = base64url.decode(body)
    except ValueError:
        return {body.encode()}
    return {body.encode(), raw, raw.hex().encode()}
