"""An independent board: it pairs, takes its session, beats, publishes and takes its leave.

It plays fair; a test that wants otherwise seals messages of its own with `seal` and `send`.
"""

import hashlib
import json
import secrets
import threading
import time
from dataclasses import dataclass, field

from bench import link, specification
from bench.evidence import Evidence
from bench.waiting import until
from postern_contract import access_token, base64url, derivation, messages, names, sealed, topics
from postern_contract.access_token import BadToken
from postern_contract.claim_url import ClaimURL
from postern_contract.codes import INVALID_SESSION_TOKEN, VALIDATION, ContractError
from postern_contract.x25519 import KeyPair

UNANSWERED_AFTER = 10


@dataclass
class Held:
    """What a taken provisioning left on the board."""

    provision: dict = field(repr=False)
    digest: bytes
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    scope: dict | None

    @property
    def session(self) -> dict:
        return self.provision["session"]

    @property
    def session_token(self) -> str:
        return self.provision["sessionToken"]


class BoardPlayer:
    """One installation. Nothing of it is on disk: a new one is a new board."""

    def __init__(self, port: int, evidence: Evidence, name: str = "greenhouse"):
        self.port = port
        self.name = name
        self.iid = names.new_iid()
        self.key = KeyPair()
        self.evidence = evidence
        self.claim_secret: bytes | None = None
        self.claim_url = self.pair()
        self._derived = ""
        self.held: Held | None = None
        self.ended: str | None = None
        self.accepts = True
        self.says_farewell = True
        self.confirms = True
        self.broker_password: str | None = None
        self.opened: list[dict] = []
        self.unopened: list[bytes] = []
        self.faults: list[str] = []
        self.link: link.Link | None = None
        self.clock_offset = 0
        self._new_password_worked = False
        self._highest_seq = 0
        self._last_update: str | None = None
        self._unheard_acceptance: dict | None = None
        self._lock = threading.RLock()
        self._seq = 0
        self.renew_derived_password()

    # Pairing and the broker.

    def pair(self) -> str:
        """A new claim secret and its URL; session and login stay as they are."""
        self.claim_secret = secrets.token_bytes(32)
        self.evidence.add_secret("a claim secret", self.claim_secret)
        return str(ClaimURL(self.iid, self.key.public, self.claim_secret, self.name))

    def renew_derived_password(self) -> None:
        """From here the password of the present claim secret is the one to begin with."""
        self._derived = derivation.broker_password(self.claim_secret, self.iid)
        self.broker_password, self._new_password_worked = None, False
        self.evidence.add_secret("a derived broker password", self._derived)

    def login(self, password: str | None = None) -> link.Login:
        return link.Login(self.port, f"postern-{self.iid}", self.iid, password or self._derived)

    def connect(self, timeout: float = 30.0) -> "BoardPlayer":
        """Tries its passwords in turn, backing off, until somebody has let it in.

        A board that hears on the way that its session is over may be out again by then: its
        farewell is what removes its login.
        """
        pauses = iter((0.1, 0.2, 0.4))
        lives = self.ended is None

        def let_in() -> bool:
            for password in self._passwords():
                try:
                    self._open(password)
                    return True
                except (link.Refused, OSError):
                    if lives and self.ended is not None:
                        return True
            time.sleep(next(pauses, 0.5))
            return False

        until(let_in, f"{self.name} to be let in at the broker", timeout)
        return self

    def settle(self, timeout: float = 30.0) -> "BoardPlayer":
        """Connects anew until its new password, if it was given one, has worked."""
        def settled() -> bool:
            self.connect(timeout)
            return self.broker_password is None or self._new_password_worked

        until(settled, f"the new password of {self.name} to work", timeout)
        return self

    def disconnect(self) -> None:
        if self.link is not None:
            self.link.close()

    def _passwords(self) -> list[str]:
        """The new one first; the derived one only until the new one has worked once."""
        new = [] if self.broker_password is None else [self.broker_password]
        return new if self._new_password_worked else [*new, self._derived]

    def _open(self, password: str) -> None:
        self.disconnect()
        will = (topics.status(self.iid), json.dumps(self.status("down")))
        self.link = link.Link(
            self.login(password), subscribe=(), will=will, on_message=self._heard,
            journal=self.evidence.journal,
        ).open()
        self._new_password_worked |= password == self.broker_password
        granted = self.link.subscribe(topics.inbox(self.iid))
        assert granted < 0x80, f"its own inbox was refused with 0x{granted:02x}"
        self.publish_status()
        with self._lock:
            acceptance = self._unheard_acceptance
        if acceptance is not None:
            self.link.publish(topics.outbox(self.iid), self.seal(acceptance))

    # What it says.

    def seal(self, message: dict) -> bytes:
        authority = self.held.provision["authority"]["sealKey"]
        topic = topics.outbox(self.iid)
        return sealed.seal_auth(message, topic, base64url.decode(authority), self.key)

    def send(self, message: dict, *, wait: bool = True) -> bytes:
        """Again at a new connection where the broker cuts this one before it has answered."""
        payload = self.seal(message)

        def is_said() -> bool:
            if wait and not self.link.is_up:
                self.connect()
            try:
                self.link.publish(topics.outbox(self.iid), payload, wait=wait)
            except ConnectionError:
                return False
            return True

        until(is_said, f"the broker to take what {self.name} says", 60)
        return payload

    def new_request(self, type_: str, **members) -> dict:
        return messages.new(type_, at=time.time() + self.clock_offset, **members)

    def ask(self, type_: str, *, timeout: float = 60.0, **members) -> dict:
        """One request until its reply, repeated with the same id while there is none.

        An error in the reply is raised as `ContractError`.
        """
        request = self.new_request(type_, **members)
        reply = self.exchange(request, timeout=timeout)
        if "error" in reply:
            raise ContractError(reply["error"]["code"], reply["error"]["error"])
        return reply

    def exchange(self, request: dict, *, timeout: float = 60.0) -> dict:
        """The reply to this request, whatever it says."""
        last_sent = 0.0

        def answered() -> dict | None:
            nonlocal last_sent
            if time.monotonic() - last_sent > UNANSWERED_AFTER:
                last_sent = time.monotonic()
                self.send(request | {"iat": int(time.time() + self.clock_offset)})
            return self.reply_to(request["id"])

        return until(answered, f"a reply to {request['type']}", timeout)

    def reply_to(self, request_id: str) -> dict | None:
        return next((m for m in self.opened if m.get("re") == request_id), None)

    def beat(self, **members) -> dict:
        return self.ask("session.authenticate", sessionToken=self.held.session_token, **members)

    def refresh(self) -> dict:
        """One rotation: the new pair is held once the reply is here."""
        reply = self.ask("session.refresh", refreshToken=self.held.refresh_token)
        self.held.access_token = reply["accessToken"]
        self.held.refresh_token = reply["refreshToken"]
        self.evidence.add_secret("an access token", reply["accessToken"])
        self.evidence.add_secret("a refresh token", reply["refreshToken"])
        return reply

    def status(self, status: str = "up") -> dict:
        session = "available" if self.held and not self.ended else "unavailable"
        return {"status": status, "session": session, "version": "interop 1",
                "since": int(time.time())}

    def publish_status(self) -> int:
        return self.link.publish(
            topics.status(self.iid), json.dumps(self.status()), retain=True
        )

    def publish_data(
        self, class_name: str, op: str, payload: bytes, *, app: str = "thermo",
        object_id: str | None = None,
    ) -> int:
        """The reason code of the PUBACK: below 0x80 the broker took it."""
        self._seq += 1
        user = {"sid": self.held.session["objectId"], "seq": str(self._seq),
                "ts": str(int(time.time() * 1000)), "app": app}
        topic = topics.data(self.iid, class_name, op, object_id)
        return self.link.publish(topic, payload, user=user)

    # What it hears.

    def wait_held(self, timeout: float = 60.0, *, after: str | None = None) -> Held:
        """Provisioned, with another session than `after`."""
        return self._wait(
            lambda: self.held and self.held.session["objectId"] != after and self.held,
            f"{self.name} to be provisioned", timeout)

    def wait_opened(self, type_: str, *, since: int = 0, timeout: float = 30.0) -> dict:
        return self._wait(
            lambda: next((m for m in self.opened[since:] if m["type"] == type_), None),
            f"{self.name} to hear {type_}", timeout)

    def _wait(self, condition, what: str, timeout: float):
        """Connects again, as every board does: where the broker asks, a changed login ends the
        connection that is there, and on a busy machine the board may have come back before."""
        def found():
            heard = condition()
            if not heard and self.link is not None and not self.link.is_up:
                self.connect(timeout)
            return heard

        return until(found, what, timeout, lambda: f"connected: {self.link and self.link.is_up}, "
                     f"opened {len(self.opened)}, unopened {len(self.unopened)}")

    def _heard(self, message: link.Message) -> None:
        if not message.payload:
            return
        try:
            body = self._open_payload(message.payload)
            messages.check_for_board(body)
        except (sealed.CannotOpen, ContractError):
            self.unopened.append(message.payload)
            return
        self.faults += specification.faults("AuthorityMessage", body)
        with self._lock:
            self._take(body, message.payload)

    def _open_payload(self, payload: bytes) -> dict:
        """By the pinned authority's key, or a provisioning by the claim secret alone."""
        topic = topics.inbox(self.iid)
        if sealed.Envelope.decode(payload).mode == "auth":
            if self.held is None:
                raise sealed.CannotOpen("no authority is pinned yet")
            authority = base64url.decode(self.held.provision["authority"]["sealKey"])
            return sealed.open_auth(payload, topic, self.key, authority)
        if self.held and hashlib.sha256(payload).digest() == self.held.digest:
            return self.held.provision
        if self.claim_secret is None:
            raise sealed.CannotOpen("the claim secret has served")
        psk = derivation.claim_psk(self.claim_secret, self.iid)
        body = sealed.open_psk(payload, topic, self.key, psk, self.iid)
        if body.get("type") != "provision":
            raise sealed.CannotOpen("only a provisioning is sealed with a psk")
        return body

    def _take(self, body: dict, payload: bytes) -> None:
        mode = sealed.Envelope.decode(payload).mode
        if "seq" in body and mode == "auth":
            if body["seq"] <= self._highest_seq:
                if body["id"] == self._last_update:
                    self._confirm(body)
                return
            self._highest_seq = body["seq"]
        if body["type"] == "provision":
            self._provision(body, payload)
        elif body["type"] == "session.revoked":
            self._revoked(body)
        elif body["type"] == "session.updated" and self.held:
            self.held.scope = body.get("scope", self.held.scope)
            self._last_update = body["id"]
            self._confirm(body)
        elif body["type"] == "reply":
            self._unheard_acceptance = None
        self.opened.append(body)

    def _confirm(self, body: dict) -> None:
        if self.confirms:
            self.send(messages.new("session.confirmed", re=body["id"],
                                   sessionId=body["session"]["objectId"]), wait=False)

    def _provision(self, body: dict, payload: bytes) -> None:
        digest = hashlib.sha256(payload).digest()
        if not self.accepts:
            return
        if self.held is None or self.held.digest != digest:
            error = self._objection(body)
            if error is not None:
                self.send_rejection(body, error)
                return
            self._hold(body, digest)
        acceptance = messages.new(
            "provision.accepted", re=body["id"], sessionId=body["session"]["objectId"]
        )
        self._unheard_acceptance = acceptance
        self.send(acceptance, wait=False)

    def _objection(self, body: dict) -> ContractError | None:
        if body["exp"] < time.time():
            return ContractError(VALIDATION, "the provisioning has expired")
        try:
            claims = access_token.verify(body["accessToken"], body["authority"]["signKeys"])
        except BadToken as error:
            return ContractError(INVALID_SESSION_TOKEN, str(error))
        if claims["iid"] != self.iid or claims["cnf"]["kid"] != self.key.id:
            return ContractError(VALIDATION, "a token for another board")
        return None

    def send_rejection(self, body: dict, error: ContractError) -> None:
        rejection = messages.new("provision.rejected", re=body["id"], error=error.body)
        authority = base64url.decode(body["authority"]["sealKey"])
        topic = topics.outbox(self.iid)
        payload = sealed.seal_auth(rejection, topic, authority, self.key)
        self.link.publish(topic, payload, wait=False)

    def _hold(self, body: dict, digest: bytes) -> None:
        """Session, pinned authority and digest are stored; the claim secret is destroyed."""
        self.held = Held(
            body, digest, body["accessToken"], body["refreshToken"], body.get("scope")
        )
        self.ended, self.claim_secret, self._highest_seq = None, None, body["seq"]
        password = body.get("broker", {}).get("password")
        if password is not None:
            self.broker_password, self._new_password_worked = password, False
            self.evidence.add_secret("a broker password", password)
        self.evidence.add_secret("a session token", body["sessionToken"])
        self.evidence.add_secret("an access token", body["accessToken"])
        self.evidence.add_secret("a refresh token", body["refreshToken"])

    def _revoked(self, body: dict) -> None:
        if self.held and body["sessionId"] == self.held.session["objectId"]:
            self.ended = "revoked"
        if self.says_farewell:
            farewell = messages.new(
                "session.ended", re=body["id"], sessionId=body["sessionId"]
            )
            self.send(farewell, wait=False)
