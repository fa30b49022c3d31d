"""The simulated board: its own broker behind a recorder, the agent, and the vitals program."""

import json
import os
import secrets
import shutil
import string
from pathlib import Path

import programs
from ledger import Ledger
from programs import Program, StepFailed, write_private
from recorder import Direct, Heard, Recorder

_HERE = Path(__file__).resolve().parent.parent
_AGENT, _APP = "postern-agent", "vitals"
# The app of Devices/APPS.md, which starts nothing here.
_FIRST = "thermo"


class Board:
    """The constructor makes folders and files, and starts nothing. Without `captures`, no traffic
    is recorded."""

    def __init__(self, folder: Path, binaries: Path, uplink: Recorder | Direct,
                 captures: Path | None):
        self.folder = folder
        self.uplink = uplink
        self.config, self.state = folder / "etc", folder / "state"
        self.logins = folder / "logins"
        for made in (folder, self.config, self.state, folder / "run", folder / "broker",
                     self.logins):
            made.mkdir(mode=0o700)
        broker_port = programs.free_port()
        self.bus = Recorder("the board's broker", broker_port, captures / "board.jsonl") \
            if captures else Direct(broker_port)
        self.passwords = {name: secrets.token_urlsafe(24) for name in (_AGENT, _APP, _FIRST)}
        self._write_files(broker_port)
        self.broker = Program(
            "board-mosquitto",
            [_mosquitto(), "-c", folder / "broker" / "mosquitto.conf"], folder)
        self._binary = binaries / "postern-agent"
        self.agent = Program(
            "postern-agent", [self._binary, "--config-dir", self.config, "run"], folder)
        self.ledger = Ledger(folder / "vitals-ledger.jsonl")
        self.app: Program | None = None

    # Starting and asking.

    def start_broker(self) -> None:
        self.broker.start().wait(lambda: programs.listens(self.bus.target), "it listens")

    def start_agent(self) -> None:
        self.agent.start().wait(lambda: "ready" in self.agent.said, "it says ready")

    def command(self, *arguments: str, ok: tuple = (0,)) -> str:
        """Runs a command of the agent. Returns its stdout."""
        return programs.run([self._binary, "--config-dir", self.config, *arguments],
                            self.folder / "postern-agent-commands.log", ok=ok)

    def status(self) -> dict:
        """The output of `postern-agent status`; its exit status may be 3, 4 or 5."""
        out = self.command("status", "--json", ok=(0, 3, 4, 5))
        with (self.folder / "postern-agent-commands.out").open("a") as kept:
            kept.write(out)
        return json.loads(out)

    def vitals(self, *arguments: object) -> Program:
        """Starts the vitals program; it appends to its ledger."""
        self.app = Program(_APP, self.vitals_command + list(arguments), self.folder)
        return self.app.start()

    def run_vitals(self, *arguments: object, seconds: float = 60) -> None:
        """Runs the vitals program to its end: every write then has its outcome."""
        self.finish(self.vitals(*arguments), seconds)

    def finish(self, app: Program, seconds: float = 60) -> None:
        programs.until(lambda: app.status is not None, f"{app.name} to end", seconds, app.log,
                       self.agent.log)
        if app.status:
            raise StepFailed(f"{self.ledger.tally.unanswered} writes got no answer",
                             app.log, self.agent.log)

    @property
    def vitals_command(self) -> list:
        return [_HERE / "vitals", "--login", self.logins, "--ledger", self.ledger.path]

    def wait_available(self) -> None:
        programs.until(lambda: self.status().get("state") == "available",
                       "the board to have its session", 20, self.agent.log)

    # What the bus has said.

    def session_notices(self, since: int = 0) -> list[tuple[Heard, dict]]:
        """The messages of the agent on `postern/session`, in order."""
        return [(h, json.loads(p.payload)) for h, p in self.bus.messages(since)
                if h.upward and p.topic == "postern/session" and p.payload]

    def wait_session(self, state: str, since: int = 0, seconds: float = 20) -> tuple[Heard, dict]:
        return programs.until(
            lambda: next(((h, n) for h, n in self.session_notices(since)
                          if n["state"] == state), None),
            f"postern/session to say {state}", seconds, self.agent.log)

    # Its files.

    def _write_files(self, broker_port: int) -> None:
        broker = self.folder / "broker"
        password_file = write_private(
            self.config / "bus-password", self.passwords[_AGENT] + "\n")
        fill = {
            "port": broker_port, "folder": broker, "bus": self.bus.port,
            "uplink": self.uplink.port, "state": self.state, "run": self.folder / "run",
            "password_file": password_file,
            "user": "user root" if os.geteuid() == 0 else "",
        }
        for name, target in (("agent.toml", self.config), ("policy.toml", self.config),
                             ("mosquitto.conf", broker), ("acl", broker)):
            text = string.Template((_HERE / name).read_text()).safe_substitute(fill)
            write_private(target / name, text, 0o640)
        accounts = "".join(f"{name}:{password}\n" for name, password in self.passwords.items())
        write_private(broker / "passwords", accounts)
        programs.run(["mosquitto_passwd", "-U", broker / "passwords"], self.folder / "setup.log")
        login = (f"-h 127.0.0.1\n-p {self.bus.port}\n"
                 f"-u {_APP}\n-P {self.passwords[_APP]}\n")
        for client in ("mosquitto_pub", "mosquitto_sub", "mosquitto_rr"):
            write_private(self.logins / client, login)
        write_private(self.logins / f"{_FIRST}.password", self.passwords[_FIRST] + "\n")


def _mosquitto() -> str:
    found = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not found:
        raise StepFailed("mosquitto is not installed; install it with `make deps`")
    return found
