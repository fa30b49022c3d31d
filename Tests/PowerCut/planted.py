"""Faults, each planted in a recorded journal as a faulty store would have written it: the sweep
must find each, or it proves nothing."""

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
    held, said = _held(records), _said(records)
    for number, gone in held.items():
        place = _earlier(said, number, gone)
        if place is not None:
            return _with(run, replace(records[number], kind=journal.UNLINK, second=""), place,
                         number)
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


def freed_though_full(run: Run) -> Run:
    """A change fails, for there is no room to write down what goes; but the segment goes."""
    records = run.records
    held, said = _held(records), _said(records)
    for number, record in enumerate(records):
        gone = held.get(number)
        failed = [s for s in said if s.at < number][-1:]
        if gone and failed and failed[0].has_failed and failed[0].rows & gone:
            return _with(run, replace(record, kind=journal.UNLINK, second=""),
                         failed[0].at + 1, number)
    raise ValueError("no segment of this journal was given back after a failure")


def acknowledged_after_failed_sync(run: Run) -> Run:
    """The syncs of segments fail, and nobody looks."""
    names = journal.names(run.records)
    return Run([replace(r, kind=journal.FAILED_SYNC)
                if r.kind == journal.SYNC and _is_segment(name) else r
                for r, name in zip(run.records, names)], run.folder)


def believed_the_page_cache(run: Run) -> Run:
    """After a failed sync what can be read is taken for durable, and not written again."""
    names, kept, failed = journal.names(run.records), [], {}
    for record, name in zip(run.records, names):
        if record.kind == journal.WRITE and _is_segment(name):
            key = (record.object, record.offset, record.data)
            if record.object in failed and key in failed[record.object]:
                continue
            failed.setdefault(None, set()).add(key)
        if record.kind == journal.FAILED_SYNC and _is_segment(name):
            failed[record.object] = {k for k in failed.get(None, ()) if k[0] == record.object}
        kept.append(record)
    return Run(kept, run.folder)


def _with(run: Run, record: Record, place: int, end: int) -> Run:
    """The run with a record in another place, up to where it was, swept from there on."""
    records = [*run.records[:place], record, *run.records[place:end]]
    return Run(records, run.folder, since=place)


PLANTED: dict[str, Callable[[Run], Run]] = {
    "an acknowledgement before the sync": acknowledged_before_sync,
    "a segment freed before its last PUBACK": freed_before_last_puback,
    "the head moved past a hole": head_past_hole,
}


PLANTED_IN_TROUBLE: dict[str, dict[str, Callable[[Run], Run]]] = {
    "full": {"a segment freed though its change did not fit": freed_though_full},
    "sync": {
        "an acknowledgement though the sync failed": acknowledged_after_failed_sync,
        "the page cache believed after a failed sync": believed_the_page_cache,
    },
}


def _held(records: list[Record]) -> dict[int, set[int]]:
    """Of each record that takes a segment's name away: the sequences that the file had."""
    names, held, found = journal.names(records), {}, {}
    for number, (record, name) in enumerate(zip(records, names)):
        if record.kind == journal.WRITE and _is_segment(name):
            held.setdefault(name, set()).update(_sequences(record.data))
        old = Path(record.first).name
        if record.kind in (journal.RENAME, journal.UNLINK) and _is_segment(old):
            found[number] = held.pop(old, set())
    return found


@dataclass(frozen=True)
class _Said:
    """What one line of facts said, and where."""

    at: int
    change: str
    has_failed: bool
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
                number, facts["change"], facts["hasFailed"], frozenset(row["seq"] for row in facts["rows"])))
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
