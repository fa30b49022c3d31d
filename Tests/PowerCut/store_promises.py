"""The promises of the store alone: its recording says after each change what it holds."""

import json

import journal
from cuts import Moment
from journal import Record

_COMPARED = ("last", "rows", "records", "window", "counters", "messages", "bytes")


class StorePromises:
    """A power cut leaves the facts that were said last, or those of the change in progress.

    Removals alone are not synced, so they may be undone, the last first: what comes back has its
    old number, and is forwarded once more.
    """

    def __init__(self, records: list[Record], *, needs_all: bool = False):
        self.needs_all = needs_all
        self._said: list[dict] = []
        self._ends: list[int] = []
        text = b""
        for number, record in enumerate(records):
            if record.kind != journal.SAID or record.descriptor != 1:
                continue
            text += record.data
            while b"\n" in text:
                line, _, text = text.partition(b"\n")
                self._said.append(_essence(json.loads(line)))
                self._ends.append(number)

    @property
    def changes(self) -> int:
        return len(self._said)

    def look(self, moment: Moment, facts: dict) -> None:
        pass

    def broken(self, moment: Moment, facts: dict) -> list[str]:
        if facts.get("error"):
            return [f"does not open: {facts['error']}"]
        broken = [f"damaged: {d}" for d in facts["damaged"] + facts["integrity"]]
        count = sum(1 for end in self._ends if end < moment.end)
        last = max(0, count - 1)
        first = last
        while first > 0 and _is_removal(self._said[first - 1], self._said[first]):
            first -= 1
        held = _essence(facts)
        if held not in self._said[first:count + 1]:
            broken.append(f"lost: {_difference(held, self._said[last])}")
        return broken


class SamePromises:
    """A second power cut, while the store opens what the first has left, changes nothing."""

    needs_all = False

    def __init__(self, facts: dict):
        self._facts = _essence(facts)

    def look(self, moment: Moment, facts: dict) -> None:
        pass

    def broken(self, moment: Moment, facts: dict) -> list[str]:
        if facts.get("error"):
            return [f"does not open: {facts['error']}"]
        broken = [f"damaged: {d}" for d in facts["damaged"] + facts["integrity"]]
        if _essence(facts) != self._facts:
            broken.append(f"lost: {_difference(_essence(facts), self._facts)}")
        return broken


def _is_removal(before: dict, after: dict) -> bool:
    """Whether some rows went, and nothing else is different."""
    same = (name for name in _COMPARED if name not in ("rows", "messages", "bytes"))
    there = {row["seq"] for row in before["rows"]}
    return (len(after["rows"]) < len(before["rows"])
            and all(row["seq"] in there for row in after["rows"])
            and all(before[name] == after[name] for name in same))


def _essence(facts: dict) -> dict:
    return {name: facts[name] for name in _COMPARED}


def _difference(held: dict, wanted: dict) -> str:
    names = [name for name in _COMPARED if held[name] != wanted[name]]
    lost = len(wanted["rows"]) - len(held["rows"])
    return (f"{', '.join(names)} differ; last {held['last']} where {wanted['last']} was said, "
            f"{lost} rows fewer")
