"""The commands of a section of a page, as a person copies them."""

import re

from clean_system import ROOT


def commands(title: str, page: str = "README.md") -> list[list[str]]:
    """The shell blocks below a heading, in order, each as its lines."""
    text = (ROOT / page).read_text()
    section = re.search(rf"^## {title}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)[1]
    blocks = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [block.strip().splitlines() for block in blocks]
