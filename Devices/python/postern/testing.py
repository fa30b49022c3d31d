"""An agent in memory, to test a `postern.App` without a broker, by the real rules of a `policy.toml`.

>>> with postern.testing.Agent("policy.toml") as agent:
...     my_program.main()           # every postern.App in here writes to `agent`
>>> assert agent.records[0].object == {"celsius": 21.5}

The rules are those of the real `postern-agent policy explain`, which must be installed. A board or
a broker is not needed. Rates are not counted.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple, Type, Union

from . import _app
from ._errors import Refused, Unavailable
from ._link import Link

__all__ = ["Agent", "Record"]

_WRITE = re.compile(r"postern/app/([^/]+)/(create|update|delete)/([^/]+)(?:/([^/]+))?")
_AVAILABLE = {
    "state": "available", "validatedAt": 0,
    "session": {"objectId": "TestSessio", "user": "TestUserId", "restricted": True},
}
Policy = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Record:
    """A write that the agent accepted."""

    seq: int
    app: str
    op: str
    class_name: str
    object_id: Optional[str]
    payload: bytes

    @property
    def object(self) -> Any:
        """The payload as JSON."""
        return json.loads(self.payload)


class Agent:
    """While it is entered, each `postern.App` and `postern.aio.App` that is made writes to it."""

    def __init__(
        self, policy: Optional[Policy] = None, *, scope: Optional[Policy] = None,
        program: str = "postern-agent",
    ):
        """`policy` is a file like `/etc/postern/policy.toml`; without it only the built-in rules
        apply. `scope` is a file with a session's scope as JSON. Raises ValueError if the policy or
        the scope is malformed, and FileNotFoundError without the program."""
        #: What was accepted, in order.
        self.records: List[Record] = []
        #: False: nothing is answered, as when the agent is stopped.
        self.is_answering = True
        self._policy = None if policy is None else Path(policy).resolve()
        self._scope = [] if scope is None else ["--scope", str(Path(scope).resolve())]
        self._program = program
        self._lock = threading.Lock()
        self._answered = threading.Condition()
        self._answers: Dict[str, bytes] = {}
        self._keys: Dict[Tuple[str, str], int] = {}
        self._links: "Set[_MemoryLink]" = set()
        self._notice: Mapping[str, Any] = _AVAILABLE
        self._before: Optional[Callable[..., Link]] = None
        self.explain("app", "create", "Any", b"{}")

    def explain(self, app: str, op: str, class_name: str, payload: bytes) -> Dict[str, Any]:
        """The decision about a write, as `postern-agent policy explain --json` prints it."""
        with tempfile.TemporaryDirectory() as folder:
            policy = self._policy or Path(folder, "policy.toml")
            if self._policy is None:
                # The same as no file. Without one, the command asks a running agent.
                policy.write_text('default = "allow"\n')
            done = subprocess.run(
                [self._program, "policy", "explain", "--config-dir", folder, "--json",
                 "--policy", policy, *self._scope, "--payload", "-", "--", app, op,
                 *([class_name] if class_name else [])],
                input=payload, capture_output=True, timeout=60)
        if done.returncode != 0:
            raise ValueError(done.stderr.decode(errors="replace").strip())
        found: Dict[str, Any] = json.loads(done.stdout)
        return found

    # Commands.

    def command(self, app: str, content: Any, *, timeout: float = 30.0) -> Any:
        """Sends a command to an app, as a person would, and returns its answer.

        Raises `Refused` if the policy does not allow it, and `Unavailable` without an app that
        takes commands, or without its answer in time.
        """
        payload = json.dumps(content).encode()
        found = self.explain(app, "command", "", payload)
        if found["decision"] != "allow":
            raise Refused({name: found[name] for name in ("code", "error", "rule", "field")
                           if found.get(name) is not None})
        link = next((one for one in list(self._links) if one.takes(app)), None)
        if link is None:
            raise Unavailable("no app of this name takes commands")
        command = str(uuid.uuid4())
        link.hear(f"postern/app/{app}/command", {
            "id": command, "deadline": math.ceil(time.time() + timeout), "command": content})
        with self._answered:
            if not self._answered.wait_for(lambda: command in self._answers, timeout):
                raise Unavailable("the app has not answered")
            return json.loads(self._answers.pop(command))

    def _take_answer(self, command: str, payload: bytes) -> None:
        with self._answered:
            self._answers[command] = payload
            self._answered.notify_all()

    # The session.

    def end_session(self, reason: str = "revoked", *, final: bool = True) -> None:
        """`unclaimed` is no session yet, and `offline` with `final=False` may come back."""
        code = 206 if reason == "unclaimed" else 209
        ending = {} if code == 206 else {"final": final}
        self._say({"state": "unavailable", "reason": reason, "code": code, **ending})

    def begin_session(self) -> None:
        """There is a session, as there is at first."""
        self._say(_AVAILABLE)

    def __enter__(self) -> "Agent":
        self._before, _app.connect = _app.connect, self._connect
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        assert self._before is not None
        _app.connect = self._before

    # What the apps' connections do.

    def _connect(self, name: str, bus: Any, username: str, password: Any) -> Link:
        return _MemoryLink(self, name, bus, username, lambda: None)

    def _say(self, notice: Mapping[str, Any]) -> None:
        with self._lock:
            self._notice = notice
            links = list(self._links)
        for link in links:
            link.hear("postern/session", notice)

    def _answer(self, topic: str, payload: bytes, key: str) -> Dict[str, Any]:
        match = _WRITE.fullmatch(topic)
        assert match is not None, topic
        app, op, class_name, object_id = match.groups()
        with self._lock:
            known = self._keys.get((app, key))
            if known is not None:
                return {"seq": known}
            if self._notice["state"] != "available":
                ended = {name: self._notice[name] for name in ("code", "final")
                         if name in self._notice}
                return {"error": "there is no session", "rule": "builtin:session", **ended}
            found = self.explain(app, op, class_name, payload)
            if found["decision"] != "allow":
                return {name: found[name] for name in ("code", "error", "rule", "field")
                        if found.get(name) is not None}
            seq = len(self.records) + 1
            self.records.append(Record(seq, app, op, class_name, object_id, payload))
            self._keys[app, key] = seq
            return {"seq": seq}


class _MemoryLink(Link):
    """The connection of an app, with this in place of paho's client."""

    def __init__(self, agent: Agent, *arguments: Any):
        self._agent = agent
        super().__init__(*arguments)

    def _make_client(self) -> Any:
        return self

    def hear(
        self, topic: str, body: Mapping[str, Any], correlation: Optional[bytes] = None,
    ) -> None:
        properties = SimpleNamespace(CorrelationData=correlation)
        payload = json.dumps(body).encode()
        self._received(None, None, SimpleNamespace(
            topic=topic, payload=payload, properties=properties))

    # What a link asks of paho's client.

    def connect_async(self, *_arguments: Any, **_options: Any) -> None:
        self._connected(self, None, None, 0)

    def subscribe(self, topic: str, **_options: Any) -> None:
        pass

    def loop_start(self) -> None:
        with self._agent._lock:
            self._agent._links.add(self)
            notice = self._agent._notice
        self.hear("postern/session", notice)

    def takes(self, app: str) -> bool:
        """Whether this is an app of that name with a handler for commands."""
        return self._name == app and self._commander is not None

    def publish(
        self, topic: str, payload: bytes, _qos: int, _retain: bool, asked: Any = None,
    ) -> None:
        if asked is None:
            return self._agent._take_answer(topic.rpartition("/")[2], payload)
        if not self._agent.is_answering:
            return
        key = dict(asked.UserProperty)["key"]
        try:
            answer = self._agent._answer(topic, payload, key)
        except Exception as error:
            answer = {"code": 1, "error": f"postern-agent has failed: {error}", "rule": ""}
        self.hear(asked.ResponseTopic, answer, asked.CorrelationData)

    def disconnect(self) -> None:
        pass

    def loop_stop(self) -> None:
        with self._agent._lock:
            self._agent._links.discard(self)
