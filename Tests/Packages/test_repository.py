"""The release as apt's repository, in a clean system of each release of Debian: installed from as
a user does it, and refused where somebody has changed it."""

import shutil

import pytest

from conftest import NAMES

PLACE = "/srv/postern"
LINE = f"deb [signed-by={PLACE}/postern.asc] file:{PLACE} ./"
LIST = "/etc/apt/sources.list.d/postern.list"


# apt asks this repository alone, not the mirror, and every fault is one.
UPDATE = ["apt-get", "update", "-q", "-o", f"Dir::Etc::sourcelist={LIST}",
          "-o", "Dir::Etc::sourceparts=-", "-o", "APT::Get::List-Cleanup=0",
          "-o", "APT::Update::Error-Mode=any"]


@pytest.fixture(scope="module")
def added(guest, dist):
    """The system with the repository in its sources."""
    shutil.copytree(dist, guest.path(PLACE))
    guest.path(LIST).write_text(f"{LINE}\n")
    guest.run(*UPDATE)
    return guest


def test_apt_finds_the_packages_there(added, packages):
    for name, path in packages.items():
        version = path.name.split("_")[1]
        policy = added.run("apt-cache", "policy", name)
        assert f"Candidate: {version}" in policy and f"file:{PLACE}" in policy


def test_they_install(added, packages):
    added.run("apt-get", "install", "-y", "-q", "--no-install-recommends", *NAMES)
    for name, path in packages.items():
        assert added.run(name, "--version").split()[-1] == path.name.split("_")[1]
    assert added.run("dpkg", "--audit") == ""


def test_every_library_is_there(added):
    for name in NAMES:
        assert "not found" not in added.run("ldd", f"/usr/bin/{name}")


def test_a_changed_index_is_refused(added):
    index = added.path(f"{PLACE}/InRelease")
    whole = index.read_text()
    index.write_text(whole.replace("Label: Postern", "Label: Pastern"))
    said = added.run(*UPDATE, succeeds=False)
    index.write_text(whole)
    # gpgv's words, and those of Debian 13's sqv.
    assert "BADSIG" in said or "Message has been manipulated" in said
    added.run(*UPDATE)


def test_a_changed_package_is_refused(added):
    package = next(added.path(PLACE).glob("postern_*.deb"))
    whole = package.read_bytes()
    package.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    said = added.run("apt-get", "install", "-y", "-q", "--reinstall", "postern", succeeds=False)
    package.write_bytes(whole)
    assert "Hash Sum mismatch" in said
    added.run("apt-get", "install", "-y", "-q", "--reinstall", "postern")


def test_without_its_key_it_is_refused(added):
    added.path(LIST).write_text(f"deb file:{PLACE} ./\n")
    said = added.run(*UPDATE, succeeds=False)
    added.path(LIST).write_text(f"{LINE}\n")
    assert "NO_PUBKEY" in said or "Missing key" in said
    added.run(*UPDATE)
