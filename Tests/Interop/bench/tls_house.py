"""An authority as `init --tls` makes it, and boards and people who come to it by TLS alone."""

import json
import os
import socket
import ssl
import subprocess
from pathlib import Path

from .agent_board import AgentBoard
from .evidence import Evidence
from .program import Program, accepts, free_port, run
from .waiting import until

ADMIN = "ada"


class TLSHouse:
    """Initialised and served; `settings` are variables such as `POSTERN_BROKER_CLIENT_CA_FILE`."""

    def __init__(self, folder: Path, evidence: Evidence, programs: Path,
                 settings: dict[str, str] | None = None):
        self.folder, self.evidence, self.programs = folder, evidence, programs
        self.http_port, self.port = free_port(), free_port()
        self.config, self.state = folder / "authority", folder / "state"
        self.url = f"https://localhost:{self.http_port}"
        self.environment = {
            "HOME": str(folder), "POSTERN_STATE_DIR": str(self.state),
            "POSTERN_HTTP_LISTEN": f"127.0.0.1:{self.http_port}",
            "POSTERN_HTTP_PUBLIC_URL": self.url,
            "POSTERN_BROKER_LISTEN": f"127.0.0.1:{self.port}",
            "POSTERN_BROKER_ADVERTISE": f"mqtts://localhost:{self.port}",
            "POSTERN_SESSION_HEARTBEAT": "1s",
        } | (settings or {})
        self.password_file = folder / "password"
        self.password_file.write_text("an-administrators-password")
        os.chmod(self.password_file, 0o600)
        evidence.add_secret("the administrator's password", self.password_file.read_text())
        evidence.ours.add(self.password_file)
        evidence.folders.append(folder)
        made = self.must("init", "--admin", ADMIN, "--password-file", self.password_file,
                         "--tls", "--host", "localhost", "--name", "TLS house")
        self.fingerprint = made.stdout.strip()
        self.ca_file = self.state / "tls" / "ca.pem"
        self.server = Program("authority", self._authority("serve"), folder, self.environment)
        self.boards: list[TLSBoard] = []
        self.programs_running: list[Program] = []
        self.start()

    def start(self) -> None:
        self.server.start()
        self.server.wait_ready(lambda: "ready" in self.server.log.splitlines(), "ready", 60)

    # The commands.

    def authority(self, *arguments) -> subprocess.CompletedProcess:
        return self._kept(run(self._authority(*arguments), timeout=180, env=self.environment))

    def must(self, *arguments) -> subprocess.CompletedProcess:
        done = self.authority(*arguments)
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}:\n{done.stderr}"
        return done

    def cli(self, *arguments, profile: str = "profile") -> subprocess.CompletedProcess:
        return self._kept(run(self._cli(*arguments, profile=profile), timeout=180))

    def login(self, *more, profile: str = "profile") -> subprocess.CompletedProcess:
        return self.cli("login", "--username", ADMIN, "--password-file", self.password_file,
                        *more, profile=profile)

    def running(self, name: str, *arguments, profile: str = "profile") -> Program:
        program = Program(name, self._cli(*arguments, profile=profile), self.folder)
        self.programs_running.append(program.start())
        return program

    # What the servers show.

    def shown(self, port: int) -> dict:
        """The server's certificate, verified by the CA's file under the name `localhost`."""
        context = ssl.create_default_context(cafile=str(self.ca_file))
        with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as wrapped:
                return wrapped.getpeercert() | {"version": wrapped.version()}

    # Boards.

    def board(self, name: str, **options) -> "TLSBoard":
        self.boards.append(TLSBoard(self, name, **options))
        return self.boards[-1]

    def close(self) -> None:
        for program in self.programs_running:
            program.close()
        for board in self.boards:
            board.close()
        self.server.close()

    def logs(self) -> list[tuple[str, str]]:
        boards = [entry for board in self.boards for entry in board.logs()]
        return [("postern-authority", self.server.log), *boards,
                *((p.name, p.log) for p in self.programs_running)]

    def _kept(self, done: subprocess.CompletedProcess) -> subprocess.CompletedProcess:
        self.evidence.texts.append((str(done.args[:6]), (done.stdout + done.stderr).encode()))
        return done

    def _authority(self, *arguments) -> list:
        return [self.programs / "postern-authority", "--config-dir", self.config, *arguments]

    def _cli(self, *arguments, profile: str) -> list:
        return [self.programs / "postern", "--authority", self.url, "--profile-dir",
                self.folder / profile, *arguments]


class TLSBoard(AgentBoard):
    """A board whose uplink is the house's broker, or another address, over TLS."""

    def __init__(self, house: TLSHouse, name: str, *, uri: str | None = None,
                 uplink: tuple[str, ...] | None = None, **options):
        """`uplink` are lines of `[uplink]` beside its uri."""
        folder = house.folder / name
        folder.mkdir()
        super().__init__(folder, house.evidence, house.programs, 1, name=name, **options)
        self.house = house
        self.set_uplink(uri or f"mqtts://localhost:{house.port}",
                        *(uplink or (f'ca_file = "{house.ca_file}"',)))

    def set_uplink(self, uri: str, *lines: str) -> None:
        path = self.config / "agent.toml"
        head, _, rest = path.read_text().partition("[uplink]")
        _, _, tail = rest.partition("[claim]")
        more = "".join(f"{line}\n" for line in lines)
        path.write_text(f'{head}[uplink]\nuri = "{uri}"\n{more}[claim]{tail}')
        os.chmod(path, 0o640)

    def live(self, *, profile: str = "profile") -> "TLSBoard":
        """Paired, started and claimed, with a session."""
        url = self.pair()
        self.start()
        claim = self.house.running(f"claim-{self.folder.name}", "claim", url, "--json",
                                   profile=profile)
        until(lambda: not claim.is_running, "the claim to end", 60)
        assert claim.process.returncode == 0, claim.log
        self.wait_session("available", timeout=60)
        until(self.learned.exists, "the board to come by what it learned", 60)
        until(lambda: "connected to the upstream broker" in
              self.agent.log.rpartition("provisioned by")[2], "its new connection", 60)
        self.wait_online()
        return self

    @property
    def learned(self) -> Path:
        """The CA that came with the provisioning."""
        return self.folder / "state" / "uplink-ca.pem"

    def wait_online(self, timeout: float = 60) -> None:
        until(lambda: self.status()["uplink"] == "connected", "the uplink", timeout)

    def wait_log(self, text: str, timeout: float = 60) -> str:
        until(lambda: text in self.agent.log, f"{text} in the agent's log", timeout)
        return self.agent.log


def stub(*options: str, folder: Path) -> Program:
    """`openssl s_server` on a free port, which does a handshake and no MQTT."""
    port = free_port()
    program = Program(
        f"s_server-{port}", ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-quiet",
                             *options], folder).start()
    program.port = port
    return program.wait_ready(lambda: accepts(port), "its port")
