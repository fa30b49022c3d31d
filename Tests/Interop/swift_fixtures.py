"""What the tests of the Swift libraries share: programs that are built as other people's are."""

import fcntl
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def built(package: str, product: str) -> Path:
    """The program of a package in `Tests/Libraries`. It depends on this one by its path, so only
    the library and what that needs is built. A warning of ours is a failure."""
    scratch = ROOT / ".build" / "libraries" / package
    scratch.mkdir(parents=True, exist_ok=True)
    argv = ["nice", "swift", "build", "--package-path", f"Tests/Libraries/{package}",
            "--scratch-path", str(scratch), "--disable-index-store", "-debug-info-format", "none",
            "-Xswiftc", "-whole-module-optimization", "-Xswiftc", "-num-threads", "-Xswiftc", "1",
            "--product", product]
    with (scratch / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(argv, cwd=ROOT, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-6000:]
    faults = re.findall(rf"^{ROOT}/(?:Sources|Tests)/.*warning:.*$", done.stdout, re.M)
    assert not faults, faults
    return scratch / "debug" / product


@pytest.fixture(scope="session")
def session_app() -> Path:
    return built("SessionApp", "session-app")


@pytest.fixture(scope="session")
def board_app(programs) -> Path:
    """The folder of the programs of an app's package."""
    built("BoardApp", "thermo")
    return built("BoardApp", "board-app").parent
