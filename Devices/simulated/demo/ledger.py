"""What the vitals program sent and heard, against what came upstream."""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Tally:
    """One row of the table."""

    sent: int = 0
    accepted: int = 0
    refused: int = 0
    unanswered: int = 0


class Ledger:
    """Reads the vitals program's file as it grows."""

    def __init__(self, path: Path):
        self.path = path

    @property
    def lines(self) -> list[dict]:
        """Whole lines only: the last one may be half written."""
        if not self.path.exists():
            return []
        text, _, _ = self.path.read_text().rpartition("\n")
        return [json.loads(line) for line in text.split("\n") if line]

    @property
    def writes(self) -> dict[str, dict]:
        return {line["sent"]: line for line in self.lines if "sent" in line}

    @property
    def outcomes(self) -> dict[str, dict]:
        """The first outcome of each write: `time` and `outcome`."""
        found: dict[str, dict] = {}
        for line in self.lines:
            if "answered" in line:
                found.setdefault(line["answered"], line)
        return found

    @property
    def accepted(self) -> dict[int, dict]:
        """Every promise, `seq` to the line with it."""
        return {o["outcome"]["seq"]: o for o in self.outcomes.values() if "seq" in o["outcome"]}

    def first_refused(self, code: int, after: float) -> dict | None:
        lines = [o for o in self.outcomes.values()
                 if o["outcome"].get("code") == code and o["time"] >= after]
        return min(lines, key=lambda line: line["time"], default=None)

    @property
    def tally(self) -> Tally:
        outcomes = [o["outcome"] for o in self.outcomes.values()]
        return Tally(
            sent=len(self.writes),
            accepted=sum("seq" in o for o in outcomes),
            refused=sum("code" in o for o in outcomes),
            unanswered=len(self.writes.keys() - self.outcomes.keys()),
        )


class Consumer:
    """What `postern watch --json` printed."""

    def __init__(self, output: Path):
        self._output = output

    @property
    def lines(self) -> list[dict]:
        if not self._output.exists():
            return []
        text, _, _ = self._output.read_text().rpartition("\n")
        return [json.loads(line) for line in text.split("\n") if line]

    @property
    def sequences(self) -> list[int]:
        return [line["seq"] for line in self.lines if line.get("seq") is not None]

    @property
    def duplicates(self) -> int:
        return len(self.sequences) - len(set(self.sequences))

    @property
    def gaps(self) -> int:
        """How many numbers are missing between the first and the last that came."""
        seen = set(self.sequences)
        return max(seen) - min(seen) + 1 - len(seen) if seen else 0
