"""The invariants and figures of a run, for people and as JSON."""

import json
import os
import platform
import time
from dataclasses import asdict
from pathlib import Path

import fleet as this
from fleet import Fleet, tell
from invariants import Finding

# Faults of one kind that are told one by one.
_SHOWN = 8


def figures(said: dict) -> list[tuple[str, str]]:
    """What the fleet met, in words."""
    boards, storms = said["boards"], said["reconnects"]
    rows = [
        ("boards", f"{boards['paired']:,} paired in {said['pairingSeconds']:.0f} s, each with a "
                   f"connection of its own; {boards['over']:,} over"),
        ("claims", _times(said["claims"], said["claims"]["count"])),
        ("heartbeats", _times(said["heartbeats"], said["heartbeats"]["answered"])),
        ("refreshes", _times(said["refreshes"], said["refreshes"]["answered"])),
        ("sent again", f"{said['heartbeats']['repeated'] + said['refreshes']['repeated']:,}; "
                       f"{said['heartbeats']['overloaded'] + said['refreshes']['overloaded']:,} "
                       "told that it is too much (155)"),
    ]
    rows += [(title, _fault(said[name])) for title, name in (
        ("replies lost on purpose", "lostReplies"), ("requests replayed", "replays"),
        ("clocks off by hours", "clocks"), ("thefts", "thefts"))]
    rows.append(("connections", f"{storms['ended']:,} ended, {storms['cut']:,} of them cut in "
                 f"{storms['storms']} storms; at most {storms['peakPerSecond']:,} tries a second "
                 f"({storms['peakShare']:.1%} of the fleet)"))
    return rows


def told(fleet: Fleet, said: dict, findings: list[Finding], path: Path | None) -> int:
    seconds = round(time.monotonic() - this.BEGUN)
    print(f"\n| `make fleet`, seed {fleet.plan.seed}, {seconds} s | |\n|---|---|")
    for name, value in figures(said):
        print(f"| {name} | {value} |")
    for event in fleet.events:
        print(f"| {event['event']} | {event['seconds']} s |")
    for name, size in fleet.sizes.items():
        print(f"| PSS of {name} | {size:.0f} MB |")
    for entry in said["errors"]:
        print(f"| met and made good: {entry['layer']}: {entry['text']} | {entry['count']:,} |")
    print()
    for finding in findings:
        print(f"{'✓' if finding.holds else '✗'} {finding.name}: {finding.numbers}")
        for fault in finding.faults[:_SHOWN]:
            print(f"    {fault}")
        if len(finding.faults) > _SHOWN:
            print(f"    and {len(finding.faults) - _SHOWN:,} more")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({
            "machine": {"cores": os.cpu_count(), "system": platform.platform(),
                        "load": os.getloadavg()},
            "plan": asdict(fleet.plan), "seconds": seconds, "events": fleet.events,
            "memory": fleet.sizes,
            "findings": [asdict(finding) | {"holds": finding.holds} for finding in findings],
            "said": said}, indent=1) + "\n")
    holds = all(finding.holds for finding in findings)
    print()
    tell("✓ all invariants hold" if holds else "✗ failed")
    return 0 if holds else 1


def _times(found: dict, count: int) -> str:
    if not count:
        return "none"
    return (f"{count:,}, {found['perSecond']:,.0f} a second; p50 {found['p50Ms']:,.0f} ms, "
            f"p99 {found['p99Ms']:,.0f} ms, longest {found['longestMs']:,.0f} ms")


def _fault(found: dict) -> str:
    return (f"{found['injected']:,}: {found['right']:,} came out right, {found['wrong']:,} wrong, "
            f"{found['open']:,} open")
