"""Payloads for a board's inbox that must change nothing, each with the reason in its name.

Whatever can be opened would end the session if it were obeyed, so obedience shows.
"""

import json
import time
from typing import Callable

from authority_player import AuthorityPlayer
from authority_records import Installation
from postern_contract import access_token, derivation, messages, sealed, topics
from postern_contract.access_token import SignKey
from postern_contract.sealed import Envelope
from postern_contract.x25519 import KeyPair

Build = Callable[[AuthorityPlayer, Installation], bytes]


def _revocation(board: Installation, **changes) -> dict:
    """A revocation of the very session that lives on the board; None takes a member out."""
    message = messages.new(
        "session.revoked", seq=board.next_seq(), sessionId=board.login.id, reason="hostile"
    ) | changes
    return {k: v for k, v in message.items() if v is not None}


def _genuine(authority: AuthorityPlayer, board: Installation) -> bytes:
    return authority.seal(board, _revocation(board))


def _sealed(**changes) -> Build:
    """Well sealed by the pinned authority, but wrong inside."""
    return lambda authority, board: authority.seal(board, _revocation(board, **changes))


def _sealed_raw(plain: bytes) -> Build:
    return lambda authority, board: authority.seal(board, plain)


def _bytes(change: Callable[[bytes], bytes]) -> Build:
    """A genuine payload, then spoiled as bytes."""
    return lambda authority, board: change(_genuine(authority, board))


def _envelope(**changes) -> Build:
    """A genuine payload with members of its envelope replaced (a function gets the old one)."""
    def build(authority: AuthorityPlayer, board: Installation) -> bytes:
        body = json.loads(_genuine(authority, board))
        for key, value in changes.items():
            body[key] = value(body[key]) if callable(value) else value
        return json.dumps({k: v for k, v in body.items() if v is not None}).encode()

    return build


def _flip(part: str, index: int, bit: int) -> Build:
    def build(authority: AuthorityPlayer, board: Installation) -> bytes:
        envelope = Envelope.decode(_genuine(authority, board))
        parts = {"enc": bytearray(envelope.enc), "ct": bytearray(envelope.ct)}
        parts[part][index] ^= bit
        return Envelope(envelope.mode, envelope.to, **{k: bytes(v) for k, v in parts.items()}
                        ).encode()

    return build


def _sealed_with(sender: KeyPair | None = None, topic: str | None = None,
                 to: bytes | None = None) -> Build:
    def build(authority: AuthorityPlayer, board: Installation) -> bytes:
        return sealed.seal_auth(
            _revocation(board), topic or topics.inbox(board.iid),
            to or board.claim.device_key, sender or authority.seal_key,
        )

    return build


def _on_outbox_aad(authority: AuthorityPlayer, board: Installation) -> bytes:
    return _sealed_with(topic=topics.outbox(board.iid))(authority, board)


def _psk_revocation(authority: AuthorityPlayer, board: Installation) -> bytes:
    claim = board.claim
    psk = derivation.claim_psk(claim.claim_secret, claim.iid)
    return sealed.seal_psk(
        _revocation(board), topics.inbox(claim.iid), claim.device_key, psk, claim.iid
    )


def _psk_reused(authority: AuthorityPlayer, board: Installation) -> bytes:
    """A new provisioning under the claim secret that has served."""
    return authority.seal_provision(board, offer(authority, board))


def offer(authority: AuthorityPlayer, board: Installation, /, **changes) -> dict:
    """A provisioning that the authority does not remember having made."""
    provision, offered = board.provision, board.offered
    message = authority.new_provision(board, **changes)
    board.provision, board.offered = provision, offered
    return message


def _offered(**changes) -> Build:
    return lambda authority, board: authority.seal(board, offer(authority, board, **changes))


