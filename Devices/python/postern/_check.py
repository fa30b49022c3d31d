"""Finds repeats and gaps, by the rules of `postern watch --check`, in bounded memory.

Source: the wire contract, Completeness.
"""

from __future__ import annotations

import bisect
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

Range = Tuple[int, int]

#: A number is missing when a later one came and so many seconds have passed.
PATIENCE = 5.0
BOARDS = 1024
_GAPS = 1024
_ANNOUNCED = 1024
_DIGESTS = 256
#: The first findings of a kind are all told. After that many, only the 32nd, the 64th and so on.
_TOLD = 20


@dataclass(frozen=True)
class Finding:
    """Something about the numbers of a board.

    `kind` is `missing`: numbers that did not come and that the board did not announce as lost;
    `conflict`: a number that came again with another payload or session; `reordered`: a number that
    came after a higher one; `malformed`: `sid`, `seq` or `ts` is wrong; `repeat`: a number that
    came again, as QoS 1 allows; `unmarked`: no `sid`, `seq` and `ts`, so it cannot be checked.
    """

    kind: str
    iid: str
    #: The first and the last number, if there are any.
    numbers: Optional[Range]
    #: How many of this kind there were on this board so far; missing numbers are counted singly.
    count: int


@dataclass(frozen=True)
class Summary:
    """What is known of one board."""

    messages: int
    #: The first number and the highest one; None if no message had one.
    numbers: Optional[Range]
    #: By kind, as `Finding.kind`.
    counts: Mapping[str, int]
    #: Too many gaps: the oldest are no longer checked.
    is_capped: bool

    @property
    def is_complete(self) -> bool:
        """Whether all came that the board accepted between the two numbers."""
        return not self.is_capped and not any(
            self.counts.get(kind) for kind in
            ("missing", "conflict", "reordered", "malformed", "unmarked"))


class _Gap:
    def __init__(self, first: int, last: int, since: float, is_told: bool = False):
        self.first, self.last, self.since, self.is_told = first, last, since, is_told


class Board:
    """The check of one board. It begins at the first number that comes."""

    def __init__(self, iid: str):
        self.iid = iid
        self._messages = 0
        self._first = self._highest = 0
        #: Numbers below are not checked: from before the first, and of gaps that were dropped.
        self._floor = 0
        self._gaps: List[_Gap] = []
        self._announced: List[Range] = []
        self._digests: "OrderedDict[int, int]" = OrderedDict()
        self._counts: "Counter[str]" = Counter()
        self._given_up = 0
        self._missing_told = 0
        self._is_capped = False

    def take(self, number: int, digest: int, now: float) -> Tuple[bool, List[Finding]]:
        """Whether the record is new, and what is to tell."""
        self._messages += 1
        known = self._digests.get(number)
        if known is not None:
            return False, self._tell("repeat" if known == digest else "conflict", number)
        if self._first == 0:
            self._first = self._floor = self._highest = number
        elif number > self._highest:
            if number - 1 > self._highest:
                self._open(_Gap(self._highest + 1, number - 1, now))
            self._highest = number
        elif number >= self._floor:
            if not self._fill(number):
                return False, self._tell("repeat", number)
            self._remember(number, digest)
            return True, self._tell("reordered", number)
        self._remember(number, digest)
        return True, []

    def note(self, kind: str) -> List[Finding]:
        """A message without a number that counts."""
        self._messages += 1
        return self._tell(kind, None)

    def announce(self, ranges: Iterable[Range]) -> None:
        """The numbers that will never come."""
        merged: List[Range] = []
        for first, last in sorted([*self._announced, *ranges]):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        self._announced = merged[-_ANNOUNCED:]

    def find_missing(self, before: float) -> List[Finding]:
        """The gaps that opened before this time, and were not told."""
        found: List[Range] = []
        for gap in self._gaps:
            if not gap.is_told and gap.since <= before:
                gap.is_told = True
                found += self._unannounced(gap)
        findings = []
        for numbers in found:
            self._missing_told += 1
            if _is_told(self._missing_told):
                findings.append(Finding("missing", self.iid, numbers, self._missing))
        return findings

    @property
    def summary(self) -> Summary:
        counts = dict(self._counts)
        if self._missing:
            counts["missing"] = self._missing
        numbers = (self._first, self._highest) if self._first else None
        return Summary(self._messages, numbers, counts, self._is_capped)

    @property
    def _missing(self) -> int:
        return self._given_up + sum(_size(self._unannounced(gap)) for gap in self._gaps)

    def _unannounced(self, gap: _Gap) -> Iterator[Range]:
        first = gap.first
        at = max(bisect.bisect_right(self._announced, (first, first)) - 1, 0)
        for begin, end in self._announced[at:]:
            if begin > gap.last:
                break
            if end < first:
                continue
            if begin > first:
                yield first, begin - 1
            first = end + 1
        if first <= gap.last:
            yield first, gap.last

    def _open(self, gap: _Gap) -> None:
        self._gaps.append(gap)
        if len(self._gaps) > _GAPS:
            dropped = self._gaps.pop(0)
            self._is_capped = True
            self._floor = dropped.last + 1
            self._given_up += _size(self._unannounced(dropped))

    def _fill(self, number: int) -> bool:
        """False if the number is in no gap."""
        low, high = 0, len(self._gaps)
        while low < high:
            middle = (low + high) // 2
            if self._gaps[middle].last < number:
                low = middle + 1
            else:
                high = middle
        if low == len(self._gaps) or self._gaps[low].first > number:
            return False
        gap = self._gaps.pop(low)
        for first, last in ((number + 1, gap.last), (gap.first, number - 1)):
            if first <= last:
                self._gaps.insert(low, _Gap(first, last, gap.since, gap.is_told))
        if len(self._gaps) > _GAPS:
            self._open(self._gaps.pop())
        return True

    def _remember(self, number: int, digest: int) -> None:
        self._digests[number] = digest
        if len(self._digests) > _DIGESTS:
            self._digests.popitem(last=False)

    def _tell(self, kind: str, number: Optional[int]) -> List[Finding]:
        self._counts[kind] += 1
        count = self._counts[kind]
        if not _is_told(count):
            return []
        return [Finding(kind, self.iid, None if number is None else (number, number), count)]


class Check:
    """All boards. Beyond 1,024 of them, messages are not checked."""

    def __init__(self) -> None:
        self._boards: Dict[str, Board] = {}

    def board(self, iid: str) -> Optional[Board]:
        if iid not in self._boards and len(self._boards) < BOARDS:
            self._boards[iid] = Board(iid)
        return self._boards.get(iid)

    def find_missing(self, before: float) -> List[Finding]:
        return [finding for board in self._boards.values()
                for finding in board.find_missing(before)]

    @property
    def summaries(self) -> Dict[str, Summary]:
        found = {iid: board.summary for iid, board in self._boards.items()}
        return {iid: summary for iid, summary in found.items() if summary.messages}


def _size(ranges: Iterable[Range]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _is_told(count: int) -> bool:
    return count <= _TOLD or count & (count - 1) == 0
