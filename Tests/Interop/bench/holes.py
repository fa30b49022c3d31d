"""A board's own broker that refuses all that it must, but for one hole."""

import os
import secrets
from pathlib import Path

from .broker import Broker, hashed

RIGHT = [
    "user postern-agent", "topic read postern/app/#", "topic write postern/#", "",
    "pattern write postern/app/%u/#", "pattern read postern/app/%u/#",
]
# What is put in place of, or beside, what is right; and the check that must tell of it.
HOLES = {
    "prove-bus-login": ("anybody is let in", None, "allow_anonymous true"),
    "prove-bus-list": ("there is no access list", [], None),
    "prove-bus-apps": ("the list does without the app's name",
                       [*RIGHT[:4], "pattern write postern/app/#"], None),
    "prove-bus-control": ("$CONTROL is open",
                          [*RIGHT, "pattern write $CONTROL/#"], None),
}
READING = [*RIGHT, "pattern read postern/app/#"]


class BusWithLogins:
    """A mosquitto with the agent's login and the prover's; the agent's files name both."""

    def __init__(self, bench, folder: Path, rules: list[str] | None = None,
                 more: str | None = None):
        folder.mkdir()
        logins = {name: secrets.token_urlsafe(16) for name in ("postern-agent", "postern-prove")}
        passwords, access = folder / "passwords", folder / "access"
        passwords.write_text("".join(f"{n}:{hashed(p)}\n" for n, p in logins.items()))
        access.write_text("\n".join(RIGHT if rules is None else rules) + "\n")
        settings = [f"password_file {passwords}", more or "allow_anonymous false"]
        if rules != []:
            settings.append(f"acl_file {access}")
        self.broker = Broker("guarded", folder, *settings).start()
        self._name_in(bench, logins)

    def _name_in(self, bench, logins: dict[str, str]) -> None:
        file = bench.config / "bus-password"
        for path, name in ((file, "postern-agent"),
                           (bench.config / "prove-password", "postern-prove")):
            path.write_text(logins[name] + "\n")
            os.chmod(path, 0o640)
            bench.evidence.add_secret(f"the password of {name}", logins[name])
            bench.evidence.ours.add(path)
        agent = bench.config / "agent.toml"
        agent.write_text(agent.read_text().replace(
            f'uri = "mqtt://127.0.0.1:{bench.bus.port}"',
            f'uri = "mqtt://127.0.0.1:{self.broker.port}"\nusername = "postern-agent"\n'
            f'password_file = "{file}"', 1))

    def close(self) -> None:
        self.broker.close()
