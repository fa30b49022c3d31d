"""A prepared claim, played: its file, its login at the broker, and what boards ask with it."""

import json
import secrets
import time
import uuid
from pathlib import Path

from bench.agent_bench import AgentBench
from bench.waiting import until
from postern_contract import derivation, sealed, topics
from postern_contract.base64url import decode, encode
from postern_contract.claim_url import ClaimURL


class PreparedClaim:
    """One for `bench`, whose broker lets its board in from the start."""

    def __init__(self, bench: AgentBench, **members):
        """`members` replace those of the file (None takes one out)."""
        self.bench = bench
        self.id = str(uuid.uuid4())
        self.secret = secrets.token_bytes(32)
        self.password = derivation.broker_password(self.secret, self.id)
        self.psk = derivation.claim_psk(self.secret, self.id)
        for label, value in [("a prepared claim's secret", self.secret), ("its key", self.psk),
                             ("its broker password", self.password)]:
            bench.evidence.add_secret(label, value)
        self.open()
        file = {
            "v": 1, "id": self.id, "secret": encode(self.secret), "name": "barn-1",
            "broker": f"mqtt://127.0.0.1:{bench.port}",
            "sealKey": encode(bench.authority.seal_key.public), "authority": "Player",
            "exp": int(time.time()) + 86400,
        } | members
        self.file = {k: v for k, v in file.items() if v is not None}

    @property
    def topic(self) -> str:
        return topics.outbox(self.id)

    def open(self) -> None:
        self.bench.authority.door.access.admit(self.id, self.password, [f"write {self.topic}"])

    def end(self) -> None:
        self.bench.authority.door.access.remove(self.id)

    def write(self, path: Path, mode: int = 0o600) -> Path:
        path.write_text(json.dumps(self.file))
        path.chmod(mode)
        return path

    @property
    def payloads(self) -> list[bytes]:
        return [m.payload for m in self.bench.observer.heard if m.topic == self.topic]

    def requests(self, since: int = 0) -> list[dict]:
        """What boards asked with it, opened as the contract says, with the claim secret in it."""
        return [self._opened(payload) for payload in self.payloads[since:]]

    def _opened(self, payload: bytes) -> dict:
        mine = self.bench.authority.seal_key
        request = sealed.open_psk(payload, self.topic, mine, self.psk, self.id)
        claim = sealed.open_auth(
            json.dumps(request["claim"]).encode(), self.topic, mine, decode(request["deviceKey"]))
        return request | claim

    def wait_request(self, since: int = 0) -> dict:
        return until(lambda: self.requests(since), "a join request", 60)[0]

    def url(self, request: dict) -> str:
        """The claim URL of the board that asked: from here on all is as after a scan."""
        claim = ClaimURL(request["installationId"], decode(request["deviceKey"]),
                         decode(request["claimSecret"]), request["boardName"])
        return str(claim)

    def forget(self) -> None:
        """Ends the agent, and takes the join requests out of what the player could not open."""
        self.bench.agent.close()
        heard = set(self.payloads)
        authority = self.bench.authority
        authority.unopened = [p for p in authority.unopened if p not in heard]
