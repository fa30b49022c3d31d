"""The published list of doctor's checks."""

import re
from pathlib import Path

_PAGE = Path(__file__).parents[3] / "Provisioning" / "DOCTOR.md"


def ids(program: str) -> list[str]:
    """The ids that the page names for a program, in its order."""
    section = _PAGE.read_text().partition(f"\n## {program} doctor\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)


def proofs() -> list[str]:
    """The ids that `--prove` tells of, in the page's order."""
    section = _PAGE.read_text().partition("doctor --prove\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(prove-[a-z-]+)` \|", section, re.MULTILINE)
