"""A board as it stands in a house: its own broker, a real `postern-agent`, and programs."""

import json
import os
import secrets
from pathlib import Path

from postern_contract import topics
from postern_contract.claim_url import ClaimURL

from .broker import Broker
from .evidence import Evidence
from .link import Link, Login, Message
from .program import Program, run

_BUS_ACCESS = """\
topic readwrite #
topic read $SYS/broker/#
pattern write postern/app/%u/#
pattern read postern/app/%u/#
pattern read postern/session
pattern read postern/health
"""


class AgentBoard:
    """Its broker runs and a watcher hears all that is said there; the agent is not started."""

    def __init__(
        self, folder: Path, evidence: Evidence, programs: Path, uplink: int, *,
        policy: str | None = None, settings: str = "", name: str = "interop bench",
        agent_env: dict | None = None, bus: tuple[str, ...] = (),
    ):
        """`bus` are lines of its broker's configuration."""
        self.folder = folder
        self.evidence = evidence
        self.bus = _start_bus(folder / "bus", bus)
        self.watcher = Link(
            Login(self.bus.port, "watcher"), subscribe=("#",), journal=evidence.journal,
            stays=True,
        ).open()
        self.config = _write_config(folder, name, self.bus.port, uplink, settings, policy)
        self.binary = programs / "postern-agent"
        self.agent = Program("agent", self._argv("run"), folder, agent_env)
        self.apps: list[App] = []

    # The agent's own commands.

    def start(self) -> "AgentBoard":
        self.agent.start()
        self.agent.wait_ready(lambda: "ready" in self.agent.log, "to say ready")
        return self

    def pair(self, *more: str) -> str:
        """The claim URL of `pair --json`; its secret is put down as evidence."""
        shown = json.loads(self.command("pair", *more, "--json", secret_output=True))
        assert shown["expiresAt"]
        self.evidence.add_secret("a claim secret", ClaimURL.parse(shown["url"]).claim_secret)
        return shown["url"]

    def command(
        self, *arguments: str, secret_output: bool = False, ok: tuple[int, ...] = (0,),
        timeout: float = 60.0,
    ) -> str:
        """The stdout of a command that must end with a status of `ok`."""
        done = run(self._argv(*arguments), timeout=timeout)
        title = "postern-agent " + " ".join(arguments)
        self.evidence.texts.append((f"stderr of {title}", done.stderr.encode()))
        if not secret_output:
            self.evidence.texts.append((f"stdout of {title}", done.stdout.encode()))
        assert done.returncode in ok, f"{title} ended with {done.returncode}:\n{done.stderr}"
        return done.stdout

    def status(self) -> dict:
        """What `status` says; its exit status may say 3, 4 or 5."""
        return json.loads(self.command("status", "--json", ok=(0, 3, 4, 5)))

    def _argv(self, *arguments: str) -> list:
        return [self.binary, "--config-dir", self.config, *arguments]

    # What stands on the bus.

    def wait_session(self, state: str, *, since: int = 0, timeout: float = 60.0) -> dict:
        """The body of the first `postern/session` after `since` with this state."""
        return json.loads(self.wait_notice(state, since=since, timeout=timeout).payload)

    def wait_notice(self, state: str, *, since: int = 0, timeout: float = 60.0) -> Message:
        def says(message: Message) -> bool:
            return message.topic == topics.BUS_SESSION and _state(message.payload) == state

        return self.watcher.wait(
            says, f"postern/session to say {state}", since=since, timeout=timeout)

    @property
    def session_now(self) -> dict | None:
        """What `postern/session` said last."""
        said = [m.payload for m in self.watcher.heard if m.topic == topics.BUS_SESSION]
        return json.loads(said[-1]) if said and said[-1] else None

    def app(self, name: str = "thermo") -> "App":
        self.apps.append(App(self, name))
        return self.apps[-1]

    def app_login(self, name: str) -> Login:
        return Login(self.bus.port, f"app-{name}-{secrets.token_hex(4)}", name)

    def close(self) -> None:
        for app in self.apps:
            app.link.close()
        self.agent.close()
        self.watcher.close()
        self.bus.close()
        self.evidence.texts += [("argv or environment", t) for t in self.agent.traces]

    def logs(self) -> list[tuple[str, str]]:
        return [("postern-agent", self.agent.log)]


