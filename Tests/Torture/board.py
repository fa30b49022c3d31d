"""The board under torture: the shipped local broker and a real agent, killed and started."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

from bench.evidence import Evidence
from bench.program import Program
from bench.shipped_board import ShippedBoard, ShippedBroker
from publisher import APPS


class Bus(ShippedBroker):
    """As `Devices/linux-generic` ships it, but for a log of every message."""

    def _write(self) -> None:
        super()._write()
        config = self.folder / "mosquitto.conf"
        is_wordy = "TORTURE_LOG" in os.environ
        quiet = "log_type error\nlog_type warning\nlog_type notice"
        if not is_wordy:
            config.write_text(config.read_text().replace("log_type all", quiet))

    def restart(self) -> None:
        """In order: what waits for the agent is on disk meanwhile."""
        self.program.stop()
        self.start()


class Board(ShippedBoard):
    """`deaths` are ends of the agent that nobody asked for."""

    port = 0

    def __init__(self, folder: Path, evidence: Evidence, programs: Path, uplink: int):
        self.folder, self.evidence, self.port = folder, evidence, uplink
        self.bus = Bus(folder / "bus", ["postern-agent", *APPS]).start()
        self.config = self._write_config(folder)
        self.binary = programs / "postern-agent"
        self.agent = Program("agent", self._argv("run"), folder)
        self.logins = [self.app_login(name) for name in APPS]
        # What of agent.toml this run has otherwise.
        self.settings: dict[str, str] = {}
        self.deaths: list[str] = []
        self.kills = self.terms = 0
        self.longest_stop = 0.0
        self._begun = 0.0

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def run_with(self, environment: dict[str, str]) -> None:
        """The agent gets this environment at its next starts.

        libfaketime sets a variable in the first program it is in, which moves the environment
        away from where Swift looks for the arguments. So that program is a second `env`.
        """
        pairs = [f"{name}={value}" for name, value in (self.settings | environment).items()]
        env = shutil.which("env")
        inner = [env] if any(name.startswith("FAKETIME") for name in environment) else []
        self.agent.argv = [env, *pairs, *inner, *map(str, self._argv("run"))]

    def start(self) -> "Board":
        self.agent.start()
        self._begun = time.monotonic()
        return self

    def start_ready(self) -> "Board":
        self.start()
        self.agent.wait_ready(lambda: "ready\n" in self.agent.log, "to say ready", 30)
        return self

    @property
    def is_dead(self) -> bool:
        """Whether it ended by itself; that is booked, and it can be started again."""
        process = self.agent.process
        if process is None or process.poll() is None:
            return False
        tail = "\n".join(self.agent.log.splitlines()[-6:])
        self.deaths.append(f"ended with {process.returncode} after "
                           f"{time.monotonic() - self._begun:.1f} s:\n{tail}")
        self.agent.kill()
        return True

    def kill(self) -> None:
        if not self.is_dead:
            self.agent.kill()
            self.kills += 1

    def stop(self) -> None:
        """SIGTERM; the time until it has ended counts, unless it was only about to start."""
        if self.is_dead or self.agent.process is None:
            return
        process, begun = self.agent.process, time.monotonic()
        is_young = "ready\n" not in self.agent.log
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        finally:
            span = time.monotonic() - begun
            self.agent.kill()
        self.terms += 1
        if not is_young or process.returncode == 0:
            self.longest_stop = max(self.longest_stop, span)

    def end_somehow(self, draw: random.Random) -> None:
        """SIGKILL, and one time in eight SIGTERM; then it is started at once."""
        if draw.random() < 0.125:
            self.stop()
        else:
            self.kill()
        self.start()

    @staticmethod
    def copy_state(source: Path, target: Path) -> None:
        """All of it: a database and another's write-ahead log would be a broken one."""
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        os.chmod(target, 0o700)

    def close(self) -> None:
        self.agent.close()
        self.bus.close()