def _unasked_error(authority: AuthorityPlayer, board: Installation) -> bytes:
    error = {"code": 209, "error": "invalid session token"}
    return authority.seal(board, messages.new(
        "reply", re="00000000-0000-4000-8000-000000000000", now=int(time.time()), error=error
    ))


_DEEP = b"[" * 100_000
_OTHER = "00000000-0000-4000-8000-000000000000"

UNOPENABLE: dict[str, Build] = {
    "empty": lambda a, b: b"",
    "one byte": _bytes(lambda p: p[:1]),
    "truncated in the middle": _bytes(lambda p: p[: len(p) // 2]),
    "without its last byte": _bytes(lambda p: p[:-1]),
    "not JSON": lambda a, b: b"provision please",
    "not UTF-8": lambda a, b: b'{"v":1,"mode":"\xff\xfe"}',
    "NUL bytes": lambda a, b: bytes(512),
    "a JSON array": lambda a, b: b"[1]",
    "a JSON number": lambda a, b: b"1",
    "JSON of great depth": lambda a, b: _DEEP,
    "huge": lambda a, b: b"A" * (4 << 20),
    "huge inside": _envelope(ct="A" * (2 << 20)),
    "ct, first bit": _flip("ct", 0, 1),
    "ct, last bit": _flip("ct", -1, 0x80),
    "enc, first bit": _flip("enc", 0, 1),
    "enc, the bit that X25519 ignores": _flip("enc", 31, 0x80),
    "enc of low order": _envelope(enc="A" * 43),
    "enc too short": _envelope(enc=lambda v: v[:-4]),
    "enc too long": _envelope(enc=lambda v: v + "AAAA"),
    "enc missing": _envelope(enc=None),
    "enc a number": _envelope(enc=7),
    "ct empty": _envelope(ct=""),
    "ct shorter than a tag": _envelope(ct="AAAA"),
    "ct missing": _envelope(ct=None),
    "ct padded": _envelope(ct=lambda v: v + "=" * (-len(v) % 4 or 4)),
    "ct in another alphabet": _envelope(ct=lambda v: "+/" + v[2:]),
    "to another key": _envelope(to="AAAAAAAAAAA"),
    "to nobody": _envelope(to=""),
    "to missing": _envelope(to=None),
    "to a list": _envelope(to=["x"]),
    "v of the future": _envelope(v=2),
    "v a string": _envelope(v="1"),
    "v true": _envelope(v=True),
    "v missing": _envelope(v=None),
    "mode psk over an auth message": _envelope(mode="psk"),
    "mode base": _envelope(mode="base"),
    "mode missing": _envelope(mode=None),
    "a revocation under the claim secret": _psk_revocation,
    "a provisioning under the used claim secret": _psk_reused,
    "sealed by a stranger": _sealed_with(sender=KeyPair()),
    "sealed to a stranger": _sealed_with(to=KeyPair().public),
    "sealed for another's inbox": _sealed_with(topic=topics.inbox(_OTHER)),
    "sealed for the outbox": _on_outbox_aad,
}

WRONG_INSIDE: dict[str, Build] = {
    "plaintext not JSON": _sealed_raw(b"session.revoked"),
    "plaintext empty": _sealed_raw(b""),
    "plaintext an array": _sealed_raw(b"[]"),
    "plaintext of great depth": _sealed_raw(_DEEP),
    "plaintext huge": _sealed(type="session.invented", pad="x" * (1 << 20)),
    "old seq": _sealed(seq=1),
    "seq zero": _sealed(seq=0),
    "seq negative": _sealed(seq=-1),
    "seq beyond 64 bits": _sealed(seq=2**70),
    "seq a string": _sealed(seq="99999999999999"),
    "seq a fraction": _sealed(seq=9999999999999.5),
    "seq true": _sealed(seq=True),
    "seq missing": _sealed(seq=None),
    "sessionId missing": _sealed(sessionId=None),
    "sessionId a number": _sealed(sessionId=7),
    "sessionId a list": _sealed(sessionId=["x"]),
    "reason missing": _sealed(reason=None),
    "reason an object": _sealed(reason={}),
    "id missing": _sealed(id=None),
    "id a number": _sealed(id=5),
    "iat missing": _sealed(iat=None),
    "iat a string": _sealed(iat="now"),
    "type missing": _sealed(type=None),
    "type a number": _sealed(type=1),
    "type unknown": _sealed(type="session.invented"),
    "type of the other direction": _sealed(type="session.revoke"),
    "a reply to nothing asked": _unasked_error,
}


def _forged_access(**changes) -> Callable[[AuthorityPlayer, Installation], str]:
    """An access token of the right key with claims changed."""
    def build(authority: AuthorityPlayer, board: Installation) -> str:
        header, claims, _, _ = access_token.read(authority.mint.login(
            board.claim, board.user, None).access_token)
        return access_token.encode(header, claims | changes, authority.sign_key.private)

    return build


def _access_header(**changes) -> Callable[[AuthorityPlayer, Installation], str]:
    def build(authority: AuthorityPlayer, board: Installation) -> str:
        header, claims, _, _ = access_token.read(authority.mint.login(
            board.claim, board.user, None).access_token)
        return access_token.encode(header | changes, claims, authority.sign_key.private)

    return build


def _access_of_stranger(authority: AuthorityPlayer, board: Installation) -> str:
    token = authority.mint.login(board.claim, board.user, None).access_token
    _, claims, _, _ = access_token.read(token)
    return access_token.mint(claims, SignKey(authority.sign_key.kid))


# member of a provisioning: a value, None to leave it out, or a function that makes the value
BAD_PROVISIONS: dict[str, dict] = {
    "expired": {"exp": 1_600_000_000},
    "exp a string": {"exp": "tomorrow"},
    "authority missing": {"authority": None},
    "authority empty": {"authority": {}},
    "sealKey too short": {"authority": {"name": "n", "sealKey": "AAAA", "signKeys": []}},
    "signKeys an object": {"authority": {"name": "n", "sealKey": "A" * 43, "signKeys": {}}},
    "session missing": {"session": None},
    "session a string": {"session": "s"},
    "session empty": {"session": {}},
    "user missing": {"user": None},
    "user a list": {"user": []},
    "sessionToken missing": {"sessionToken": None},
    "sessionToken a number": {"sessionToken": 1},
    "accessToken missing": {"accessToken": None},
    "accessToken no JWT": {"accessToken": "x"},
    "accessToken by a stranger": {"accessToken": _access_of_stranger},
    "accessToken of alg none": {"accessToken": _access_header(alg="none")},
    "accessToken of alg HS256": {"accessToken": _access_header(alg="HS256")},
    "accessToken of another kid": {"accessToken": _access_header(kid="unheard-of")},
    "accessToken of another board": {"accessToken": _forged_access(iid=_OTHER)},
    "accessToken bound to another key": {"accessToken": _forged_access(cnf={"kid": "x"})},
    "accessToken unrestricted": {"accessToken": _forged_access(restricted=False)},
    "refreshToken missing": {"refreshToken": None},
    "refreshToken a number": {"refreshToken": 1},
    "heartbeat a string": {"heartbeat": "often"},
    "heartbeat missing": {"heartbeat": None},
    "offline missing": {"offline": None},
    "scope a list": {"scope": []},
    "broker a string": {"broker": "b"},
    "seq missing": {"seq": None},
    "iat missing": {"iat": None},
    "id missing": {"id": None},
}


def bad_provision(authority: AuthorityPlayer, board: Installation, name: str) -> dict:
    """A provisioning that is whole but for what its name says."""
    changes = {
        key: value(authority, board) if callable(value) else value
        for key, value in BAD_PROVISIONS[name].items()
    }
    message = offer(authority, board, **changes)
    return {k: v for k, v in message.items() if v is not None}
