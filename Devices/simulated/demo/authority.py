"""The authority with its embedded broker behind a recorder, and the administrator's commands."""

import json
import secrets
import string
from pathlib import Path

import programs
from board import _mosquitto
from ledger import Consumer
from programs import Program, write_private
from recorder import Direct, Recorder

_TEMPLATE = Path(__file__).resolve().parent.parent / "authority.toml"
ADMINISTRATOR = "ada"

# The authority starts the `mosquitto` that it finds; this one moves the listener aside, so that
# the recorder can stand where the authority and everybody else look for the broker.
_TAP = """\
#!/bin/sh
[ "$1" = -c ] || exit 64
sed 's/^listener [0-9]*/listener {port}/' "$2" > '{moved}' && exec '{mosquitto}' -c '{moved}'
"""


class Authority:
    """The constructor makes folders and files, and starts nothing. Without `captures`, no traffic
    is recorded."""

    def __init__(self, folder: Path, binaries: Path, captures: Path | None,
                 preset: str = "device"):
        self.folder = folder
        self.config, self.state = folder / "etc", folder / "state"
        self.profile = folder / "profile"
        for made in (folder, self.config, self.state, self.profile):
            made.mkdir(mode=0o700)
        broker_port = programs.free_port()
        self.http_port = programs.free_port()
        self._environment = {}
        if captures:
            self.broker = Recorder("the upstream broker", broker_port, captures / "upstream.jsonl")
            self._move_broker(broker_port)
        else:
            self.broker = Direct(broker_port)
        self.password = secrets.token_urlsafe(24)
        self.password_file = write_private(folder / "admin-password", self.password + "\n")
        write_private(self.config / "authority.toml", string.Template(
            _TEMPLATE.read_text()).substitute(
                state=self.state, http=self.http_port, broker=self.broker.port, preset=preset),
            0o640)
        self._binary, self._cli = binaries / "postern-authority", binaries / "postern"
        self.server = Program(
            "postern-authority", [self._binary, "--config-dir", self.config, "serve"], folder,
            self._environment)
        self.watch = Program("postern-watch", self.command_line("watch", "--json"), folder)
        self.consumer = Consumer(self.watch.output)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"

    @property
    def own_secrets(self) -> list[Path]:
        """The files that hold the administrator's secrets on purpose."""
        return [self.password_file, self.profile]

    # Starting and asking.

    def start(self) -> None:
        programs.run([self._binary, "--config-dir", self.config, "init", "--admin",
                      ADMINISTRATOR, "--password-file", self.password_file],
                     self.folder / "postern-authority-init.log")
        self.server.start().wait(
            lambda: programs.listens(self.http_port) and programs.listens(self.broker.target),
            f"it answers at {self.url} and its mosquitto listens", 30)

    def login(self) -> None:
        self.command("login", "--username", ADMINISTRATOR,
                     "--password-file", self.password_file)

    def command_line(self, *arguments: object) -> list:
        return [self._cli, "--authority", self.url, "--profile-dir", self.profile, *arguments]

    def command(self, *arguments: object, stdin: str = "") -> str:
        """Runs an administrator's command. Returns its stdout, which is kept for the search."""
        out = programs.run(self.command_line(*arguments), self.folder / "postern.log",
                           seconds=90, stdin=stdin)
        with (self.folder / "postern.out").open("a") as kept:
            kept.write(out)
        return out

    def rows(self, *arguments: object) -> list[dict]:
        """The rows of a list command's JSON."""
        answer = json.loads(self.command(*arguments, "--json"))
        return answer if isinstance(answer, list) else answer.get("results", [])

    @property
    def token(self) -> str:
        """The administrator's session token, from the profile that the login wrote."""
        return json.loads((self.profile / "profile.json").read_text())["sessionToken"]

    def _move_broker(self, port: int) -> None:
        tools = self.folder / "tools"
        tools.mkdir(mode=0o700)
        write_private(tools / "mosquitto", _TAP.format(
            port=port, moved=tools / "mosquitto.conf", mosquitto=_mosquitto()), 0o700)
        self._environment["PATH"] = f"{tools}:{programs.ENVIRONMENT.get('PATH', '/usr/bin:/bin')}"
