"""What the two books and the agent's own word must agree on."""

from dataclasses import dataclass, field

from ledger import Ledger


@dataclass
class Verdict:
    """`figures` in the order in which they are told; `faults` is empty when all is well."""

    figures: dict[str, int | float | str] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)

    def fault(self, kind: str, words: str) -> None:
        self.faults.setdefault(kind, []).append(words)


def judge(ledger: Ledger, refused: set[int], gaps: "Gaps") -> Verdict:
    """`refused` are sequences that the broker said no to: only these may come late."""
    with ledger.lock:
        verdict = Verdict(faults={k: list(v) for k, v in ledger.faults.items()})
        _judge_loss(ledger, gaps, verdict)
        _judge_numbers(ledger, verdict)
        _judge_order(ledger, refused, verdict)
        _judge_gaps(ledger, gaps, verdict)
    return verdict


@dataclass(frozen=True)
class Gaps:
    """What the agent announced: a count, and the ranges where it names them."""

    count: int
    ranges: list[list[int]] | None = None

    @classmethod
    def of(cls, status: dict) -> "Gaps":
        ranges = status.get("gapRanges")
        return cls(int(status.get("gaps", 0)), ranges if isinstance(ranges, list) else None)

    def has(self, seq: int) -> bool:
        return any(first <= seq <= last for first, last in self.ranges or [])


def _judge_loss(ledger: Ledger, gaps: Gaps, verdict: Verdict) -> None:
    came = {seq for _, seq in ledger.arrived}
    promised = {seq for entry in ledger.sent.values() for seq in entry.sequences}
    lost = sorted(promised - came)
    told = [seq for seq in lost if gaps.has(seq)]
    verdict.figures |= {
        "messages": len(ledger.sent), "acknowledged": ledger.acknowledged,
        "acknowledged and lost": len(lost), "of these announced as gaps": len(told),
        "unanswered in the end": len(ledger.unanswered),
    }
    for seq in lost:
        verdict.fault("acknowledged and lost", f"seq {seq}")
    for id_ in ledger.unanswered:
        verdict.fault("never answered, though all was calm", f"id {id_}")


def _judge_numbers(ledger: Ledger, verdict: Verdict) -> None:
    """A message has as many numbers as it was given to the bus, and no number two messages."""
    numbers: dict[int, set] = {}
    for key, arrived in ledger.arrived.items():
        numbers.setdefault(arrived.id, set()).add(key[1])
    owners: dict[int, int] = {}
    for id_, entry in ledger.sent.items():
        of_this = entry.sequences | numbers.get(id_, set())
        if len(of_this) > entry.attempts:
            verdict.fault("a redelivery got a number of its own",
                          f"id {id_}, sent {entry.attempts} times: {sorted(of_this)}")
        for seq in of_this:
            if owners.setdefault(seq, id_) != id_:
                verdict.fault("two messages under one number", f"seq {seq}")
    verdict.figures |= {
        "sent again by the publisher": ledger.tally["sent again by the publisher"],
        "of these arrived, their answer lost": ledger.tally["arrived without an answer"],
        "redelivered on the bus, same seq": ledger.tally["answered again with the same seq"],
        "records upstream": len(ledger.arrived), "duplicates upstream": ledger.tally["duplicates"],
        "duplicates with another payload": len(
            ledger.faults.get("duplicate with another payload", [])),
    }


def _judge_order(ledger: Ledger, refused: set[int], verdict: Verdict) -> None:
    highest, late, excused = 0, 0, 0
    for _, seq in ledger.order:
        if seq > highest:
            highest = seq
        elif seq in refused:
            excused += 1
        else:
            late += 1
            verdict.fault("out of order", f"seq {seq} first came after {highest}")
    verdict.figures |= {"out of order": late, "late because the broker refused them": excused}


def _judge_gaps(ledger: Ledger, gaps: Gaps, verdict: Verdict) -> None:
    came = {seq for _, seq in ledger.arrived}
    missing = [n for n in range(1, max(came, default=0) + 1) if n not in came]
    if gaps.ranges is not None:
        silent = [n for n in missing if not gaps.has(n)]
    else:
        silent = missing[gaps.count:]
    verdict.figures |= {"numbers missing upstream": len(missing), "gaps announced": gaps.count}
    for first, last in _ranges(silent):
        verdict.fault("missing and not announced", f"seq {first} to {last}")


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Rising numbers as first and last of each unbroken row."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
