"""A TPM 2.0 in software: swtpm on two neighbouring ports of loopback."""

import socket
import subprocess
from pathlib import Path

from .program import free_port
from .waiting import until


class Chip:
    """`folder` is the chip itself: what it keeps when its power is off."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.port = free_port(2)
        self.process: subprocess.Popen | None = None

    @property
    def transport(self) -> str:
        return f"swtpm:host=127.0.0.1,port={self.port}"

    def start(self) -> "Chip":
        place = f"type=tcp,bindaddr=127.0.0.1,port={self.port}"
        control = f"type=tcp,bindaddr=127.0.0.1,port={self.port + 1}"
        self.process = subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.folder}", "--server", place,
             "--ctrl", control, "--flags", "not-need-init,startup-clear"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: _listens(self.port + 1), "swtpm to listen")
        return self

    def close(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
