"""A board exactly as `Devices/linux-generic` ships it: its broker's Unix socket, list and settings.

Only places are put in: where files lie, where the uplink is, and who may run the broker.
"""

import os
import re
import secrets
import shutil
import socket
import tempfile
from pathlib import Path

from .agent_bench import AgentBench
from .broker import hashed, mosquitto_path
from .evidence import Evidence
from .link import Link, Login
from .program import Program, free_port
from .upstream import Upstream
from .waiting import until

SHIPPED = Path(__file__).resolve().parents[3] / "Devices" / "linux-generic"


class ShippedBroker:
    """The shipped `mosquitto.conf` and `acl`, included as Debian's own configuration does."""

    def __init__(self, folder: Path, users: list[str]):
        self.folder = folder
        # Short, for a socket's path has 107 bytes at most.
        self.place = Path(tempfile.mkdtemp(prefix="bus-"))
        self.socket = self.place / "bus.sock"
        self.port = free_port()
        self.passwords = {user: secrets.token_urlsafe(12) for user in users}
        self._write()
        self.program = Program(
            "bus", [mosquitto_path(), "-c", folder / "mosquitto.conf"], folder)

    def start(self) -> "ShippedBroker":
        self.program.start()
        self.program.wait_ready(self._accepts, "its socket")
        return self

    def close(self) -> None:
        self.program.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def login(self, user: str, client_id: str) -> Login:
        return Login(0, client_id, user, self.passwords.get(user), self.socket)

    def _accepts(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self.socket)) == 0

    def _write(self) -> None:
        included = self.folder / "conf.d"
        included.mkdir(parents=True)
        places = {
            "/run/postern-bus/bus.sock": self.socket,
            "listener 1883 ": f"listener {self.port} ",
            "/etc/mosquitto/postern.passwords": self.folder / "passwords",
            "/etc/mosquitto/postern.acl": self.folder / "acl",
        }
        (included / "postern.conf").write_text(put_in(SHIPPED / "mosquitto.conf", places))
        shutil.copy(SHIPPED / "acl", self.folder / "acl")
        entries = [f"{user}:{hashed(password)}" for user, password in self.passwords.items()]
        (self.folder / "passwords").write_text("\n".join(entries) + "\n")
        lines = ["persistence true", f"persistence_location {self.folder}/", "log_dest stderr",
                 "log_type all", f"include_dir {included}"]
        if os.geteuid() == 0:
            lines.insert(0, "user root")
        (self.folder / "mosquitto.conf").write_text("\n".join(lines) + "\n")


class ShippedBoard(AgentBench):
    """An agent by the shipped `agent.toml` on the shipped broker; `users` may log in there."""

    def __init__(self, folder: Path, evidence: Evidence, programs: Path, *users: str):
        Upstream.__init__(self, folder, evidence)
        self.folder, self.evidence = folder, evidence
        self.bus = ShippedBroker(folder / "bus", ["postern-agent", *users]).start()
        self.config = self._write_config(folder)
        self.binary = programs / "postern-agent"
        self.agent = Program("agent", self._argv("run"), folder)
        self.apps = []
        self.watcher = self.login("postern-agent", subscribe=("postern/#",), stays=True)

    def app_login(self, name: str) -> Login:
        return self.bus.login(name, f"app-{name}-{secrets.token_hex(4)}")

    def login(self, user: str, *, client_id: str | None = None, **options) -> Link:
        """A connection of this user's, opened."""
        name = client_id or f"{user}-{secrets.token_hex(4)}"
        return Link(
            self.bus.login(user, name), journal=self.evidence.journal, **options).open()

    def client_ids(self) -> set[str]:
        """Those that the agent has come with, as the broker's own log has them."""
        found = re.findall(r"as (\S+) \(p5[^)]*u'postern-agent'\)", self.bus.program.log)
        return {name for name in found if name != self.watcher.login.client_id}

    def wait_bus_client(self, client_id: str) -> None:
        until(lambda: client_id in self.client_ids(), f"{client_id} at the bus")

    def _write_config(self, folder: Path) -> Path:
        config, state, runtime = folder / "etc", folder / "state", folder / "run"
        for made in (config, state, runtime):
            made.mkdir(mode=0o700)
        password = config / "bus-password"
        password.write_text(self.bus.passwords["postern-agent"] + "\n")
        os.chmod(password, 0o600)
        text = put_in(SHIPPED / "agent.toml", {
            '"/var/lib/postern"': f'"{state}"', '"/run/postern"': f'"{runtime}"',
            "/run/postern-bus/bus.sock": self.bus.socket,
            "/etc/postern/bus-password": password,
            "mqtts://broker.example:8883": f"mqtt://127.0.0.1:{self.port}",
            'ca_file = "/etc/postern/ca.pem"': "",
        })
        (config / "agent.toml").write_text(text)
        os.chmod(config / "agent.toml", 0o640)
        return config


def put_in(path: Path, places: dict) -> str:
    """The file's text with each of these places, which must stand in it, replaced."""
    text = path.read_text()
    for old, new in places.items():
        assert old in text, f"{path.name} does not have {old}"
        text = text.replace(old, str(new))
    return text
