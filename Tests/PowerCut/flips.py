"""One byte of one file is another one, as a failing card leaves it: the store opens, names what it
lost, keeps the rest, and gives no number twice."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import cuts
import journal
from cuts import Run, State
from disk import Blob, Content
from sweep import EXAMPLES, Opener

_NAMED = re.compile(r"queue (\d+)(?: to (\d+))?")
# How often each kind of file is chosen. The storage key is not: nothing opens without it.
_FILES = {"segment": 6, "vault": 2, "vault.copy": 1, "head": 1, "dead": 1}


@dataclass(frozen=True)
class Flip:
    """Which byte it was."""

    kind: str
    path: str
    offset: int
    # The sequences in the frame, if the byte is in the newest segment.
    frame: range

    @property
    def text(self) -> str:
        return f"byte {self.offset} of {self.path}"

    def newest(self, whole: dict) -> range:
        """The sequences of the newest frame that is whole, if the byte is in that one: it cannot be
        told from a frame that was torn, which nobody was told is safe. Its numbers are known."""
        return self.frame if self.frame and self.frame[-1] == whole["last"] else range(0)


def flip_bytes(
    run: Run, program: Path, place: Path, *, count: int, seed: int
) -> tuple[Counter, list[str]]:
    """How many bytes of each kind of file were changed, and what was wrong then."""
    chance = random.Random(seed)
    name = run.folder.rpartition("/")[2]
    done, wrong = Counter(), []
    with closing(Opener(program, place)) as opener:
        for state in _whole(run, count=count, seed=seed):
            flip = _drawn(state.content, chance)
            if flip is None:
                continue
            whole = opener.open(name, state.content)
            found = opener.open(name, _flipped(state.content, flip, chance))
            done[flip.kind] += 1
            if broken := _broken(flip, whole, found):
                wrong.append(f"before record {state.moment.end}, {flip.text}: "
                             f"{'; '.join(broken[:3])}")
    return done, wrong[:EXAMPLES]


def _whole(run: Run, *, count: int, seed: int) -> Iterator[State]:
    """States in which all has arrived, about so many, from the whole run."""
    chance = random.Random(seed)
    states = [s for s in cuts.states(run, target=1, seed=seed, has_all=True)
              if s.is_whole and any(p.endswith("/outbox") for p in s.content)]
    for _ in range(count):
        yield chance.choice(states)


def _drawn(content: Content, chance: random.Random) -> Flip | None:
    kinds: dict[str, list[str]] = {}
    for path, blob in content.items():
        if blob is not None and blob.data and (kind := _kind(Path(path).name)):
            kinds.setdefault(kind, []).append(path)
    if not kinds:
        return None
    names = sorted(kinds)
    kind = chance.choices(names, [_FILES[name] for name in names])[0]
    path = chance.choice(sorted(kinds[kind]))
    data = bytes(content[path].data)
    if kind != "segment":
        return Flip(kind, path, chance.randrange(len(data)), range(0))
    frames = journal.frames(data)
    if not frames:
        return None
    frame = chance.choice(frames)
    is_newest = path == max(kinds[kind])
    return Flip(kind, path, chance.randrange(frame.begin, frame.end),
                range(frame.first, frame.last + 1) if is_newest else range(0))


def _kind(name: str) -> str | None:
    if name in _FILES:
        return name
    if name.startswith("dead-"):
        return "dead"
    return "segment" if re.fullmatch(r"[0-9a-f]+-[0-9a-f]+\.log", name) else None


def _flipped(content: Content, flip: Flip, chance: random.Random) -> Content:
    data = bytearray(content[flip.path].data)
    data[flip.offset] ^= 1 << chance.randrange(8)
    return content | {flip.path: Blob(data, content[flip.path].size)}


def _broken(flip: Flip, whole: dict, found: dict) -> list[str]:
    if whole.get("error"):
        return [f"does not open as it was: {whole['error']}"]
    if found.get("error"):
        return [f"does not open: {found['error']}"]
    return [*_rows_broken(flip, whole, found), *_vault_broken(flip, whole, found)]


def _rows_broken(flip: Flip, whole: dict, found: dict) -> Iterator[str]:
    named = {seq for text in found["damaged"] for m in _NAMED.finditer(text)
             for seq in range(int(m[1]), int(m[2] or m[1]) + 1)}
    held, newest = {row["seq"]: row for row in found["rows"]}, flip.newest(whole)
    for row in whole["rows"]:
        seq = row["seq"]
        if seq in held and held[seq] != row:
            yield f"write {seq} is another one"
        elif seq not in held and seq not in named and seq not in newest:
            yield f"write {seq} is gone and not named"
    if found["last"] < whole["last"]:
        yield f"{found['last']} is last where {whole['last']} was given"


def _vault_broken(flip: Flip, whole: dict, found: dict) -> Iterator[str]:
    if flip.kind != "vault":
        if found["records"] != whole["records"]:
            yield "the vault differs"
    elif not any("vault" in text for text in found["damaged"]):
        yield "the vault is not named"
    elif found["records"].get("identity") != whole["records"]["identity"]:
        yield "the identity is another one"
