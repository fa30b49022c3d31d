"""A real `postern-agent` between two real brokers, with the authority played above it."""

import json
import secrets
import time
from pathlib import Path

from authority_records import Installation
from postern_contract import topics

from . import specification
from .agent_board import AgentBoard
from .evidence import Evidence
from .link import Message
from .upstream import Upstream
from .waiting import until


class AgentBench(AgentBoard, Upstream):
    """Nothing is claimed yet; `live` is the short way to a board with a session."""

    def __init__(self, folder: Path, evidence: Evidence, programs: Path, **options):
        """`options` are those of the board."""
        Upstream.__init__(self, folder, evidence)
        AgentBoard.__init__(self, folder, evidence, programs, self.port, **options)

    # What stands on the bus and upstream.

    def live(self, **claim) -> Installation:
        """Paired, started, claimed, available on the bus and on its new broker password."""
        url = self.pair()
        self.start()
        board = self.authority.claim(url, **claim)
        self.authority.wait_live(board)
        self.wait_session("available")
        until(lambda: self.is_settled(board.iid), "the agent to come with its new password", 60)
        return board

    def is_settled(self, iid: str) -> bool:
        """Whether the agent subscribed its inbox since the upstream's access last changed."""
        since = self.broker.program.log.rpartition("Reloading config")[2]
        return f"Sending SUBACK to postern-{iid}" in since

    def wait_status(self, iid: str, *, since: int = 0, timeout: float = 60.0, **members) -> dict:
        """The first upstream status after `since` that has these members."""
        def says(message: Message) -> bool:
            if message.topic != topics.status(iid):
                return False
            body = json.loads(message.payload)
            return all(body.get(k) == v for k, v in members.items())

        found = self.observer.wait(says, f"status {members}", since=since, timeout=timeout)
        return json.loads(found.payload)

    def wait_data(self, board: Installation, payload: bytes, *, timeout: float = 60.0) -> Message:
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
        sent = self.authority.send_revoked(board, "A" * 9 + secrets.choice("abcdef"), "barrier")
        answer = self.authority.wait_request(
            lambda r: r.type == "session.ended" and r.body["re"] == sent["id"], timeout=60)
        assert answer.body["sessionId"] == sent["sessionId"]
        return sent["id"]

    def assert_conforms(self) -> None:
        """Everything that the agent said upstream opened, and was of the contract."""
        assert self.authority.unopened == []
        assert self.authority.malformed == []
        for request in self.authority.requests:
            assert abs(request.body["iat"] - time.time()) < 900
        for message in [*self.observer.heard, *self.watcher.heard]:
            assert specification.clear_faults(message.topic, message.payload) == []

    def close(self) -> None:
        AgentBoard.close(self)
        Upstream.close(self)

    def logs(self) -> list[tuple[str, str]]:
        return [*AgentBoard.logs(self), *Upstream.logs(self)]
