"""A clean Debian in a folder, made once for each release and copied for each use.

`debootstrap` makes it, with systemd and nothing of ours; a tar of it is kept in `.build` for the
next run. Called as a program, this file makes those that are not there. Commands run in it in namespaces of their own, so that no mount and no process outlives
them.
"""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".build" / "systems"
# The releases of Debian that the packages are for, and the one whose mosquitto is 2.1.
SUITES = ["bookworm", "trixie"]
NEXT = "forky"
# What a board's image has beside the essential packages.
INCLUDED = "systemd,systemd-sysv,dbus,ca-certificates"
SCRIPTS = Path("/usr/share/debootstrap/scripts")
# Long enough for a slow mirror; a test that hangs ends by it.
PATIENCE = 900
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
    "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def release() -> str:
    """The code name of this machine's Debian."""
    text = Path("/etc/os-release").read_text()
    return re.search(r"^VERSION_CODENAME=(\S+)$", text, re.MULTILINE)[1]


def mirror() -> str:
    """Where this machine has its own packages from."""
    for path in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        text = path.read_text() if path.is_file() else ""
        found = re.search(rf"^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+{release()}\s", text, re.MULTILINE)
        for stanza in re.split(r"\n\s*\n", text):
            named = re.search(rf"^Suites:.*\b{release()}(?:\s|$)", stanza, re.MULTILINE)
            found = found or named and re.search(r"^URIs:\s*(\S+)", stanza, re.MULTILINE)
        if found:
            return found[1]
    return "http://deb.debian.org/debian"


def made_once(suite: str) -> Path:
    """The tar of a clean system of a release of Debian."""
    tar = KEPT / f"{suite}.tar"
    KEPT.mkdir(parents=True, exist_ok=True)
    # Tests of two files may want it at once.
    with (KEPT / f"{suite}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not tar.exists():
            _make(suite, tar)
    return tar


def _make(suite: str, tar: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="postern-system-")) / "root"
    # A debootstrap older than a release makes it as it makes sid.
    script = [] if (SCRIPTS / suite).exists() else [SCRIPTS / "sid"]
    try:
        subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={INCLUDED}", suite, folder,
             mirror(), *script], check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
        # It is thrown away: nothing in it has to outlive a power cut.
        (folder / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n")
        # A mirror may be a copy of a day long ago.
        (folder / "etc/apt/apt.conf.d/any-date").write_text(
            'Acquire::Check-Valid-Until "false";\n')
        subprocess.run(["chroot", folder, "apt-get", "update", "-q"], env=ENVIRONMENT,
                       check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
        whole = tar.with_suffix(f".{os.getpid()}.tar")
        subprocess.run(["tar", "-C", folder, "--numeric-owner", "-cf", whole, "."], check=True)
        whole.rename(tar)
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


class CleanSystem:
    """One copy. Nothing in it runs between two commands, not even systemd."""

    def __init__(self, folder: Path, suite: str = release()):
        self.folder = folder
        self.suite = suite
        folder.mkdir()
        subprocess.run(
            ["tar", "-C", folder, "--numeric-owner", "-xf", made_once(suite)], check=True)
        # No services in a folder: what Debian's own image builders put there.
        self.policy = folder / "usr/sbin/policy-rc.d"
        self.policy.write_text("#!/bin/sh\nexit 101\n")
        self.policy.chmod(0o755)

    def close(self) -> None:
        shutil.rmtree(self.folder)

    def command(self, argv: list) -> list[str]:
        """One that runs in the system: its own mounts, its own processes, all gone with it."""
        words = [str(word) for word in argv]
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--",
                "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"',
                str(self.folder), *words]

    def run(self, *argv, succeeds: bool = True, text: str | None = None) -> str:
        """What it said, both streams in one; `succeeds` is whether it must."""
        done = subprocess.run(
            self.command(argv), env=ENVIRONMENT, text=True, input=text or "",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)
        assert (done.returncode == 0) == succeeds, (
            f"{' '.join(str(word) for word in argv)}: {done.returncode}\n{done.stdout}")
        return done.stdout

    def install(self, *packages) -> str:
        """Files of this machine, or names of Debian's packages."""
        place = self.folder / "packages"
        place.mkdir(exist_ok=True)
        named = []
        for package in packages:
            if isinstance(package, Path):
                shutil.copy(package, place)
            named.append(f"/packages/{package.name}" if isinstance(package, Path) else package)
        return self.run("apt-get", "install", "-y", "-q", "--no-install-recommends",
                        "--allow-downgrades", *named)

    def path(self, inside: str) -> Path:
        return self.folder / inside.lstrip("/")

    def read(self, inside: str) -> str:
        return self.path(inside).read_text()

    def has(self, inside: str) -> bool:
        return os.path.lexists(self.path(inside))

    def mode(self, inside: str) -> str:
        """As `0640 root:postern`."""
        return self.run("stat", "-c", "%04a %U:%G", inside).strip()

    def files(self, *folders: str) -> set[str]:
        """Every name below these."""
        return set(self.run("find", *folders, "-xdev").split("\n"))


if __name__ == "__main__":
    for each in dict.fromkeys([release(), *SUITES, NEXT]):
        made_once(each)
