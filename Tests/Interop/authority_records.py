"""What an authority keeps about one installation, and how it lets its board in."""

import secrets
import time
from dataclasses import dataclass, field

from bench.broker import AccessFiles
from bench.evidence import Evidence
from postern_contract import access_token, derivation, names, refresh_token, topics
from postern_contract.access_token import SignKey
from postern_contract.claim_url import ClaimURL
from postern_contract.refresh_token import Generation
from postern_contract.x25519 import key_id

REDELIVERY_WINDOW = 600


@dataclass
class Login:
    """One session with its tokens, as a provisioning hands it out."""

    session: dict
    session_token: str = field(repr=False)
    generation: Generation = field(repr=False)
    access_token: str = field(repr=False)
    used: dict[int, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.session["objectId"]


@dataclass
class Installation:
    """A board, its claim, and the session that lives on it."""

    claim: ClaimURL
    user: dict
    scope: dict | None = None
    provision: dict | None = None
    provision_payload: bytes | None = field(default=None, repr=False)
    offered: Login | None = None
    login: Login | None = None
    revoked: str | None = None
    revocation_id: str | None = None
    last_seq: int = 0
    broker_password: str | None = field(default=None, repr=False)
    has_new_password: bool = False
    replies: dict[str, tuple[float, bytes]] = field(default_factory=dict)

    @property
    def iid(self) -> str:
        return self.claim.iid

    @property
    def is_let_in(self) -> bool:
        """Whether the broker knows this board by a login that it may keep."""
        return self.login is not None and self.revoked is None

    def forget_login(self) -> None:
        self.login, self.broker_password, self.has_new_password = None, None, False

    def next_seq(self) -> int:
        self.last_seq = max(self.last_seq + 1, int(time.time() * 1000))
        return self.last_seq

    def reply_to(self, request_id: str) -> bytes | None:
        """The sealed payload that this request got, for as long as it is kept."""
        at, payload = self.replies.get(request_id, (0.0, None))
        return payload if time.time() - at < REDELIVERY_WINDOW else None


@dataclass
class Mint:
    """Makes sessions and tokens; each secret that it makes is put down as evidence."""

    issuer: str
    sign_key: SignKey
    evidence: Evidence
    access_lifetime: int = 600
    server_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def login(self, claim: ClaimURL, user: dict, scope: dict | None) -> Login:
        session = {
            "objectId": names.new_session_id(), "user": user["objectId"], "restricted": True,
            "createdWith": {"action": "create", "authProvider": "postern"},
            "installationId": claim.iid, "createdAt": int(time.time()), "expiresAt": None,
        }
        token = names.new_session_token()
        self.evidence.add_secret("a session token", token)
        family = Generation(secrets.token_bytes(16), 0)
        return Login(session, token, family, self.access(session, claim, scope))

    def access(self, session: dict, claim: ClaimURL, scope: dict | None) -> str:
        claims = access_token.claims_for(
            session, issuer=self.issuer, device_kid=key_id(claim.device_key),
            iat=int(time.time()), lifetime=self.access_lifetime, scope=scope,
        )
        token = access_token.mint(claims, self.sign_key)
        self.evidence.add_secret("an access token", token)
        return token

    def refresh(self, generation: Generation) -> str:
        token = generation.token(self.server_key)
        self.evidence.add_secret("a refresh token", token)
        return token

    def refreshed(self, token: str) -> Generation | None:
        return refresh_token.verify(token, self.server_key)


@dataclass
class Door:
    """One client and one set of rules per board, at a broker with access files."""

    access: AccessFiles
    evidence: Evidence

    def admit(self, claim: ClaimURL) -> None:
        """Lets a claimed board in with the password that both sides derive."""
        password = derivation.broker_password(claim.claim_secret, claim.iid)
        self.evidence.add_secret("a derived broker password", password)
        self.evidence.add_secret("a claim secret", claim.claim_secret)
        self.access.admit(claim.iid, password, board_rules(claim.iid))

    def shrink(self, iid: str) -> None:
        """Leaves inbox, outbox and status: enough to say farewell."""
        self.access.set_rules(iid, board_rules(iid)[:3])

    def new_password(self) -> str:
        password = secrets.token_urlsafe(32)
        self.evidence.add_secret("a broker password", password)
        return password


def board_rules(iid: str) -> list[str]:
    return [
        f"read {topics.inbox(iid)}", f"write {topics.outbox(iid)}",
        f"write {topics.status(iid)}", f"write {topics.ROOT}/{iid}/data/#",
    ]
