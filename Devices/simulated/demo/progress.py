"""The output for people: a line for each step, with ✓ or ✗ and its seconds."""

import sys
import time
from contextlib import contextmanager
from pathlib import Path

_WIDTH = 88


def say(text: str = "") -> None:
    print(text, flush=True)


def detail(text: str) -> None:
    say("     " + text)


@contextmanager
def step(number: int, title: str):
    """Prints the step's line when it ends; a failure is passed on to the caller."""
    begun = time.monotonic()
    notes: list[str] = []
    shown = False
    if sys.stdout.isatty():
        print(f"…  {number} {title}", end="\r", flush=True)
    try:
        yield notes
        shown = True
    finally:
        seconds = f"{time.monotonic() - begun:.1f} s"
        mark = "✓" if shown else "✗"
        line = f"{mark}  {number} {title}"
        say(f"{line:<{_WIDTH - len(seconds)}}{seconds}")
        for note in notes:
            detail(note)


def tail(log: Path, lines: int = 15) -> None:
    """The end of a log, indented; nothing if it is empty."""
    if not log.exists() or not (text := log.read_text(errors="replace").strip()):
        return
    say(f"\n   the last lines of {log}:")
    for line in text.splitlines()[-lines:]:
        say("     " + line)


def table(head: list[str], rows: list[list[object]]) -> None:
    """The first column is aligned left, all others right."""
    cells = [head, *([str(c) for c in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for number, row in enumerate(cells):
        detail("  ".join(
            cell.ljust(widths[i]) if i == 0 else cell.rjust(widths[i])
            for i, cell in enumerate(row)))
        if number == 0:
            detail("  ".join("─" * width for width in widths))
