"""The agent's tarball on a system without its package: what it needs, what it puts where, and
what it leaves. The tests are steps, in this order."""

import subprocess

import pytest

LIBRARIES = ["libmosquitto1", "libssl3", "libqrencode4"]
MODES = {
    "/etc/postern": "0755 root:root",
    "/var/lib/postern": "0700 postern:postern",
    "/usr/local/bin/postern-agent": "0755 root:root",
    "/usr/local/bin/postern-agent-app": "0755 root:root",
    "/etc/systemd/system/postern-agent.service": "0644 root:root",
    "/etc/systemd/system/postern-agent-claim.service": "0644 root:root",
    "/etc/systemd/system/postern-agent-prove.service": "0644 root:root",
    "/etc/systemd/system/postern-agent-prove.timer": "0644 root:root",
    "/etc/tmpfiles.d/postern-agent.conf": "0644 root:root",
}
WATCHED = ["/etc", "/usr", "/var/lib/postern"]


@pytest.fixture(scope="module")
def unpacked(system, dist):
    architecture = system.run("dpkg", "--print-architecture").strip()
    tarball = next(dist.glob(f"postern-agent-*-linux-{architecture}.tar.gz"))
    subprocess.run(["tar", "-C", system.folder, "-xzf", tarball], check=True)
    system.path(f"/{tarball.name.removesuffix('.tar.gz')}").rename(system.path("/unpacked"))
    return system


@pytest.fixture(scope="module")
def before(unpacked) -> set[str]:
    """What is there with the libraries alone, and with the `kill` that the unit's reload runs."""
    unpacked.install("procps", *LIBRARIES)
    return unpacked.files("/etc", "/usr")


def test_it_names_the_libraries_that_are_missing(unpacked):
    said = unpacked.run("/unpacked/install.sh", succeeds=False)
    assert "libmosquitto.so.1 is missing: install libmosquitto1" in said
    assert not unpacked.has("/usr/local/bin/postern-agent")


def test_it_refuses_another_machine(unpacked, before):
    # A program whose header names another processor.
    program = unpacked.path("/unpacked/files/usr/bin/postern-agent")
    whole = program.read_bytes()
    other = {0x3E: 0xB7, 0xB7: 0x3E}[whole[18]]
    program.write_bytes(whole[:18] + bytes([other]) + whole[19:])
    assert "this is for a 64-bit" in unpacked.run("/unpacked/install.sh", succeeds=False)
    program.write_bytes(whole)


def test_it_refuses_an_older_libc(unpacked, before):
    older = unpacked.path("/older/getconf")
    older.parent.mkdir()
    older.write_text('#!/bin/sh\n[ "$1" = LONG_BIT ] && echo 64 || echo glibc 2.31\n')
    older.chmod(0o755)
    said = unpacked.run("sh", "-c", "PATH=/older:$PATH /unpacked/install.sh", succeeds=False)
    assert "this needs glibc 2.36 or later; this system has 2.31" in said


def test_it_installs(unpacked, before):
    unpacked.run("/unpacked/install.sh")
    assert unpacked.run("postern-agent", "--version").startswith("postern-agent ")
    assert {path: unpacked.mode(path) for path in MODES} == MODES
    assert "postern-apps" in unpacked.run("id", "-nG", "postern").split()
    unit = unpacked.read("/etc/systemd/system/postern-agent.service")
    assert "ExecStart=/usr/local/bin/postern-agent run" in unit
    enabled = unpacked.run("systemctl", "is-enabled", "postern-agent.service",
                           "postern-agent-prove.timer")
    assert enabled == "enabled\nenabled\n"
    unpacked.run("systemd-analyze", "verify", "--man=no", "postern-agent.service")


def test_installing_it_again_changes_nothing(unpacked, before):
    there = unpacked.files(*WATCHED)
    unpacked.run("/unpacked/install.sh")
    assert unpacked.files(*WATCHED) == there
    assert {path: unpacked.mode(path) for path in MODES} == MODES


def test_removing_it_leaves_state_and_configuration(unpacked, before):
    unpacked.path("/var/lib/postern/kept").touch()
    unpacked.path("/etc/postern/agent.toml").touch()
    unpacked.run("/unpacked/install.sh", "--remove")
    assert unpacked.has("/var/lib/postern/kept") and unpacked.has("/etc/postern/agent.toml")
    left = {path for path in unpacked.files("/etc", "/usr") - before
            if path.startswith("/usr/local/bin/") or "postern" in path}
    assert left == {"/etc/postern", "/etc/postern/agent.toml"}


def test_an_image_gets_its_files_without_users(unpacked, before):
    unpacked.run("/unpacked/install.sh", "--prefix", "/usr", "--destdir", "/image")
    assert unpacked.mode("/image/usr/bin/postern-agent") == "0755 root:root"
    assert "ExecStart=/usr/bin/" in unpacked.read("/image/etc/systemd/system/postern-agent.service")
    assert not unpacked.has("/image/var")
    unpacked.run("/unpacked/install.sh", "--prefix", "/usr", "--destdir", "/image", "--remove")
    assert unpacked.run("find", "/image", "-type", "f") == ""
