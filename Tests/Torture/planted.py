"""Faults planted in books that were right: a verdict that misses one proves nothing."""

from typing import Callable

from ledger import Ledger
from verdict import Gaps, judge

_SID = "session001"


def _books(skip: int | None = None, order: list[int] | None = None) -> Ledger:
    """Ten messages, all answered and all arrived but `skip`."""
    ledger = Ledger()
    for id_ in range(1, 11):
        ledger.open(id_, "app", b"payload %d" % id_)
        ledger.attempt(id_)
        ledger.answered(id_, {"seq": id_})
    for id_ in order or range(1, 11):
        if id_ != skip:
            ledger.arrive(_SID, id_, "app", id_, b"payload %d" % id_)
    return ledger


def _with(change: Callable[[Ledger], None]) -> Ledger:
    ledger = _books()
    change(ledger)
    return ledger


def _forgotten() -> Ledger:
    """Sent, and never answered nor heard of again."""
    ledger = _books()
    ledger.open(11, "app", b"forgotten")
    ledger.attempt(11)
    return ledger


_SWAPPED = [1, 2, 4, 3, 5, 6, 7, 8, 9, 10]
# What is planted, and under which name it must be found; None: it is no fault.
_CASES = [
    (lambda: _books(), Gaps(0), None),
    (lambda: _books(skip=5), Gaps(0), "acknowledged and lost"),
    (lambda: _books(skip=10), Gaps(0), "acknowledged and lost"),
    (lambda: _books(skip=5), Gaps(0), "missing and not announced"),
    (lambda: _books(skip=5), Gaps(1, [[4, 4]]), "missing and not announced"),
    (_forgotten, Gaps(0), "never answered, though all was calm"),
    (lambda: _books(order=_SWAPPED), Gaps(0), "out of order"),
    (lambda: _with(lambda b: b.arrive(_SID, 3, "app", 3, b"payload 3")), Gaps(0), None),
    (lambda: _with(lambda b: b.arrive(_SID, 3, "app", 3, b"payload 4")), Gaps(0),
     "duplicate with another payload"),
    (lambda: _with(lambda b: b.arrive(_SID, 11, "app", 3, b"payload 3")), Gaps(0),
     "a redelivery got a number of its own"),
    (lambda: _with(lambda b: b.arrive(_SID, 11, "app", 3, b"payload x")), Gaps(0),
     "payload or app changed"),
    (lambda: _with(lambda b: b.arrive(_SID, 11, "door", 3, b"payload 3")), Gaps(0),
     "payload or app changed"),
    (lambda: _with(lambda b: b.answered(3, {"seq": 4})), Gaps(0), "two messages under one number"),
]


def check() -> str:
    """How many there were. Raises `AssertionError` for one that was not found."""
    for number, (books, gaps, kind) in enumerate(_CASES):
        found = judge(books(), set(), gaps).faults
        if kind is None:
            assert not found, f"planted fault {number}: found {found} where nothing is wrong"
        else:
            assert kind in found, f"planted fault {number}: {kind} was not found, but {found}"
    assert not judge(_books(order=_SWAPPED), {3}, Gaps(0)).faults, "a refusal excuses being late"
    return f"{len(_CASES)} planted cases judged as they must be"
