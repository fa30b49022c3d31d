"""Opens every state that a power cut may leave, and holds it against what was promised."""

import hashlib
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import cuts
from cuts import Moment, Run, State
from disk import Blob, Content

# How long one state may take to open, in seconds.
PATIENCE = 30
WORKERS = 2
# How many broken states are told of.
EXAMPLES = 6


class Promises(Protocol):
    """What a recorded run may rely on after a power cut at a moment."""

    # Whether it must look at the whole state of each moment.
    needs_all: bool

    def look(self, moment: Moment, facts: dict) -> None:
        """Takes what the whole state of a moment holds; moments come in order."""

    def broken(self, moment: Moment, facts: dict) -> list[str]:
        """What of it a state does not keep. The word before the colon is the kind."""


@dataclass
class Result:
    """What a sweep has found."""

    states: int = 0
    distinct: int = 0
    moments: int = 0
    failed: int = 0
    seconds: float = 0.0
    kinds: Counter = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    # Where the first broken one is.
    first: tuple[Moment, str] | None = None

    def add(self, other: "Result") -> None:
        self.states += other.states
        self.distinct += other.distinct
        self.moments += other.moments
        self.failed += other.failed
        self.seconds += other.seconds
        self.kinds += other.kinds
        self.examples = (self.examples + other.examples)[:EXAMPLES]

    @property
    def facts(self) -> dict:
        return {"states": self.states, "distinct": self.distinct, "moments": self.moments,
                "failed": self.failed, "seconds": round(self.seconds, 1),
                "kinds": dict(self.kinds), "examples": self.examples}


class Opener:
    """One long-lived `powercut-store open` with a place of its own for the states."""

    def __init__(self, program: Path, place: Path):
        self.place = place
        place.mkdir(mode=0o700)
        self._process = subprocess.Popen(
            [program, "open"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def open(self, name: str, content: Content) -> dict:
        """The facts that the board's own code finds in such a folder."""
        for old in self.place.iterdir():
            shutil.rmtree(old)
        lay(self.place, content)
        folder = self.place / name
        watch = threading.Timer(PATIENCE, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(f"{folder}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if not line:
            status = self._process.wait(5)
            raise RuntimeError(f"the opener ended with {status} (-9: after {PATIENCE} s)")
        return json.loads(line)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(10)


def lay(place: Path, content: Content) -> None:
    """Writes a state out, folders before what is in them."""
    for path, data in sorted(content.items()):
        if data is None:
            (place / path).mkdir(mode=0o700)
        else:
            _write(place / path, data)


def _write(path: Path, blob: Blob) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        view = memoryview(blob.data)
        while view:
            view = view[os.write(fd, view):]
        # The rest, zeros, takes no room.
        os.ftruncate(fd, blob.size)
    finally:
        os.close(fd)


class Sweep:
    """The states of one recorded run."""

    def __init__(self, program: Path, place: Path):
        self._program, self._place = program, place

    def run(
        self, run: Run, promises: Promises, *, target: int, seed: int, keep: Path | None = None
    ) -> Result:
        """Opens about `target` states. The first that is broken is laid out in `keep`."""
        begun, result = time.monotonic(), Result()
        found: list[tuple[State, dict]] = []
        name = run.folder.rpartition("/")[2]
        contents: set[bytes] = set()
        cases: set[tuple[bytes, int]] = set()
        with _Pool(self._program, self._place, WORKERS, name) as pool:
            for state in cuts.states(run, target=target, seed=seed, has_all=promises.needs_all):
                digest = _digest(state.content)
                if (digest, state.moment.number) in cases:
                    continue
                contents.add(digest)
                cases.add((digest, state.moment.number))
                pool.submit(state)
                found += pool.done()
            found += pool.finish()
        found.sort(key=lambda pair: (pair[0].moment.number, not pair[0].is_whole))
        for state, facts in found:
            if state.is_whole:
                promises.look(state.moment, facts)
            _judge(state, facts, promises, result)
        result.states, result.distinct = len(found), len(contents)
        result.moments = len({s.moment.number for s, _ in found})
        result.seconds = time.monotonic() - begun
        if keep and result.first:
            again = cuts.states(run, target=target, seed=seed, has_all=promises.needs_all)
            state = next(s for s in again if result.first == (s.moment, s.how))
            keep.mkdir(parents=True, exist_ok=True)
            lay(Path(tempfile.mkdtemp(prefix="broken-", dir=keep)), state.content)
        return result


def _judge(state: State, facts: dict, promises: Promises, result: Result) -> None:
    broken = promises.broken(state.moment, facts)
    if not broken:
        return
    result.failed += 1
    result.first = result.first or (state.moment, state.how)
    result.kinds.update({text.partition(":")[0] for text in broken})
    if len(result.examples) < EXAMPLES:
        where = f"before record {state.moment.end}, {state.how}"
        result.examples.append(f"{where}: {'; '.join(broken[:3])}")


class _Pool:
    """Openers that work at once; the states come out in any order."""

    def __init__(self, program: Path, place: Path, count: int, name: str):
        self._jobs: queue.Queue = queue.Queue(maxsize=4 * count)
        self._done: queue.Queue = queue.Queue()
        self._name = name
        self._failure: Exception | None = None
        self._openers = [Opener(program, place / f"opener-{n}") for n in range(count)]
        self._threads = [threading.Thread(target=self._work, args=(o,)) for o in self._openers]

    def __enter__(self) -> "_Pool":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        for opener in self._openers:
            opener.close()
            shutil.rmtree(opener.place)

    def submit(self, state: State) -> None:
        self._jobs.put(state)

    def done(self) -> list[tuple[State, dict]]:
        if self._failure:
            raise self._failure
        found = []
        while not self._done.empty():
            found.append(self._done.get())
        return found

    def finish(self) -> list[tuple[State, dict]]:
        self._jobs.join()
        return self.done()

    def _work(self, opener: Opener) -> None:
        while (state := self._jobs.get()) is not None:
            try:
                if self._failure is None:
                    facts = opener.open(self._name, state.content)
                    # The content has served; thousands of them would fill the memory.
                    light = State(state.moment, state.is_whole, state.how, {})
                    self._done.put((light, facts))
            except Exception as error:
                self._failure = error
            finally:
                self._jobs.task_done()


def _digest(content: Content) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for path, blob in sorted(content.items()):
        digest.update(f"{path}\0{-1 if blob is None else blob.size}\0".encode())
        if blob is not None:
            digest.update(blob.data.rstrip(b"\0"))
    return digest.digest()