class App:
    """One program on the board, logged in at the bus under its own name."""

    def __init__(self, bench: AgentBoard, name: str):
        self.name = name
        self.link = Link(
            bench.app_login(name),
            subscribe=(topics.app(name, "answers"), topics.app(name, "rejected")),
            journal=bench.evidence.journal,
        ).open()

    def write(
        self, class_name: str, payload: bytes = b'{"celsius":20.5}', *, op: str = "create",
        object_id: str | None = None, key: str | None = None, timeout: float = 60.0,
    ) -> dict:
        """The outcome of one write: `{"seq":n}` or the rejection."""
        levels = (op, class_name) if object_id is None else (op, class_name, object_id)
        return self.ask(topics.app(self.name, *levels), payload, key=key, timeout=timeout)

    def get(self, what: str) -> dict:
        return self.ask(topics.app(self.name, "get", what), b"")

    def ask(
        self, topic: str, payload: bytes, *, key: str | None = None, timeout: float = 60.0,
    ) -> dict:
        correlation = self.send(topic, payload, key=key)
        answer = self.link.wait(
            lambda m: m.correlation == correlation, f"an answer to {topic}", timeout=timeout
        )
        return json.loads(answer.payload)

    def send(
        self, topic: str, payload: bytes, *, key: str | None = None, wait: bool = True,
    ) -> bytes:
        """Asks without waiting for the answer, which will bear the returned correlation."""
        correlation = secrets.token_bytes(12)
        self.link.publish(
            topic, payload, response_topic=topics.app(self.name, "answers"),
            correlation=correlation, user=None if key is None else {"key": key}, wait=wait,
        )
        return correlation

    def answer_to(self, correlation: bytes) -> dict | None:
        """What was answered to a `send` so far."""
        found = [m for m in self.link.heard if m.correlation == correlation]
        return json.loads(found[0].payload) if found else None

    def write_silently(self, class_name: str, payload: bytes = b"{}", **publish) -> None:
        """A write without a response topic: a rejection of it goes to `rejected`."""
        self.link.publish(topics.app(self.name, "create", class_name), payload, **publish)

    def wait_rejected(self, *, since: int = 0, timeout: float = 60.0) -> dict:
        rejected = topics.app(self.name, "rejected")
        return json.loads(
            self.link.wait_topic(rejected, since=since, timeout=timeout).payload
        )


def _state(payload: bytes) -> str | None:
    return json.loads(payload)["state"] if payload else None


def _start_bus(folder: Path, settings: tuple[str, ...]) -> Broker:
    folder.mkdir(parents=True, exist_ok=True)
    access = folder / "access"
    access.write_text(_BUS_ACCESS)
    return Broker(
        "bus", folder, "allow_anonymous true", f"acl_file {access}", *settings
    ).start()


def _write_config(
    folder: Path, name: str, bus: int, uplink: int, settings: str, policy: str | None
) -> Path:
    config, state, runtime = folder / "etc", folder / "state", folder / "run"
    for made in (config, state, runtime):
        made.mkdir(mode=0o700)
    text = (
        f'name = "{name}"\nstate_dir = "{state}"\nrun_dir = "{runtime}"\n{settings}\n'
        f'[bus]\nuri = "mqtt://127.0.0.1:{bus}"\n'
        f'[uplink]\nuri = "mqtt://127.0.0.1:{uplink}"\n[claim]\nexpires = "24h"\n'
    )
    _write_private(config / "agent.toml", text)
    if policy is not None:
        _write_private(config / "policy.toml", policy)
    return config


def _write_private(path: Path, text: str) -> None:
    path.write_text(text)
    os.chmod(path, 0o640)
