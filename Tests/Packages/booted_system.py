"""A clean system as a machine: booted by its own systemd, on a loopback network of its own.

`systemd-nspawn` boots it. What it lacks of a real machine: a kernel of its own, hardware, and
the controllers that bound memory.
"""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from clean_system import ENVIRONMENT, PATIENCE, CleanSystem

# A tree of cgroups that is the second version alone, whatever this machine has, and one below it
# that the system is put in.
CGROUPS = """
    umount -R /sys/fs/cgroup 2>&-
    mount -t cgroup2 none /sys/fs/cgroup
"""
BOOT = f"""{CGROUPS}
    mkdir -p "/sys/fs/cgroup/$2" && echo $$ > "/sys/fs/cgroup/$2/cgroup.procs"
    exec systemd-nspawn --quiet --register=no --keep-unit --private-network --directory="$1" \\
        --machine="$2" --boot --console=pipe
"""
AFTERWARDS = f"""{CGROUPS}
    find "/sys/fs/cgroup/$2" -depth -type d -exec rmdir {{}} \\;
"""
PROBE = f"""{CGROUPS}
    mkdir "/sys/fs/cgroup/$1" && rmdir "/sys/fs/cgroup/$1"
"""
# A boot takes about three seconds; a busy machine needs more.
BOOT_PATIENCE = 120


def may_boot() -> bool:
    """Whether this machine lets anybody make what a booted system needs of it."""
    probe = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", shutil.which("sh") or "/bin/sh",
         "-c", PROBE, "sh", f"postern-probe-{os.getpid()}"], stderr=subprocess.DEVNULL)
    return probe.returncode == 0 and shutil.which("systemd-nspawn") is not None


class BootedSystem:
    """Commands run in it as root, beside its services."""

    def __init__(self, system: CleanSystem):
        self.system = system
        self.name = f"postern-{os.getpid()}"
        self.leader: int | None = None
        system.policy.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            self._in_own_mounts(BOOT), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"})
        try:
            self.wait(lambda: self._find_leader() and self._is_up(), "the boot", BOOT_PATIENCE)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Powers it off, or ends it."""
        if self.leader and self.process.poll() is None:
            # SIGRTMIN+4 to its first process is what `machinectl poweroff` sends.
            os.kill(self.leader, signal.SIGRTMIN + 4)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        subprocess.run(self._in_own_mounts(AFTERWARDS), check=False)

    def command(self, *argv) -> list[str]:
        return ["nsenter", f"--target={self.leader}", "--mount", "--uts", "--ipc", "--net",
                "--pid", "--root", "--wd", "--", *(str(word) for word in argv)]

    def attempt(self, *argv, text: str | None = None) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(*argv), env=ENVIRONMENT, text=True, input=text or "",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)

    def run(self, *argv, text: str | None = None) -> str:
        """Its results; words for people are shown if it fails."""
        done = self.attempt(*argv, text=text)
        assert done.returncode == 0, (
            f"{' '.join(str(word) for word in argv)}: {done.returncode}\n"
            f"{done.stdout}{done.stderr}\n{self.journal()}")
        return done.stdout

    def start(self, *argv) -> subprocess.Popen:
        """A program beside the next commands; it ends by itself, or with the system."""
        return subprocess.Popen(
            self.command(*argv), env=ENVIRONMENT, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def journal(self) -> str:
        """The last words of what matters here."""
        return self.attempt("journalctl", "--no-pager", "-q", "-n", "60", "-u", "mosquitto",
                            "-u", "postern-agent", "-u", "postern-authority").stdout

    def is_active(self, unit: str) -> bool:
        return self.attempt("systemctl", "is-active", unit).stdout.strip() == "active"

    def wait_active(self, unit: str) -> None:
        self.wait(lambda: self.is_active(unit), f"{unit} to be active", 60)

    def wait(self, is_true, what: str, patience: float) -> None:
        end = time.monotonic() + patience
        while not is_true():
            assert self.process.poll() is None, "the system has ended"
            assert time.monotonic() < end, (
                f"waited {patience} s for {what}\n{self.journal() if self.leader else ''}")
            time.sleep(0.1)

    def _is_up(self) -> bool:
        state = self.attempt("systemctl", "is-system-running").stdout.strip()
        return state in ("running", "degraded")

    def _find_leader(self) -> bool:
        """systemd-nspawn's child that is the first process of its own namespace."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for child in children.read_text().split() if children.exists() else []:
            try:
                status = Path(f"/proc/{child}/status").read_text()
                name = Path(f"/proc/{child}/comm").read_text().strip()
            except OSError:
                continue
            numbers = next(x for x in status.splitlines() if x.startswith("NSpid:")).split()
            if numbers[-1] == "1" and len(numbers) == 3 and name == "systemd":
                self.leader = int(child)
        return self.leader is not None

    def _in_own_mounts(self, script: str) -> list[str]:
        return ["unshare", "--mount", "--propagation", "private",
                shutil.which("sh") or "/bin/sh", "-c", script, "sh",
                str(self.system.folder), self.name]
