"""A machine of its own under a real systemd: this machine's /usr, everything else empty.

`systemd-nspawn --volatile=yes` boots it without a network; what is to be done there is a shell
script, whose words are read when it has powered the machine off.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

# systemd 252 wants a pure cgroup2 tree, whatever this machine has: one in a mount namespace.
_BOOT = """\
umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit 99
group=/sys/fs/cgroup/postern-units.$$
mkdir -p $group && echo $$ > $group/cgroup.procs || exit 99
exec systemd-nspawn "$@"
"""

_PROOF = """\
[Unit]
Requires=basic.target
After=basic.target
[Service]
Type=oneshot
Environment=HOME=/root
ExecStart=/bin/sh -c '/bin/sh /proof/script >/proof/out 2>&1; systemctl --force poweroff'
"""


class BootedMachine:
    """`files` are put into it, by their places there; `folders` are seen read-only."""

    def __init__(self):
        if os.geteuid() != 0 or not shutil.which("systemd-nspawn"):
            pytest.skip("only root can boot a machine, and with systemd-nspawn")
        if not Path("/usr/lib/systemd/systemd").exists():
            pytest.skip("there is no systemd to boot")
        self.place = Path(tempfile.mkdtemp(prefix="boot-"))
        self.proof = self.place / "proof"
        self.proof.mkdir()
        self._binds: list[str] = [f"--bind={self.proof}:/proof"]
        self.file("/etc/systemd/system/proof.service", _PROOF)

    def file(self, place: str, text: str) -> None:
        source = self.place / f"file-{len(self._binds)}"
        source.write_text(text)
        self.show(source, place)

    def show(self, source: Path, place: str | None = None) -> None:
        self._binds.append(f"--bind-ro={source}:{place or source}")

    def run(self, script: str, timeout: float) -> str:
        """What the script said; fails when the machine does not power itself off in time."""
        (self.proof / "script").write_text(script)
        argv = ["unshare", "-m", "--propagation", "private", "bash", "-c", _BOOT, "boot",
                "--register=no", "--keep-unit", f"--machine={self.place.name.replace('_', '-')}",
                "--directory=/", "--volatile=yes", "--private-network", "--console=pipe",
                *self._binds, "--boot", "--", "--unit=proof.service"]
        words = self._boot(argv, timeout)
        out = self.proof / "out"
        if not out.exists():
            pytest.skip(f"no machine can be booted here: {words[-400:]}")
        return out.read_text(errors="replace")

    def _boot(self, argv: list[str], timeout: float) -> str:
        """What nspawn said. Its machine ends with it: the second SIGTERM waits for nothing."""
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, env=os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"})
        for patience in (timeout, 1, 10):
            try:
                return process.communicate(timeout=patience)[1]
            except subprocess.TimeoutExpired:
                print(f"the machine did not power itself off within {patience:g} s")
                process.terminate()
        process.kill()
        return process.communicate()[1]

    def close(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
