"""A wrong clock for one program: Debian's libfaketime, told the time by a file."""

import glob
from pathlib import Path

_LIBRARY = "/usr/lib/*/faketime/libfaketime.so.1"


class FakeClock:
    """What the program takes for the time; it may be changed while that runs.

    Only the wall clock lies: a machine's monotonic clock does not jump when its time is set.
    """

    def __init__(self, path: Path, says: str = "+0"):
        self.path = path
        self.says(says)

    def says(self, text: str) -> None:
        """An offset (`+3650d`, `-600`) or an instant (`@1970-01-01 00:00:10`)."""
        beside = self.path.with_suffix(".new")
        beside.write_text(text + "\n")
        beside.replace(self.path)

    @property
    def environment(self) -> dict[str, str]:
        found = glob.glob(_LIBRARY)
        assert found, "libfaketime is missing: apt-get install faketime"
        return {"LD_PRELOAD": found[0], "FAKETIME_TIMESTAMP_FILE": str(self.path),
                "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_DONT_RESET": "1"}


def sweep() -> None:
    """Removes what libfaketime leaves in shared memory after a program that was killed."""
    for left in Path("/dev/shm").glob("*faketime_*"):
        if not Path("/proc", left.name.rsplit("_", 1)[1]).exists():
            left.unlink(missing_ok=True)
