"""Disks that are full, slow or broken, for one program alone."""

import shutil
import subprocess
from pathlib import Path

_FIU = (Path("/usr/lib/fiu/fiu_run_preload.so"), Path("/usr/lib/fiu/fiu_posix_preload.so"))
_SLOW = Path(__file__).with_name("slow_disk.c")
POINTS = ("posix/io/rw/pwrite", "posix/io/sync/fdatasync", "posix/io/sync/fsync")
ENOSPC, EIO = 28, 5


class SmallDisk:
    """A tmpfs of `kib` KiB, mounted in this process's own mount namespace."""

    def __init__(self, folder: Path, kib: int):
        self.folder = folder
        self.filler = folder / "filler"
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k,mode=0700",
                        "postern-torture", folder], check=True)

    def fill(self, but_kib: int) -> None:
        """Leaves so much free, whatever else is written meanwhile."""
        with self.filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(65536)) == 65536:
                    pass
            except OSError as error:
                if error.errno != ENOSPC:
                    raise
            file.truncate(max(file.tell() - 1024 * but_kib, 0))

    def clear(self) -> None:
        self.filler.unlink(missing_ok=True)

    def close(self) -> None:
        subprocess.run(["umount", "-l", self.folder], check=False)


class BrokenDisk:
    """libfiu in the program: its writes and syncs fail when told to."""

    def __init__(self, folder: Path):
        self.fifo = folder / "fiu"

    @staticmethod
    def is_there() -> bool:
        return all(p.exists() for p in _FIU) and shutil.which("fiu-ctrl") is not None

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": ":".join(str(p) for p in _FIU), "FIU_CTRL_FIFO": str(self.fifo),
                "FIU_ENABLE": ""}

    def fail(self, pid: int, point: str, error: int, probability: float) -> None:
        self._tell(pid, f"enable_random name={point},probability={probability:.3f},"
                        f"failinfo={error}")

    def heal(self, pid: int, point: str) -> None:
        self._tell(pid, f"disable name={point}")

    def _tell(self, pid: int, command: str) -> None:
        subprocess.run(["fiu-ctrl", "-f", self.fifo, "-c", command, str(pid)], check=True,
                       timeout=10, stdout=subprocess.DEVNULL)


class SlowDisk:
    """A preloaded library of our own: each sync takes so much longer."""

    def __init__(self, folder: Path):
        self.shim = folder / "slow_disk.so"
        compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
        self.is_there = compiler is not None and subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", self.shim, _SLOW, "-ldl"]
        ).returncode == 0

    def environment(self, milliseconds: int) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.shim), "SLOW_DISK_MS": str(milliseconds)}
