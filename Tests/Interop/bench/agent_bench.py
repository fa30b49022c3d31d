"""A real `postern-agent` between two real brokers, with the authority played above it."""

import json
import os
import secrets
import time
from pathlib import Path

from authority_records import Installation
from postern_contract import topics
from postern_contract.claim_url import ClaimURL

from .broker import Broker
from .evidence import Evidence
from .link import Link, Login, Message
from .program import Program, run
from .upstream import Upstream
from .waiting import until

_BUS_ACCESS = """\
topic readwrite #
pattern write postern/app/%u/#
pattern read postern/app/%u/#
pattern read postern/session
pattern read postern/health
"""


class AgentBench(Upstream):
    """Nothing is claimed yet; `live` is the short way to a board with a session."""

    def __init__(
        self, folder: Path, evidence: Evidence, programs: Path, *, policy: str | None = None,
        settings: str = "",
    ):
        super().__init__(folder, evidence)
        self.folder = folder
        self.evidence = evidence
        self.bus = _start_bus(folder / "bus")
        self.watcher = Link(
            Login(self.bus.port, "watcher"), subscribe=("#",), journal=evidence.journal,
            stays=True,
        ).open()
        self.config = _write_config(folder, self.bus.port, self.port, settings, policy)
        self.binary = programs / "postern-agent"
        self.agent = Program("agent", self._argv("run"), folder)
        self.apps: list[App] = []

    # The agent's own commands.

    def start(self) -> "AgentBench":
        self.agent.start()
        self.agent.wait_ready(lambda: "ready" in self.agent.log, "to say ready")
        return self

    def pair(self, *more: str) -> str:
        """The claim URL of `pair --json`; its secret is put down as evidence."""
        shown = json.loads(self.command("pair", *more, "--json", secret_output=True))
        assert shown["expiresAt"]
        self.evidence.add_secret("a claim secret", ClaimURL.parse(shown["url"]).claim_secret)
        return shown["url"]

    def command(self, *arguments: str, secret_output: bool = False) -> str:
        """The stdout of a command that must succeed."""
        done = run(self._argv(*arguments))
        title = "postern-agent " + " ".join(arguments)
        self.evidence.texts.append((f"stderr of {title}", done.stderr.encode()))
        if not secret_output:
            self.evidence.texts.append((f"stdout of {title}", done.stdout.encode()))
        assert done.returncode == 0, f"{title} ended with {done.returncode}:\n{done.stderr}"
        return done.stdout

    def _argv(self, *arguments: str) -> list:
        return [self.binary, "--config-dir", self.config, *arguments]

    # What stands on the bus and upstream.

    def live(self, **claim) -> Installation:
        """Paired, started, claimed, available on the bus and on its new broker password."""
        url = self.pair()
        self.start()
        board = self.authority.claim(url, **claim)
        self.authority.wait_live(board)
        self.wait_session("available")
        until(lambda: self.is_settled(board.iid), "the agent to come with its new password", 30)
        return board

    def is_settled(self, iid: str) -> bool:
        """Whether the agent subscribed its inbox since the upstream's access last changed."""
        since = self.broker.program.log.rpartition("Reloading config")[2]
        return f"Sending SUBACK to postern-{iid}" in since

    def wait_session(self, state: str, *, since: int = 0, timeout: float = 20.0) -> dict:
        """The body of the first `postern/session` after `since` with this state."""
        def says(message: Message) -> bool:
            return message.topic == topics.BUS_SESSION and _state(message.payload) == state

        found = self.watcher.wait(says, f"postern/session to say {state}", since=since,
                                  timeout=timeout)
        return json.loads(found.payload)

    def wait_status(self, iid: str, *, since: int = 0, timeout: float = 20.0, **members) -> dict:
        """The first upstream status after `since` that has these members."""
        def says(message: Message) -> bool:
            if message.topic != topics.status(iid):
                return False
            body = json.loads(message.payload)
            return all(body.get(k) == v for k, v in members.items())

        found = self.observer.wait(says, f"status {members}", since=since, timeout=timeout)
        return json.loads(found.payload)

    @property
    def session_now(self) -> dict | None:
        """What `postern/session` said last."""
        said = [m.payload for m in self.watcher.heard if m.topic == topics.BUS_SESSION]
        return json.loads(said[-1]) if said and said[-1] else None

    def app(self, name: str = "thermo") -> "App":
        self.apps.append(App(self, name))
        return self.apps[-1]

    def wait_data(self, board: Installation, payload: bytes, *, timeout: float = 20.0) -> Message:
        prefix = f"{topics.ROOT}/{board.iid}/data/"
        return self.observer.wait(
            lambda m: m.topic.startswith(prefix) and m.payload == payload,
            f"{payload[:40]!r} upstream", timeout=timeout,
        )

    def data_heard(self, since: int = 0) -> list[Message]:
        """All that any board published as data."""
        return [m for m in self.observer.heard[since:] if "/data/" in m.topic]

    def barrier(self, board: Installation) -> str:
        """Waits until the agent has taken all that was sent to it before.

        A revocation of a session that it does not hold is answered and otherwise ignored.
        """
        mark = self.authority.mark()
        sent = self.authority.send_revoked(board, "A" * 9 + secrets.choice("abcdef"), "barrier")
        answer = self.authority.wait_request("session.ended", since=mark, timeout=30)
        assert answer.body["re"] == sent["id"]
        assert answer.body["sessionId"] == sent["sessionId"]
        return sent["id"]

    def assert_conforms(self) -> None:
        """Everything that the agent said upstream opened, and was of the contract."""
        assert self.authority.unopened == []
        assert self.authority.malformed == []
        for request in self.authority.requests:
            assert abs(request.body["iat"] - time.time()) < 900

    def close(self) -> None:
        for app in self.apps:
            app.link.close()
        self.agent.close()
        self.watcher.close()
        self.bus.close()
        super().close()
        self.evidence.texts += [("argv or environment", t) for t in self.agent.traces]

    def logs(self) -> list[tuple[str, str]]:
        return [("postern-agent", self.agent.log), *super().logs()]


