"""An independent authority: it lets boards in, provisions them and answers what they ask.

It plays fair unless a test scripts an answer (`script`) or publishes a payload of its own.
"""

import threading
import time
from dataclasses import dataclass, replace
from typing import Callable

from authority_records import Door, Installation, Login, Mint
from bench import link, specification
from bench.broker import AccessFiles
from bench.evidence import Evidence
from bench.waiting import until
from postern_contract import codes, derivation, messages, sealed, topics
from postern_contract.access_token import SignKey
from postern_contract.base64url import encode as b64
from postern_contract.claim_url import ClaimURL
from postern_contract.codes import ContractError
from postern_contract.x25519 import KeyPair

CLOCK_TOLERANCE = 300
DROP = "the reply is made and kept, but gets lost"
IGNORE = "the request never arrives"


@dataclass(frozen=True)
class Request:
    """One message that a board sent and this authority could open."""

    iid: str
    payload: bytes
    body: dict

    @property
    def type(self) -> str:
        return str(self.body.get("type"))

    @property
    def id(self) -> str:
        return str(self.body.get("id"))


class AuthorityPlayer:
    """Plays the authority's part of the contract over `access`, a broker's access files."""

    def __init__(self, login: link.Login, access: AccessFiles, evidence: Evidence):
        self.name = "Player"
        self.seal_key = KeyPair()
        self.sign_key = SignKey("player-1")
        self.mint = Mint("https://player.example", self.sign_key, evidence)
        self.door = Door(access, evidence)
        self.heartbeat = 180
        self.offline = 86400
        self.is_deaf = False
        self.requests: list[Request] = []
        self.unopened: list[bytes] = []
        self.malformed: list[tuple[dict, str]] = []
        self.thefts: list[str] = []
        self.boards: dict[str, Installation] = {}
        self._scripts: dict[str, list] = {}
        self._lock = threading.RLock()
        self.link = link.Link(
            login, subscribe=(topics.SHARED_OUTBOXES,), on_message=self._heard,
            journal=evidence.journal, stays=True,
        )

    def open(self) -> "AuthorityPlayer":
        self.link.open()
        return self

    def close(self) -> None:
        self.link.close()

    # What a person or a test asks for.

    def claim(self, url: str, username: str = "ada", scope: dict | None = None) -> Installation:
        """Lets the board in and leaves a retained provisioning in its inbox."""
        board = self.admit(url, username, scope)
        self.provision(board)
        return board

    def admit(self, url: str, username: str = "ada", scope: dict | None = None) -> Installation:
        """Lets the board in at the broker; nothing is sent yet."""
        claim = ClaimURL.parse(url)
        user = {"objectId": f"user-{username}", "username": username}
        old = self.boards.get(claim.iid)
        if old is None or not old.is_let_in:
            self.door.admit(claim)
        board = Installation(claim, user, scope) if old is None else old
        board.claim, board.user, board.scope = claim, user, scope
        self.boards[claim.iid] = board
        return board

    def provision(self, board: Installation, **changes) -> dict:
        """Offers the board a new login; `changes` replace members (None takes one out)."""
        message = self.new_provision(board, **changes)
        board.provision_payload = self.seal_provision(board, message)
        self.send(board, board.provision_payload, retain=True)
        return message

    def new_provision(self, board: Installation, **changes) -> dict:
        login = self.mint.login(board.claim, board.user, board.scope)
        members = {
            "seq": board.next_seq(), "exp": int(time.time()) + 600,
            "authority": {
                "name": self.name, "sealKey": b64(self.seal_key.public),
                "signKeys": [self.sign_key.published],
            },
            "session": login.session, "user": board.user,
            "sessionToken": login.session_token, "accessToken": login.access_token,
            "refreshToken": self.mint.refresh(login.generation),
            "heartbeat": self.heartbeat, "offline": self.offline,
        }
        if board.scope is not None:
            members["scope"] = board.scope
        if not board.is_let_in:
            board.broker_password = board.broker_password or self.door.new_password()
            members["broker"] = {"username": board.iid, "password": board.broker_password}
        members |= changes
        message = messages.new("provision") | members
        message = {k: v for k, v in message.items() if v is not None}
        board.provision, board.offered = message, login
        return message

    def seal_provision(self, board: Installation, message: dict) -> bytes:
        claim = board.claim
        psk = derivation.claim_psk(claim.claim_secret, claim.iid)
        return sealed.seal_psk(
            message, topics.inbox(claim.iid), claim.device_key, psk, claim.iid
        )

    def revoke(self, board: Installation, reason: str = "by the administrator") -> dict:
        """Ends the session: sends the revocation, then shrinks the board's rules."""
        with self._lock:
            board.revoked = reason
            message = self.send_revoked(board, board.login.id, reason)
            self.door.shrink(board.iid)
        return message

    def send_revoked(self, board: Installation, session_id: str, reason: str) -> dict:
        """Sends `session.revoked` and changes nothing else (any session's id will do)."""
        message = messages.new(
            "session.revoked", seq=board.next_seq(), sessionId=session_id, reason=reason
        )
        board.revocation_id = message["id"]
        self.send(board, self.seal(board, message), retain=True)
        return message

    def update(self, board: Installation, scope: dict | None = None, **fields) -> dict:
        """Sends `session.updated`, with a new scope and fields of the session."""
        board.login.session |= fields
        members = {"seq": board.next_seq(), "session": board.login.session}
        if scope is not None:
            board.scope = members["scope"] = scope
        message = messages.new("session.updated", **members)
        self.send(board, self.seal(board, message))
        return message

    def command(
        self, board: Installation, app: str, content: object, /, *, wait: float = 60, **changes
    ) -> dict:
        """Sends a command for an app once; `send_again` repeats it."""
        message = messages.new(
            "command", sessionId=board.login.id, app=app, deadline=int(time.time() + wait),
            command=content) | changes
        self.send(board, self.seal(board, message))
        return message

    def send_again(self, board: Installation, message: dict) -> None:
        self.send(board, self.seal(board, message | {"iat": int(time.time())}))

    def results(self, command: dict) -> list[dict]:
        """What the board said of a command so far, repetitions included."""
        return [r.body for r in list(self.requests)
                if r.type == "command.result" and r.body.get("re") == command["id"]]

    def wait_result(
        self, command: dict, *states: str, since: int = 0, timeout: float = 60.0
    ) -> dict:
        """The first result after `since` of its results, of one of these states (any final one,
        unless told)."""
        wanted = states or ("answered", "refused", "expired")

        def found():
            return next((r for r in self.results(command)[since:] if r["state"] in wanted), None)

        return until(found, f"a result {wanted} of a command", timeout)

    def seal(self, board: Installation, message: dict | bytes) -> bytes:
        topic = topics.inbox(board.iid)
        return sealed.seal_auth(message, topic, board.claim.device_key, self.seal_key)

    def send(self, board: Installation, payload: bytes, *, retain: bool = False) -> None:
        expiry = 600 if retain and payload else None
        self.link.publish(
            topics.inbox(board.iid), payload, retain=retain, expiry=expiry, wait=False
        )

    # What tests look at and interfere with.

    def script(self, type_: str, *answers) -> None:
        """The next requests of this type get these: a dict of members, an error, DROP, IGNORE."""
        with self._lock:
            self._scripts.setdefault(type_, []).extend(answers)

    def unscript(self) -> None:
        with self._lock:
            self._scripts.clear()

    def mark(self) -> int:
        return len(self.requests)

    def wait_request(
        self, matches: str | Callable[[Request], bool], *, since: int = 0, timeout: float = 40.0
    ) -> Request:
        """The first request after `since` of this type, or that matches."""
        test = (lambda r: r.type == matches) if isinstance(matches, str) else matches
        return until(
            lambda: next((r for r in self.requests[since:] if test(r)), None),
            f"a request ({matches}); there were {[r.type for r in self.requests[since:]]}",
            timeout,
        )

    def wait_live(self, board: Installation, timeout: float = 40.0) -> Login:
        """The login that the board has accepted."""
        return until(lambda: board.login, f"{board.iid} to accept its session", timeout)

    # What boards ask.

    def _heard(self, message: link.Message) -> None:
        board = self.boards.get(topics.iid_of(message.topic))
        try:
            if board is None:
                raise sealed.CannotOpen("no such installation")
            body = sealed.open_auth(
                message.payload, message.topic, self.seal_key, board.claim.device_key
            )
        except sealed.CannotOpen:
            self.unopened.append(message.payload)
            return
        with self._lock:
            self._take(board, Request(board.iid, message.payload, body))

    def _take(self, board: Installation, request: Request) -> None:
        self._judge(request.body)
        answer = self._scripted(board, request)
        if answer != IGNORE and not self.is_deaf:
            payload = self._payload_for(board, request, answer)
            if payload is not None and answer != DROP:
                self.send(board, payload)
        self.requests.append(request)

    def _scripted(self, board: Installation, request: Request):
        """The next scripted answer; a redelivery uses none up, for it gets the kept reply."""
        waiting = self._scripts.get(str(request.body.get("type")), [])
        is_known = board.reply_to(str(request.body.get("id"))) is not None
        return waiting.pop(0) if waiting and not is_known else None

    def _judge(self, body: dict) -> None:
        """Puts down what a board says that the contract does not have."""
        try:
            messages.check_for_authority(body)
        except ContractError as error:
            self.malformed.append((body, error.text))
        else:
            self.malformed += [
                (body, fault) for fault in specification.faults("BoardMessage", body)]

    def _payload_for(self, board: Installation, request: Request, answer) -> bytes | None:
        """The sealed reply: the kept one for a known id, before any other check."""
        request_id = request.body.get("id")
        if not isinstance(request_id, str) or not isinstance(request.body.get("iat"), int):
            return None
        kept = board.reply_to(request_id)
        if kept is not None:
            return kept
        try:
            members = self._members(board, request, answer)
        except ContractError as error:
            members = {"error": error.body}
        if members is None:
            return None
        now = time.time()
        reply = messages.new("reply", re=request_id, now=int(now),
                             nowMilliseconds=int(now * 1000), **members)
        payload = self.seal(board, reply)
        board.replies[request_id] = (time.time(), payload)
        return payload

    def _members(self, board: Installation, request: Request, answer) -> dict | None:
        if isinstance(answer, ContractError):
            raise answer
        if isinstance(answer, dict):
            return answer
        body = request.body
        messages.check_for_authority(body)
        if body["type"] not in (*messages.UNANSWERED, "command.result"):
            _check_clock(body)
        return self._handlers[body["type"]](self, board, body)

    def _accepted(self, board: Installation, body: dict) -> None:
        offered = board.offered
        if offered and body["re"] == board.provision["id"] and body["sessionId"] == offered.id:
            self._accept(board)

    def _accept(self, board: Installation) -> None:
        """The offered login lives from here; the retained provisioning is cleared."""
        self.send(board, b"", retain=True)
        if board.broker_password is not None and not board.has_new_password:
            self.door.access.set_password(board.iid, board.broker_password)
            board.has_new_password = True
        board.login, board.offered, board.revoked = board.offered, None, None

    def _ended(self, board: Installation, body: dict) -> None:
        """Once a revocation: a board that hears it again at its new connection answers again."""
        if body["re"] != board.revocation_id:
            return
        board.revocation_id = None
        self.send(board, b"", retain=True)
        if board.revoked is not None:
            self.door.access.remove(board.iid)
            board.forget_login()

    def _login_for(self, board: Installation, token: str) -> Login:
        """The session of this very installation that the token is for, or 209."""
        if board.offered and board.offered.session_token == token:
            self._accept(board)
        login = board.login
        if login is None or board.revoked is not None or login.session_token != token:
            raise ContractError(codes.INVALID_SESSION_TOKEN, "invalid session token")
        return login

    def _authenticate(self, board: Installation, body: dict) -> dict:
        login = self._login_for(board, body["sessionToken"])
        minutes = body.get("durationMinutes")
        if minutes is not None:
            if not 5 <= minutes <= 365 * 24 * 60:
                raise ContractError(codes.VALIDATION, "between 5 minutes and 1 year")
            login.session["expiresAt"] = int(time.time()) + 60 * minutes
        scope = {} if board.scope is None else {"scope": board.scope}
        return {"session": login.session, "user": board.user, **scope}

    def _refresh(self, board: Installation, body: dict) -> dict:
        found, login = self.mint.refreshed(body["refreshToken"]), board.login
        if found is None:
            raise ContractError(codes.INVALID_SESSION_TOKEN, "invalid refresh token")
        owner = next((b for b in self.boards.values() if b.login and
                      b.login.generation.family == found.family), None)
        if owner is None or (owner is board and found.number > login.generation.number):
            raise ContractError(codes.NOT_FOUND, "a family or generation not known here")
        if owner is not board or board.revoked is not None:
            raise ContractError(codes.INVALID_SESSION_TOKEN, "invalid refresh token")
        if found.number < login.generation.number:
            self._refuse_theft(board)
        board.login = replace(login, generation=found.successor)
        board.login.access_token = self.mint.access(login.session, board.claim, board.scope)
        return {
            "accessToken": board.login.access_token, "session": login.session,
            "refreshToken": self.mint.refresh(found.successor),
        }

    def _resulted(self, board: Installation, body: dict) -> dict | None:
        """A final result has a reply; `delivered` has none."""
        return None if body["state"] == "delivered" else {}

    def _refuse_theft(self, board: Installation) -> None:
        self.thefts.append(board.iid)
        self.revoke(board, "reuse")
        raise ContractError(codes.INVALID_SESSION_TOKEN, "the refresh token was used before")

    def _sign_out(self, board: Installation, body: dict) -> dict:
        self._login_for(board, body["sessionToken"])
        board.revoked = "signed out"
        return {}

    def _list(self, board: Installation, body: dict) -> dict:
        self._login_for(board, body["sessionToken"])
        live = [b.login.session for b in self.boards.values()
                if b.login and not b.revoked and b.user == board.user]
        return {"sessions": live}

    def _user(self, board: Installation, body: dict) -> dict:
        self._login_for(board, body["sessionToken"])
        return {"user": board.user}

    _handlers = {
        "provision.accepted": _accepted, "provision.rejected": lambda *_: None,
        "session.ended": _ended, "session.confirmed": lambda *_: None,
        "session.authenticate": _authenticate, "command.result": _resulted,
        "session.refresh": _refresh, "session.revoke": _sign_out, "session.list": _list,
        "user.get": _user, "configuration.save": lambda *_: {}, "configuration.get": lambda *_: {},
    }


def _check_clock(body: dict) -> None:
    """A request of an unset or strayed clock is not acted on and no token is looked at."""
    if body.get("clock") == "unset" or abs(time.time() - body["iat"]) > CLOCK_TOLERANCE:
        raise ContractError(codes.VALIDATION, "set your clock and ask again")
