"""Three faults, each planted in a recorded journal as a faulty store would have written it: the
sweep must find each, or it proves nothing."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import journal
from cuts import Run
from journal import Record

_HEAD = "head"


def acknowledged_before_sync(run: Run) -> Run:
    """Whatever was said after the sync of a segment is said before it."""
    records = run.records
    names = journal.names(records)
    moved, held = [], None
    for number, record in enumerate(records):
        if held is not None and (record.kind == journal.SAID or record.kind in journal.ON_DISK):
            moved += [record, held] if record.kind == journal.SAID else [held, record]
            held = None
        elif record.kind == journal.SYNC and _is_segment(names[number]):
            held = record
        else:
            moved.append(record)
    return Run(moved if held is None else [*moved, held], run.folder)


def freed_before_last_puback(run: Run) -> Run:
    """The first segment that is given back goes while writes in it still wait for a PUBACK."""
    records = run.records
    names, said = journal.names(records), _said(records)
    held: dict[int, set[int]] = {}
    for number, record in enumerate(records):
        if record.kind == journal.WRITE and _is_segment(names[number]):
            held.setdefault(record.object, set()).update(_sequences(record.data))
        is_freed = record.kind in (journal.RENAME, journal.UNLINK) and _is_segment(
            Path(record.first).name)
        if not is_freed:
            continue
        gone = next((held.get(r.object, set()) for r, name in zip(records, names)
                     if name == Path(record.first).name), set())
        place = _earlier(said, number, gone)
        if place is not None:
            return _with(run, replace(record, kind=journal.UNLINK, second=""), place, number)
    raise ValueError("no segment of this journal was given back")


def head_past_hole(run: Run) -> Run:
    """The head says of writes that they have left, before they have."""
    records = run.records
    names, said = journal.names(records), _said(records)
    for number, record in enumerate(records):
        if record.kind != journal.WRITE or names[number] != _HEAD:
            continue
        before = [s for s in said if s.at < number]
        after = next((s for s in said if s.at > number), None)
        if after is None or not before or after.change != "remove":
            continue
        place = _earlier(said, number, before[-1].rows - after.rows)
        if place is not None:
            return _with(run, record, place, number)
    raise ValueError("nothing has left in this journal")


def _with(run: Run, record: Record, place: int, end: int) -> Run:
    """The run with a record in another place, up to where it was, swept from there on."""
    records = [*run.records[:place], record, *run.records[place:end]]
    return Run(records, run.folder, since=place)


PLANTED: dict[str, Callable[[Run], Run]] = {
    "an acknowledgement before the sync": acknowledged_before_sync,
    "a segment freed before its last PUBACK": freed_before_last_puback,
    "the head moved past a hole": head_past_hole,
}


@dataclass(frozen=True)
class _Said:
    """What one line of facts said, and where."""

    at: int
    change: str
    rows: frozenset[int]


def _said(records: list[Record]) -> list[_Said]:
    lines, text = [], b""
    for number, record in enumerate(records):
        if record.kind != journal.SAID or record.descriptor != 1:
            continue
        text += record.data
        while b"\n" in text:
            line, _, text = text.partition(b"\n")
            facts = json.loads(line)
            lines.append(_Said(
                number, facts["change"], frozenset(row["seq"] for row in facts["rows"])))
    return lines


def _earlier(said: list[_Said], number: int, rows: set[int] | frozenset[int]) -> int | None:
    """Where something goes that is to happen a change too early: some of these rows were there
    before that change and after it."""
    before = [s for s in said if s.at < number][-2:]
    if len(before) < 2 or not before[0].rows & before[1].rows & rows:
        return None
    return before[0].at + 1


def _is_segment(name: str) -> bool:
    return name.endswith(".log") and name[0] in "0123456789abcdef" and "d-" not in name


def _sequences(data: bytes) -> set[int]:
    return {seq for frame in journal.frames(data) if frame.count
            for seq in range(frame.first, frame.last + 1)}
