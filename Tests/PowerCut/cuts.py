"""Where the power is cut, and which of the unsynced changes have arrived then."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import journal
from disk import Change, Content, Disk, Torn
from journal import Record

# A window of unsynced changes in so many has each of its subsets tried, while they are few.
THOROUGH, FEW = 12, 6
# A moment that could be left out is tried so often, or not at all.
LEAST = 4
# How often a moment is tried at which more than one file's content is unsynced.
DELICATE = 4
# So many writes to a file that is never synced count: the others were overwritten.
LATEST = 4


@dataclass(frozen=True, slots=True)
class Moment:
    """After a change or a sync, as late as possible: just before the next one begins."""

    number: int
    # All records before this index have happened.
    end: int
    # Whether the program said something since the change or sync.
    has_spoken: bool


@dataclass(frozen=True, slots=True)
class State:
    """What one power cut leaves."""

    moment: Moment
    # Whether all that was written has arrived.
    is_whole: bool
    how: str
    content: Content


@dataclass(frozen=True)
class Run:
    """A recorded run, the folder that it was about, and what was on the disk before."""

    records: list[Record]
    folder: str
    before: Content = field(default_factory=dict)
    # Moments up to this record are left out.
    since: int = 0

    def disk(self) -> Disk:
        return Disk(self.folder, self.before)


def _replayed(run: Run, disk: Disk) -> Iterator[tuple[Moment, bool]]:
    """Each moment after a record that touches the disk, and whether that changed anything."""
    number, changed = -1, False
    begun = has_spoken = False
    for at, record in enumerate(run.records):
        if record.kind in journal.ON_DISK:
            if begun:
                yield Moment(number, at, has_spoken), changed
            begun, has_spoken = True, False
            number, changed = number + 1, disk.take(record)
        elif record.kind == journal.OPENED:
            disk.learn(record)
        elif record.kind == journal.SAID:
            has_spoken = True
    if begun:
        yield Moment(number, len(run.records), has_spoken), changed


def states(
    run: Run, *, target: int, seed: int, has_all: bool
) -> Iterator[State]:
    """About `target` states, first of each moment the whole one.

    Unless `has_all`, moments are left out by lot where there would be little to say of each.
    """
    chance = random.Random(seed)
    quota = _Quota(target, run, has_all)
    disk = run.disk()
    is_thorough = False
    for moment, has_changed in _replayed(run, disk):
        if not has_changed:
            is_thorough = chance.randrange(THOROUGH) == 0
        count = quota.of(moment, chance)
        if count == 0 or moment.end <= run.since:
            continue
        if not disk.pending:
            yield State(moment, True, "all is synced", disk.after(()))
            continue
        firm, loose = disk.split()
        # What lacks the newest change was a state of the moment before, unless more was
        # promised since.
        newest = disk.pending[-1] if has_changed and not moment.has_spoken else None
        seen: set[tuple] = set()
        for how, survivors in _both(firm, loose, newest, count, is_thorough, chance):
            key = tuple(id(s) if isinstance(s, Change) else s for s in survivors)
            if key in seen:
                continue
            seen.add(key)
            is_whole = len(seen) == 1
            yield State(moment, is_whole, how, disk.after(survivors))
            if len(seen) >= count and not (is_thorough and len(firm) <= FEW):
                break


class _Quota:
    """How many states a moment gets, so that all have their share."""

    def __init__(self, target: int, run: Run, has_all: bool):
        disk = run.disk()
        moments = [(moment.end, _weight(disk.split()[0])) for moment, _ in _replayed(run, disk)]
        self._weights = [weight for _, weight in moments]
        self._each = target / max(1, sum(weight for end, weight in moments if end > run.since))
        self._has_all = has_all

    def of(self, moment: Moment, chance: random.Random) -> int:
        share = self._each * self._weights[moment.number]
        if not self._has_all and share < LEAST:
            return LEAST if chance.random() < share / LEAST else 0
        return max(1, int(share) + (chance.random() < share % 1))


def _weight(pending: list[Change]) -> int:
    if not pending:
        return 1
    is_plain = len({c.target for c in pending}) == 1 and pending[-1].kind == journal.WRITE
    return 1 if is_plain and len(pending) > 1 else DELICATE


def _both(
    firm: list[Change], loose: list[Change], newest: Change | None, count: int,
    is_thorough: bool, chance: random.Random,
) -> Iterator[tuple[str, list]]:
    """Of what is synced some time or other, and beside it of what never is."""
    if not loose:
        yield from _choices(firm, newest, count, is_thorough, chance)
        return
    is_firm = bool(firm) and newest is firm[-1]
    yield f"all {len(firm) + len(loose)} arrived", [*firm, *loose[-LATEST:]]
    for how, survivors in _choices(firm, newest if is_firm else None, count, is_thorough, chance):
        what, others = _unsynced(loose, newest is loose[-1], chance)
        yield f"{how}; {what}", [*survivors, *others]


def _unsynced(
    loose: list[Change], has_newest: bool, chance: random.Random
) -> tuple[str, list]:
    """Some of the writes to files that nobody syncs: the kernel may have written any of them."""
    way = 0 if has_newest else chance.randrange(5)
    if way < 2:
        return "all of the unsynced file", loose[-LATEST:]
    if way == 2:
        return "nothing of the unsynced file", []
    cut = chance.randrange(len(loose) + 1)
    if way == 3 or cut == 0:
        return f"the unsynced file as of its write {cut}", loose[max(0, cut - LATEST):cut]
    how, torn = _torn(loose[max(0, cut - LATEST):cut], must_have=True, chance=chance)
    return f"of the unsynced file {how}", torn


def _choices(
    pending: list[Change], newest: Change | None, count: int, is_thorough: bool,
    chance: random.Random,
) -> Iterator[tuple[str, list]]:
    yield f"all {len(pending)} arrived", pending
    free = pending[:-1] if newest else pending
    fixed = [newest] if newest else []
    if is_thorough and len(free) <= FEW:
        for mask in range(2 ** len(free)):
            kept = [c for n, c in enumerate(free) if mask >> n & 1]
            yield f"{len(kept)} of {len(free)} arrived, the newest {bool(fixed)}", kept + fixed
    if newest is None:
        yield "none arrived", []
    for _ in range(3 * count):
        yield _drawn(free, fixed, chance)


def _drawn(free: list[Change], fixed: list[Change], chance: random.Random) -> tuple[str, list]:
    """One of the ways to lose something, by lot."""
    way = chance.randrange(6)
    if not free and way < 4:
        way = 4 + way % 2
    if way == 0:
        lost = chance.randrange(len(free))
        return f"number {lost} is missing", free[:lost] + free[lost + 1:] + fixed
    if way == 1:
        alone = chance.choice(free)
        return "one arrived alone", [alone, *fixed]
    if way == 2:
        cut = chance.randrange(len(free) + 1)
        return f"the first {cut} arrived", free[:cut] + fixed
    if way == 3:
        kept = [c for c in free if chance.random() < 0.5]
        return f"{len(kept)} of {len(free)} arrived", kept + fixed
    return _torn(free + fixed, must_have=bool(fixed), chance=chance)


def _torn(
    changes: list[Change], *, must_have: bool, chance: random.Random
) -> tuple[str, list]:
    writes = [n for n, c in enumerate(changes) if c.kind == journal.WRITE]
    if must_have and changes[-1].kind == journal.WRITE:
        writes = writes[-1:]
    if not writes:
        return "all arrived", changes
    number = chance.choice(writes)
    change = changes[number]
    sectors = len(change.sectors)
    arrived = tuple(chance.random() < 0.5 for _ in range(sectors))
    noise = chance.getrandbits(32) if chance.random() < 0.5 else None
    others = [c for c in changes[:number] if chance.random() < 0.8]
    later = [c for c in changes[number + 1:] if chance.random() < 0.8]
    how = f"{sum(arrived)} of {sectors} sectors of number {number} arrived"
    return (how + (", noise in the others" if noise is not None else ""),
            [*others, Torn(change, arrived, noise), *later])