class App:
    """One program on the board, logged in at the bus under its own name."""

    def __init__(self, bench: AgentBench, name: str):
        self.name = name
        self.link = Link(
            Login(bench.bus.port, f"app-{name}-{secrets.token_hex(4)}", name),
            subscribe=(topics.app(name, "answers"), topics.app(name, "rejected")),
            journal=bench.evidence.journal,
        ).open()

    def write(
        self, class_name: str, payload: bytes = b'{"celsius":20.5}', *, op: str = "create",
        object_id: str | None = None, timeout: float = 15.0,
    ) -> dict:
        """The outcome of one write: `{"seq":n}` or the rejection."""
        levels = (op, class_name) if object_id is None else (op, class_name, object_id)
        return self.ask(topics.app(self.name, *levels), payload, timeout=timeout)

    def get(self, what: str) -> dict:
        return self.ask(topics.app(self.name, "get", what), b"")

    def ask(self, topic: str, payload: bytes, *, timeout: float = 15.0) -> dict:
        correlation = secrets.token_bytes(12)
        self.link.publish(
            topic, payload, response_topic=topics.app(self.name, "answers"),
            correlation=correlation,
        )
        answer = self.link.wait(
            lambda m: m.correlation == correlation, f"an answer to {topic}", timeout=timeout
        )
        return json.loads(answer.payload)

    def write_silently(self, class_name: str, payload: bytes = b"{}", **publish) -> None:
        """A write without a response topic: a rejection of it goes to `rejected`."""
        self.link.publish(topics.app(self.name, "create", class_name), payload, **publish)

    def wait_rejected(self, *, since: int = 0, timeout: float = 15.0) -> dict:
        rejected = topics.app(self.name, "rejected")
        return json.loads(
            self.link.wait_topic(rejected, since=since, timeout=timeout).payload
        )


def _state(payload: bytes) -> str | None:
    return json.loads(payload)["state"] if payload else None


def _start_bus(folder: Path) -> Broker:
    folder.mkdir(parents=True, exist_ok=True)
    access = folder / "access"
    access.write_text(_BUS_ACCESS)
    return Broker("bus", folder, "allow_anonymous true", f"acl_file {access}").start()


def _write_config(
    folder: Path, bus: int, uplink: int, settings: str, policy: str | None
) -> Path:
    config, state, runtime = folder / "etc", folder / "state", folder / "run"
    for made in (config, state, runtime):
        made.mkdir(mode=0o700)
    text = (
        f'name = "interop bench"\nstate_dir = "{state}"\nrun_dir = "{runtime}"\n{settings}\n'
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
