"""The promises of the store alone: its recording says after each change what it holds."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import journal
from cuts import Moment
from journal import Record

# What must be as it was said; `rows` and `messages` beside it.
_COMPARED = ("last", "records", "window", "keys", "counters")
# The marks of a frame name so many ranges that have left, and what is before and behind them.
_HOLES = 32
# The redelivery window has so many entries, and so many keys are kept.
_WINDOW = 1024
_KEYS = 4096


@dataclass(frozen=True)
class Said:
    """The facts that a change has led to, and what a power cut may bring back of it."""

    change: str
    facts: dict
    # Writes that left, and of which no frame on the disk says so yet.
    returning: dict[int, dict] = field(default_factory=dict)

    @property
    def rows(self) -> dict[int, dict]:
        return {row["seq"]: row for row in self.facts["rows"]}


class StorePromises:
    """A power cut leaves the facts that were said last, or those of the change in progress, whole,
    but for this:

    - a removal is not synced. What it took may be back, under its old number, until a frame was
      appended or the queue destroyed after it;
    - of an append that takes several frames a beginning may be there, and numbers of the others
      may be given up: the mark behind a torn frame names them;
    - what is dropped for room or for age goes part by part, each counted as lost with it;
    - a dead letter may be there while its write still is;
    - a change that failed is not there, or is there in part as above.
    """

    def __init__(self, records: list[Record], *, needs_all: bool = False):
        self.needs_all = needs_all
        self._said: list[Said] = []
        self._ends: list[int] = []
        # Named by each line that says that something was damaged: none may.
        self.damaged: list[str] = []
        text = b""
        for number, record in enumerate(records):
            if record.kind != journal.SAID or record.descriptor != 1:
                continue
            text += record.data
            while b"\n" in text:
                line, _, text = text.partition(b"\n")
                self._take(json.loads(line))
                self._ends.append(number)

    def _take(self, facts: dict) -> None:
        self.damaged += facts["damaged"]
        said = Said(facts["change"], facts)
        if self._said:
            said = Said(said.change, facts, _returning(self._said[-1], said))
        self._said.append(said)

    @property
    def failures(self) -> int:
        """So many calls were made to fail."""
        return self._said[-1].facts["failures"]

    @property
    def changes(self) -> int:
        return len(self._said)

    def look(self, moment: Moment, facts: dict) -> None:
        pass

    def broken(self, moment: Moment, facts: dict) -> list[str]:
        if broken := unusable(facts):
            return broken
        count = sum(1 for end in self._ends if end < moment.end)
        last = max(0, count - 1)
        allowed = list(self._allowed(last))
        if any(_is(facts, said) for said in allowed):
            return []
        return [f"lost: {_difference(facts, self._said[last])}"]

    def _allowed(self, last: int) -> Iterator[Said]:
        """The facts that were said last, those of the next change, and what is between."""
        before = self._said[last]
        yield before
        if last + 1 < len(self._said):
            after = self._said[last + 1]
            yield after
            yield from _between(before, after)


class SamePromises:
    """A second power cut, while the store opens what the first has left, changes nothing but what
    opening mends: `facts` are those before and after that."""

    needs_all = False

    def __init__(self, *facts: dict):
        self._said = [Said("look", one) for one in facts]

    def look(self, moment: Moment, facts: dict) -> None:
        pass

    def broken(self, moment: Moment, facts: dict) -> list[str]:
        if broken := unusable(facts):
            return broken
        if any(_is(facts, said) for said in self._said):
            return []
        return [f"lost: {_difference(facts, self._said[0])}"]


def unusable(facts: dict) -> list[str]:
    """Why the store does not serve, whatever it holds."""
    if facts.get("error"):
        return [f"does not open: {facts['error']}"]
    return [f"damaged: {d}" for d in facts["damaged"] + facts["integrity"]]


def _is(held: dict, said: Said) -> bool:
    """Whether these are the facts that were said, with some of what may return."""
    if any(held[name] != said.facts[name] for name in _COMPARED):
        return False
    rows, wanted = {row["seq"]: row for row in held["rows"]}, said.rows
    return (held["messages"] == len(rows) == len(held["rows"])
            and all(rows.get(seq) == row for seq, row in wanted.items())
            and all(said.returning.get(seq) == row
                    for seq, row in rows.items() if seq not in wanted))


def _returning(before: Said, after: Said) -> dict[int, dict]:
    """What a cut may bring back once a change is done."""
    there = after.rows
    if after.change == "remove":
        gone = {seq: row for seq, row in before.rows.items() if seq not in there}
        return before.returning | gone
    left = {seq: row for seq, row in before.returning.items() if seq not in there}
    if after.facts["hasFailed"]:
        return left
    if after.change == "destroy":
        return {}
    if after.change == "append":
        return {seq: row for seq, row in left.items() if not _is_marked(seq, before)}
    return left


def _is_marked(seq: int, said: Said) -> bool:
    """Whether the marks of a frame that is written now say that this has left."""
    live = sorted(said.rows)
    if not live or seq < live[0] or seq > live[-1]:
        return True
    gaps = [(a, b) for a, b in zip(live, live[1:]) if b > a + 1][:_HOLES]
    return any(a < seq < b for a, b in gaps)


def _between(before: Said, after: Said) -> Iterator[Said]:
    """What is there while a change is made whose parts are durable one by one."""
    if after.change == "append":
        yield from _begun_appends(before, after)
    elif after.change in ("drop", "expire"):
        yield from _begun_losses(before, after)
    elif after.change == "bury":
        counters = before.facts["counters"]
        yield Said("", before.facts | {"counters": counters | {"dead": counters["dead"] + 1}},
                   before.returning)


def _begun_appends(before: Said, after: Said) -> Iterator[Said]:
    new = [row for row in after.facts["rows"] if row["seq"] not in before.rows]
    entries = [e for e in after.facts["window"] if e[1] > before.facts["last"]]
    keys = [k for k in after.facts["keys"] if k[1] > before.facts["last"]]
    for count in range(len(new)):
        end = new[count - 1]["seq"] if count else 0
        window = before.facts["window"] + [e for e in entries if e[1] <= end]
        for last in (row["seq"] for row in new[max(0, count - 1):]):
            yield Said("", before.facts | {
                "rows": before.facts["rows"] + new[:count], "last": last,
                "window": window[-_WINDOW:],
                "keys": (before.facts["keys"] + [k for k in keys if k[1] <= end])[-_KEYS:],
            }, after.returning if count else before.returning)


def _begun_losses(before: Said, after: Said) -> Iterator[Said]:
    """The oldest go first; where a class is kept, the oldest of the others."""
    gone = [row for row in before.facts["rows"] if row["seq"] not in after.rows]
    lost = before.facts["counters"]["lost"]
    for order in (gone, sorted(gone, key=lambda row: row["class"] == "Log")):
        for count in range(1, len(order)):
            without = {row["seq"] for row in order[:count]}
            yield Said("", before.facts | {
                "rows": [row for row in before.facts["rows"] if row["seq"] not in without],
                "counters": before.facts["counters"] | {"lost": lost + count},
            }, before.returning)


def _difference(held: dict, wanted: Said) -> str:
    names = [name for name in _COMPARED if held[name] != wanted.facts[name]]
    there = {row["seq"] for row in held["rows"]}
    missing = sorted(seq for seq in wanted.rows if seq not in there)
    back = sorted(seq for seq in there if seq not in wanted.rows and seq not in wanted.returning)
    return (f"after `{wanted.change}`: {', '.join(names) or 'rows'} differ; last {held['last']} "
            f"where {wanted.facts['last']} was said; {len(missing)} rows missing {missing[:4]}, "
            f"{len(back)} back {back[:4]}")
