"""What the tests of the packages share: the packages of `make deb`, an older build of them, a
release made of them, and clean systems to put them in."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clean_system import NEXT, ROOT, SUITES, CleanSystem, release

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
def sign_key(tmp_path_factory) -> Path:
    """A file with the secret part of a gpg key that signs nothing but this run's release."""
    folder = tmp_path_factory.mktemp("key")
    home = folder / "gnupg"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", home, "--batch", "--quiet", "--passphrase", ""]
    try:
        subprocess.run([*gpg, "--quick-generate-key", "Postern tests", "ed25519"], check=True)
        subprocess.run([*gpg, "--armor", "--output", folder / "secret.asc",
                        "--export-secret-keys"], check=True)
    finally:
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=True)
    return folder / "secret.asc"


@pytest.fixture(scope="session")
def dist(packages: dict[str, Path], sign_key: Path, tmp_path_factory) -> Path:
    """What `make release` makes of the packages that are there, signed."""
    folder = tmp_path_factory.mktemp("release") / "dist"
    assemble(folder, "--sign-key", sign_key)
    return folder


def assemble(folder: Path, *options) -> None:
    made = sorted({path.parent for path in (ROOT / ".build").glob("deb*/*.deb")})
    subprocess.run([sys.executable, "-B", ROOT / "Devices/release/assemble", folder, *made,
                    *options], check=True, stdout=subprocess.DEVNULL)


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


def in_releases(*suites: str) -> list:
    """Parameters of a test that goes through several releases of Debian; this machine's own is
    the short run."""
    return [pytest.param(suite, marks=[] if suite == release() else [pytest.mark.other_release])
            for suite in suites]


@pytest.fixture(scope="module", params=in_releases(*SUITES, NEXT))
def guest(request, tmp_path_factory) -> CleanSystem:
    """A clean system of each release, whose mosquitto is 2.0.11, 2.0.21 and 2.1."""
    made = CleanSystem(tmp_path_factory.mktemp("guest") / "root", request.param)
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
