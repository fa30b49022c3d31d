"""A board's state folder from outside: copied as a thief does, damaged as a bad card does."""

import shutil
from pathlib import Path

# What makes a board this board.
_PARTS = ("vault*", "storage.key*", "outbox")


def copy_state(source: Path, target: Path) -> None:
    for pattern in _PARTS:
        for path in source.glob(pattern):
            there = target / path.name
            if path.is_dir():
                shutil.rmtree(there, ignore_errors=True)
                shutil.copytree(path, there)
                there.chmod(0o700)
            else:
                shutil.copy2(path, there)


def flip(path: Path, place: float = 0.5) -> None:
    """Flips one bit, at this share of the file's length."""
    data = bytearray(path.read_bytes())
    data[int(len(data) * place)] ^= 1
    with open(path, "r+b") as file:
        file.write(data)


def shorten(path: Path, share: float) -> None:
    with open(path, "r+b") as file:
        file.truncate(int(path.stat().st_size * share))
