"""The figures of a run, as a table for README.md here and as JSON."""

import json
import time
from pathlib import Path

import torture as this
from torture import Torture, tell
from verdict import Gaps, Verdict, judge

# Faults of one kind that are told one by one.
_SHOWN = 8


def judged(run: Torture) -> Verdict:
    """The verdict over all until now; the board is to be calm."""
    status = run.board.status()
    health = run.publisher.health.last
    gaps = Gaps.of(status if "gapRanges" in status or "gaps" in status else health)
    outcome = judge(run.ledger, run.proxy.refused, gaps)
    for kind, words in run.faults.items():
        for word in words:
            outcome.fault(kind, word)
    for death in run.board.deaths:
        outcome.fault("the agent ended by itself", death)
    queue = status["queue"]["messages"]
    if queue:
        outcome.fault("the queue is not empty", f"{queue} messages")
    refusals = {k: v for k, v in run.ledger.tally.items() if k.startswith("refused")}
    outcome.figures |= refusals | {
        "SIGKILL of the agent": run.board.kills, "SIGTERM of the agent": run.board.terms,
        "longest SIGTERM to end, s": round(run.board.longest_stop, 2),
        "changes of weather": run.proxy.tally["weather"],
        "connections of the uplink": run.proxy.tally["connections"],
        "connections cut by the proxy": run.proxy.tally["connections cut"],
        "PUBACK 0x87 from upstream": run.proxy.tally["PUBACK 0x87"],
        "PUBACK 0x97 from upstream": run.proxy.tally["PUBACK 0x97"],
    } | run.figures
    if run.board.longest_stop > 2:
        outcome.fault("SIGTERM", f"took {run.board.longest_stop:.1f} s")
    return outcome


def told(run: Torture, outcome: Verdict, path: Path | None) -> int:
    outcome.figures |= run.figures
    seconds = round(time.monotonic() - this.BEGUN)
    print(f"\n| `make torture`, seed {run.plan.seed}, {seconds} s | |\n|---|---:|")
    for name, value in outcome.figures.items():
        print(f"| {name} | {value:,} |" if isinstance(value, int) else f"| {name} | {value} |")
    print()
    for skipped in run.skipped:
        tell(f"- SKIPPED: {skipped}")
    for kind, words in outcome.faults.items():
        print(f"✗ {kind}: {len(words)}")
        for word in words[:_SHOWN]:
            print(f"    {word}")
    if path is not None:
        path.write_text(json.dumps({
            "seed": run.plan.seed, "seconds": seconds, "figures": outcome.figures,
            "faults": outcome.faults, "skipped": run.skipped,
            "weather": dict(run.proxy.tally),
        }, indent=1) + "\n")
    tell("✗ failed" if outcome.faults else "✓ nothing acknowledged was lost")
    return 1 if outcome.faults else 0
