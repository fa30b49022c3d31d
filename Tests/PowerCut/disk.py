"""A disk as a journal of writes leaves it: what is durable, and what may or may not be.

The model is that of SQLite's own crash tests, weaker than any file system in use: since the last
sync of a file each of its writes and changes of size may have reached the disk or not, in any order,
whole or in part by sectors of 512 bytes, and a sector that did not may hold anything, unless it
held the same bytes before. Names (create, link, rename, remove) are durable once their folder is
synced, and a synced file without a synced name is lost. A rename happens whole or not at all.

After a sync that failed, the kernel takes for clean what it did not write: no later sync of the file
makes that durable, only a write in its place that is synced.
Source: lwn.net/Articles/752063.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import journal
from journal import Record

SECTOR = 512
ROOT = ""
# Files that are written in place and never synced, by name: any of their writes may be the last one
# that arrived.
NEVER_SYNCED = {"head"}


@dataclass(frozen=True, slots=True)
class Blob:
    """What a file holds: these bytes, then zeros up to its size."""

    data: bytes | bytearray
    size: int


# What is in a folder, by path; None: a folder.
Content = dict[str, Blob | None]


@dataclass(frozen=True, slots=True)
class Change:
    """One unsynced change: of a file's content, or of the names in a folder."""

    kind: str
    target: int
    offset: int = 0
    data: bytes = b""
    names: tuple[str, str] = ("", "")
    other: int = 0
    # A sync failed since.
    is_doubtful: bool = False

    @property
    def sectors(self) -> list[slice]:
        """The parts of a write that a disk writes at once."""
        if self.kind != journal.WRITE:
            return []
        first = SECTOR - self.offset % SECTOR
        edges = [0, *range(first, len(self.data), SECTOR), len(self.data)]
        return [slice(a, b) for a, b in zip(edges, edges[1:]) if b > a]


@dataclass(frozen=True, slots=True)
class Torn:
    """A write of which only these sectors arrived; `noise` or the old bytes are in the others."""

    change: Change
    arrived: tuple[bool, ...]
    noise: int | None = None

    def apply(self, file: "File") -> None:
        random_bytes = None if self.noise is None else random.Random(self.noise)
        for sector, is_there in zip(self.change.sectors, self.arrived):
            offset, data = self.change.offset + sector.start, self.change.data[sector]
            if is_there:
                file.write(offset, data)
            elif random_bytes is not None and not file.holds(offset, data):
                file.write(offset, random_bytes.randbytes(len(data)))


class File:
    """The bytes of a file up to its last one that was written and is not zero, and its size."""

    def __init__(self, data: bytes | bytearray = b"", size: int = 0):
        self.data, self.size = bytearray(data), size

    def copy(self) -> "File":
        return File(self.data, self.size)

    def write(self, offset: int, data: bytes) -> None:
        end = offset + len(data)
        self.size = max(self.size, end)
        if offset >= len(self.data) and data.count(0) == len(data):
            return
        if len(self.data) < offset:
            self.data.extend(bytes(offset - len(self.data)))
        self.data[offset:end] = data

    def resize(self, size: int) -> None:
        del self.data[size:]
        self.size = size

    def holds(self, offset: int, data: bytes) -> bool:
        there = bytes(self.data[offset:offset + len(data)])
        return offset + len(data) <= self.size and there.ljust(len(data), b"\0") == data


@dataclass
class Folder:
    names: dict[str, int] = field(default_factory=dict)


