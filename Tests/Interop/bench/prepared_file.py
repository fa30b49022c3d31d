"""The file of a prepared claim, used as the contract says, and as it does not."""

import json

from board_player import BoardPlayer
from postern_contract import base64url, derivation, messages, sealed, topics
from postern_contract.x25519 import KeyPair

from . import specification
from .link import Link, Login


class PreparedFile:
    """What one board finds beside its card's other files."""

    def __init__(self, members: dict, port: int, evidence):
        self.members = members
        self.port = port
        self.evidence = evidence
        self.id = members["id"]
        self.secret = base64url.decode(members["secret"])
        self.seal_key = base64url.decode(members["sealKey"])
        evidence.add_secret("the secret of a prepared claim", members["secret"])
        evidence.add_secret("the password of a prepared claim", self.password)

    @property
    def password(self) -> str:
        return derivation.broker_password(self.secret, self.id)

    @property
    def outbox(self) -> str:
        return topics.outbox(self.id)

    def connect(self) -> Link:
        """By the login that may only ask to join. Raises `Refused`."""
        login = Login(self.port, f"postern-{self.id}", self.id, self.password)
        return Link(login, journal=self.evidence.journal).open()

    def request(self, board: BoardPlayer, topic: str | None = None,
                sealer: KeyPair | None = None) -> dict:
        """The part that only the device key can seal is sealed by `sealer` where one is given."""
        secret = {"claimSecret": base64url.encode(board.claim_secret)}
        claim = sealed.seal_auth(
            secret, topic or self.outbox, self.seal_key, sealer or board.key)
        request = messages.new(
            "claim.join", installationId=board.iid,
            deviceKey=base64url.encode(board.key.public),
            claim=json.loads(claim), boardName=board.name)
        assert specification.faults("BoardMessage", request) == []
        return request

    def sealed(self, board: BoardPlayer, *, under: "PreparedFile | None" = None,
               topic: str | None = None, sealer: KeyPair | None = None) -> bytes:
        """A join request of this board; under another file's secret where one is given."""
        by = under or self
        return sealed.seal_psk(
            self.request(board, topic, sealer), topic or self.outbox, self.seal_key,
            derivation.claim_psk(by.secret, by.id), by.id)

    def join(self, board: BoardPlayer, payload: bytes | None = None) -> bytes:
        """Asks once, and returns what was sent."""
        payload = payload or self.sealed(board)
        link = self.connect()
        try:
            assert link.publish(self.outbox, payload) < 0x80
        finally:
            link.close()
        return payload
