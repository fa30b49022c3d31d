"""What a part of the tests came to, and how it is read from a JUnit report."""

import shutil
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Count:
    """How many tests passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    # The names and words of the tests that failed.
    faults: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: "Count") -> "Count":
        return Count(self.passed + other.passed, self.failed + other.failed,
                     self.skipped + other.skipped, self.faults | other.faults)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def fault(name: str, words: str) -> Count:
    return Count(failed=1, faults={name: words})


class Report:
    """The JUnit report of a test runner; without one, or with an empty one, it has failed."""

    def __init__(self, scratch: str | None = None):
        self.scratch = scratch

    def __enter__(self) -> "Report":
        self.folder = Path(tempfile.mkdtemp(prefix="postern-tests-", dir=self.scratch))
        self.path = self.folder / "report.xml"
        return self

    def __exit__(self, *_) -> None:
        shutil.rmtree(self.folder)

    def _elements(self, tag: str) -> list[ElementTree.Element]:
        try:
            return list(ElementTree.parse(self.path).getroot().iter(tag))
        except (OSError, ElementTree.ParseError):
            return []

    def count(self, status: int, words: str, name_of) -> Count:
        """`name_of` makes a test's name from its class and its own name. `words` are the runner's
        last ones, for a run that ended badly without a failed test."""
        passed, skipped, faults = 0, 0, {}
        for case in self._elements("testcase"):
            found = next((case.find(tag) for tag in ("failure", "error")
                          if case.find(tag) is not None), None)
            if found is not None:
                name = name_of(case.get("classname", ""), case.get("name", ""))
                faults[name] = f"{found.get('message') or ''}\n{found.text or ''}"
            elif case.find("skipped") is not None:
                skipped += 1
            else:
                passed += 1
        if (status or not passed) and not faults:
            return Count(passed, 1, skipped, {
                f"the test runner (status {status} after {passed} tests)": words})
        return Count(passed, len(faults), skipped, faults)

    def measurements(self) -> list[str]:
        """What the tests measured. None of it decides anything."""
        return [f"{each.get('name')}: {each.get('value')}" for each in self._elements("property")]
