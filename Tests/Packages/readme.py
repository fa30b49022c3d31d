"""The commands of a section of the README, as a person copies them."""

import re

from clean_system import ROOT


def commands(title: str) -> list[list[str]]:
    """The shell blocks below a heading, in order, each as its lines."""
    text = (ROOT / "README.md").read_text()
    section = re.search(rf"^## {title}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)[1]
    blocks = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [block.strip().splitlines() for block in blocks]
