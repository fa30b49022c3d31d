"""What `recorder/record.c` wrote down, and how a program is started under it."""

import os
import shlex
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_HEAD = struct.Struct("<IIIIQQII")
_FRAME = struct.Struct(">IIQII")
_FRAME_BYTES, _MARKER = 32, 0x50734631
EAT_MY_DATA = "libeatmydata.so"

# Kinds of records.
CREATE, FOLDER, WRITE, TRUNCATE, EXTEND, RENAME, LINK, UNLINK, SYNC, FAILED_SYNC = "CDWTFRLUYX"
SAID, HEARD, CONNECTED, OPENED, BYPASSED = "SGNOB"
ON_DISK = {CREATE, FOLDER, WRITE, TRUNCATE, EXTEND, RENAME, LINK, UNLINK, SYNC, FAILED_SYNC}


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that happened. `object` is an inode, or the port that a socket leads to."""

    kind: str
    process: int
    descriptor: int
    object: int
    offset: int
    first: str
    second: str
    data: bytes

    @property
    def connection(self) -> tuple[int, int]:
        return self.process, self.descriptor


def read(path: Path) -> list[Record]:
    """All records, in the order in which they happened. A torn last one is left out."""
    raw, at, records = path.read_bytes(), 0, []
    while at + _HEAD.size <= len(raw):
        length, kind, process, fd, obj, offset, first, second = _HEAD.unpack_from(raw, at)
        if at + length > len(raw):
            break
        names = at + _HEAD.size
        data = names + first + second
        records.append(Record(
            chr(kind), process, fd, obj, offset, raw[names:names + first].decode(),
            raw[names + first:data].decode(), raw[data:at + length]))
        at += length
    bypassed = sorted({r.first for r in records if r.kind == BYPASSED})
    if bypassed:
        raise ValueError(f"the recorder does not see all that was written: {bypassed}")
    return records


def compile_recorder(folder: Path) -> Path:
    """The library that records; `recording` says how it is put under a program."""
    library = folder / "record.so"
    source = Path(__file__).parent / "recorder" / "record.c"
    # CC: a compiler for another architecture, with its options.
    subprocess.run(
        [*shlex.split(os.environ.get("CC", "cc")), "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", library, source,
         "-ldl"], check=True)
    return library


def recording(library: Path, folder: Path, log: Path, *, syncs: bool = True,
              faults: Path | None = None) -> dict[str, str]:
    """The environment of a program whose changes below `folder` are to be recorded in `log`.

    Without syncs eatmydata stands before the recorder, which then hears of none. By the file
    `faults` the program lets its own calls fail.
    """
    libraries = [str(library)] if syncs else [EAT_MY_DATA, str(library)]
    found = {"LD_PRELOAD": " ".join(libraries), "POSTERN_RECORD_FOLDER": str(folder),
             "POSTERN_RECORD_LOG": str(log)}
    if faults:
        faults.write_bytes(bytes(12))
        found["POSTERN_FAULTS"] = str(faults)
    return found


def names(records: list[Record]) -> list[str]:
    """The name, at that time, of the file that each record is about; empty where there is none."""
    known: dict[int, str] = {}
    found = []
    for record in records:
        if record.kind == RENAME:
            old = Path(record.first).name
            for inode in [inode for inode, name in known.items() if name == old]:
                known[inode] = Path(record.second).name
        elif record.kind in (CREATE, OPENED):
            known[record.object] = Path(record.first).name
        found.append(known.get(record.object, ""))
    return found


@dataclass(frozen=True, slots=True)
class Frame:
    """What a frame of a segment says of itself in clear, and where it is."""

    begin: int
    end: int
    first: int
    last: int
    count: int


def frames(data: bytes) -> list[Frame]:
    """Those that stand one behind the other. Source: FrameHeader in the board's store."""
    found, at = [], 0
    while at + _FRAME.size <= len(data):
        marker, size, first, span, count = _FRAME.unpack_from(data, at)
        if marker != _MARKER:
            break
        end = at + _FRAME_BYTES + size
        found.append(Frame(at, min(end, len(data)), first, first + span, count))
        at = (end + 7) // 8 * 8
    return found


def without_syncs_of(records: list[Record], what: Callable[[str], bool]) -> list[Record]:
    """The journal as it were had the files (or, with an empty name, folders) of `what` not been
    synced. A file counts by the last name that it had."""
    names: dict[tuple[int, int], str] = {}
    born: dict[int, int] = {}
    keys: list[tuple[int, int]] = []
    paths: dict[str, tuple[int, int]] = {}
    for record in records:
        if record.kind == CREATE:
            born[record.object] = born.get(record.object, 0) + 1
            paths[record.first] = (record.object, born[record.object])
            names[paths[record.first]] = Path(record.first).name
        elif record.kind == RENAME:
            paths[record.second] = paths.pop(record.first)
            names[paths[record.second]] = Path(record.second).name
        elif record.kind == LINK:
            paths[record.second] = paths[record.first]
        keys.append((record.object, born.get(record.object, 0)))
    return [record for record, key in zip(records, keys)
            if record.kind != SYNC or not what(names.get(key, ""))]
