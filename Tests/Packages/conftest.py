"""What the tests of the packages share: the packages of `make deb`, an older build of them, and
clean systems to put them in."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from clean_system import ROOT, CleanSystem

NAMES = ["postern-agent", "postern-authority", "postern"]
OLDER = "0.0.9"
# A line that an older build's file has beside ours, so that an upgrade has something to do.
OLD_LINE = "# From an older build.\n"


@pytest.fixture(scope="session")
def packages() -> dict[str, Path]:
    """The newest build, by name."""
    if os.geteuid() != 0:
        pytest.skip("a clean system is made and entered by root alone")
    found = {name: sorted((ROOT / ".build/deb").glob(f"{name}_*.deb")) for name in NAMES}
    for name, files in found.items():
        assert len(files) == 1, f"{name}: `make deb` comes first"
    return {name: files[0] for name, files in found.items()}


@pytest.fixture(scope="session")
def older(packages: dict[str, Path], tmp_path_factory) -> dict[str, Path]:
    """The same as version 0.0.9, the broker's files in it otherwise by a line."""
    folder = tmp_path_factory.mktemp("older")
    return {name: _older(path, folder) for name, path in packages.items()}


@pytest.fixture(scope="module")
def system(tmp_path_factory) -> CleanSystem:
    made = CleanSystem(tmp_path_factory.mktemp("system") / "root")
    yield made
    made.close()


def _older(package: Path, folder: Path) -> Path:
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(
        re.sub(r"^Version: .*$", f"Version: {OLDER}", control.read_text(), flags=re.MULTILINE))
    for file in (tree / "usr/share").glob("postern-agent/broker/*"):
        file.write_text(OLD_LINE + file.read_text())
    made = folder / package.name.replace(package.name.split("_")[1], OLDER)
    subprocess.run(
        ["dpkg-deb", "-Zgzip", "-z1", "-b", tree, made], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return made