class Disk:
    """Takes the records of a journal one by one; `after` says what a cut may leave.

    At first it holds `content`, durably.
    """

    def __init__(self, folder: str, content: Content | None = None):
        self._prefix = folder.rpartition("/")[0] + "/"
        self._files: dict[int, File] = {}
        self._folders: dict[int, Folder] = {0: Folder()}
        self._objects: dict[int, int] = {}
        self._live: dict[str, int] = {ROOT: 0}
        self._next = 1
        self.pending: list[Change] = []
        # The files of the above names.
        self._loose: set[int] = set()
        for path, data in sorted((content or {}).items()):
            where, name = self._split(path)
            self._live[path] = self._make(None, name, is_folder=data is None)
            self._folders[where].names[name] = self._live[path]
            if data is not None:
                self._files[self._live[path]] = File(data.data, data.size)

    def learn(self, record: Record) -> None:
        """Which file of the first content an inode is."""
        path = self._path(record.first)
        if path in self._live:
            self._objects[record.object] = self._live[path]

    def take(self, record: Record) -> bool:
        """Whether something changed that a cut may undo or tear."""
        if record.kind == journal.SYNC:
            self._sync(self._object(record.object))
            return False
        if record.kind == journal.FAILED_SYNC:
            self._fail(self._object(record.object))
            return False
        self.pending.append(self._change(record))
        return True

    def split(self) -> tuple[list[Change], list[Change]]:
        """What is pending of all files that are ever synced and of all folders; of the others."""
        firm = [c for c in self.pending if c.target not in self._loose]
        return firm, [c for c in self.pending if c.target in self._loose]

    def _change(self, record: Record) -> Change:
        kind = record.kind
        if kind == journal.WRITE:
            return Change(kind, self._objects[record.object], record.offset, record.data)
        if kind in (journal.TRUNCATE, journal.EXTEND):
            return Change(kind, self._objects[record.object], record.offset)
        path = self._path(record.first)
        folder, name = self._split(path)
        if kind in (journal.CREATE, journal.FOLDER):
            made = self._make(record.object, name, is_folder=kind == journal.FOLDER)
            self._live[path] = made
            return Change(kind, folder, names=(name, ""), other=made)
        if kind == journal.UNLINK:
            self._live.pop(path, None)
            return Change(kind, folder, names=(name, ""))
        other = self._path(record.second)
        other_folder, other_name = self._split(other)
        assert folder == other_folder, "a file that goes from folder to folder"
        moved = self._live[path] if kind == journal.LINK else self._live.pop(path)
        self._live[other] = moved
        return Change(kind, folder, names=(name, other_name), other=moved)

    def _object(self, inode: int) -> int:
        # The folder that holds the recorded one is met by its first sync only.
        return self._objects.get(inode, 0)

    def _make(self, inode: int | None, name: str, *, is_folder: bool) -> int:
        made, self._next = self._next, self._next + 1
        if name in NEVER_SYNCED:
            self._loose.add(made)
        if inode is not None:
            self._objects[inode] = made
        if is_folder:
            self._folders[made] = Folder()
        else:
            self._files[made] = File()
        return made

    def _path(self, path: str) -> str:
        return path.removeprefix(self._prefix)

    def _split(self, path: str) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        return self._live[folder], name

    def _sync(self, target: int) -> None:
        synced = [c for c in self.pending if c.target == target and not c.is_doubtful]
        left = [c for c in self.pending if c.target != target or c.is_doubtful]
        self.pending = [part for c in left for part in _not_overwritten(c, synced)]
        if synced and target in self._files:
            # States given out before still hold the old content.
            self._files[target] = self._files[target].copy()
        for change in synced:
            _apply(change, self._files, self._folders)
        if target in self._folders:
            self._forget_nameless()

    def _fail(self, target: int) -> None:
        """Names are in the file system's own journal: a later sync of the folder has them."""
        self.pending = [
            replace(c, is_doubtful=True) if c.target == target and c.kind == journal.WRITE else c
            for c in self.pending]

    def _forget_nameless(self) -> None:
        """What was written to a file that no cut can bring back is of no account."""
        named = {n for folder in self._folders.values() for n in folder.names.values()}
        named |= {c.other for c in self.pending} | set(self._live.values())
        self.pending = [c for c in self.pending if c.target in named or c.target in self._folders]

    def after(self, survivors: Iterable[Change | Torn]) -> Content:
        """Every path below the root with what it holds, if these arrived."""
        files: dict[int, File] = {}
        folders = {n: Folder(dict(f.names)) for n, f in self._folders.items()}
        view = _Overlay(self._files, files)
        for change in survivors:
            _apply(change, view, folders)
        found: Content = {}
        _walk(0, "", folders, view, found)
        return found


def _not_overwritten(change: Change, synced: list[Change]) -> list[Change]:
    """What is still in doubt of a change when these of the same file, which are later, are durable.
    """
    parts = [change]
    for later in synced:
        if not change.is_doubtful or later.target != change.target or later.kind != journal.WRITE:
            continue
        parts = [piece for part in parts for piece in _around(part, later)]
    return parts


def _around(part: Change, later: Change) -> list[Change]:
    begin, end = later.offset - part.offset, later.offset + len(later.data) - part.offset
    if begin >= len(part.data) or end <= 0:
        return [part]
    before, after = part.data[:max(begin, 0)], part.data[end:]
    return [replace(part, data=data, offset=offset)
            for data, offset in ((before, part.offset), (after, part.offset + end)) if data]


class _Overlay:
    """Files of which those that change are copied first."""

    def __init__(self, base: dict[int, File], copies: dict[int, File]):
        self._base, self._copies = base, copies

    def __getitem__(self, number: int) -> File:
        if number not in self._copies:
            self._copies[number] = self._base[number].copy()
        return self._copies[number]

    def peek(self, number: int) -> File:
        return self._copies.get(number, self._base[number])


def _apply(change: Change | Torn, files, folders: dict[int, Folder]) -> None:
    if isinstance(change, Torn):
        change.apply(files[change.change.target])
    elif change.kind == journal.WRITE:
        files[change.target].write(change.offset, change.data)
    elif change.kind == journal.TRUNCATE:
        files[change.target].resize(change.offset)
    elif change.kind == journal.EXTEND:
        file = files[change.target]
        file.size = max(file.size, change.offset)
    elif change.kind in (journal.CREATE, journal.FOLDER):
        folders[change.target].names[change.names[0]] = change.other
    elif change.kind == journal.UNLINK:
        folders[change.target].names.pop(change.names[0], None)
    else:
        names = folders[change.target].names
        if change.kind == journal.RENAME and names.get(change.names[0]) == change.other:
            del names[change.names[0]]
        names[change.names[1]] = change.other


def _walk(number: int, path: str, folders, files: _Overlay, found: Content) -> None:
    for name, child in folders[number].names.items():
        below = f"{path}/{name}" if path else name
        if child in folders:
            found[below] = None
            _walk(child, below, folders, files, found)
        else:
            file = files.peek(child)
            found[below] = Blob(file.data, file.size)
