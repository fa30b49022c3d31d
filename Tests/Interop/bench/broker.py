"""A real mosquitto on a free loopback port, and who may log in at it."""

import base64
import hashlib
import os
import secrets
import shutil
from pathlib import Path

from .program import Program, accepts, free_port
from .waiting import until

_ITERATIONS = 101


def mosquitto_path() -> str:
    found = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin")
    assert found, "mosquitto is not installed"
    return found


class Broker:
    """One mosquitto. `stop` and `start` keep the port, and with it the address others use."""

    def __init__(self, name: str, folder: Path, *settings: str):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.config = folder / f"{name}.conf"
        self.settings = settings
        self.port = free_port()
        self.program = Program(name, [mosquitto_path(), "-c", self.config], folder)

    def start(self) -> "Broker":
        self._write_config()
        self.program.start()
        self.program.wait_ready(lambda: accepts(self.port), f"port {self.port}")
        return self

    def stop(self) -> None:
        self.program.stop()

    def close(self) -> None:
        self.program.close()

    def reload(self) -> None:
        """Has the access files read again; done when this returns."""
        before = self.program.log.count("Reloading config")
        self.program.reload()
        until(
            lambda: self.program.log.count("Reloading config") > before,
            f"{self.program.name} to read its files again",
        )

    def _write_config(self) -> None:
        lines = [f"listener {self.port} 127.0.0.1", "log_dest stderr", "log_type all",
                 "max_queued_messages 100000", *self.settings]
        if os.geteuid() == 0:
            lines.append("user root")
        self.config.write_text("\n".join(lines) + "\n")


class AccessFiles:
    """A password file and an access list, which `broker` reads again at each change."""

    def __init__(self, folder: Path):
        self.passwords = folder / "passwords"
        self.lists = folder / "access"
        self.broker: Broker | None = None
        self._users: dict[str, tuple[str, list[str]]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._write()

    @property
    def settings(self) -> tuple[str, ...]:
        return ("allow_anonymous false", f"password_file {self.passwords}",
                f"acl_file {self.lists}")

    def admit(self, user: str, password: str, rules: list[str]) -> None:
        """Lets a user in; each rule is a line such as `write a/topic`."""
        self._users[user] = (hashed(password), rules)
        self._write()

    def set_password(self, user: str, password: str) -> None:
        self.admit(user, password, self._users[user][1])

    def set_rules(self, user: str, rules: list[str]) -> None:
        self._users[user] = (self._users[user][0], rules)
        self._write()

    def remove(self, user: str) -> None:
        self._users.pop(user, None)
        self._write()

    def withhold(self, user: str) -> tuple[str, list[str]]:
        """Keeps a user out until `readmit` is given what this returned."""
        entry = self._users[user]
        self.remove(user)
        return entry

    def readmit(self, user: str, entry: tuple[str, list[str]]) -> None:
        self._users[user] = entry
        self._write()

    def _write(self) -> None:
        entries = [f"{user}:{hashed}" for user, (hashed, _) in self._users.items()]
        self.passwords.write_text("\n".join(entries) + "\n")
        rules = [
            line for user, (_, lines) in self._users.items()
            for line in (f"user {user}", *(f"topic {rule}" for rule in lines), "")
        ]
        self.lists.write_text("\n".join(rules) + "\n")
        if self.broker and self.broker.program.is_running:
            self.broker.reload()


def hashed(password: str) -> str:
    """What mosquitto_passwd writes, without the password in an argv."""
    salt = secrets.token_bytes(12)
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ITERATIONS)
    encoded = (base64.b64encode(part).decode() for part in (salt, digest))
    return f"$7${_ITERATIONS}$" + "$".join(encoded)
