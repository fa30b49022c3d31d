"""Sealed messages: single-shot HPKE, X25519, HKDF-SHA256, AES-256-GCM. Source: RFC 9180 §6."""

import json
from dataclasses import dataclass, field

from pyhpke import AEADId, CipherSuite, KDFId, KEMId

from . import base64url
from .x25519 import KeyPair, kem_public, key_id

INFO = b"postern/v1 sealed"
SUITE = CipherSuite.new(
    KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES256_GCM
)


class CannotOpen(Exception):
    """The payload is not a sealed message for this key from that sender: drop it."""


@dataclass(frozen=True)
class Envelope:
    """The MQTT payload around a ciphertext, before anyone has opened it."""

    mode: str
    to: str
    enc: bytes = field(repr=False)
    ct: bytes = field(repr=False)

    def encode(self) -> bytes:
        body = {
            "v": 1,
            "mode": self.mode,
            "to": self.to,
            "enc": base64url.encode(self.enc),
            "ct": base64url.encode(self.ct),
        }
        return json.dumps(body, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, payload: bytes) -> "Envelope":
        try:
            body = json.loads(payload)
            mode, to = body["mode"], body["to"]
            enc, ct = base64url.decode(body["enc"]), base64url.decode(body["ct"])
            version = body["v"]
        except (ValueError, KeyError, TypeError) as error:
            raise CannotOpen(f"not an envelope: {error}") from error
        if type(version) is not int or version != 1 or mode not in ("psk", "auth"):
            raise CannotOpen("another version or mode")
        if not isinstance(to, str) or len(enc) != 32 or len(ct) < 16:
            raise CannotOpen("an envelope of the wrong size")
        return cls(mode, to, enc, ct)


def seal_psk(message: dict | bytes, topic: str, to: bytes, psk: bytes, iid: str) -> bytes:
    """A `provision` under a claim secret, as the payload for `topic`."""
    enc, context = SUITE.create_sender_context(
        kem_public(to), info=INFO, psk=psk, psk_id=iid.encode()
    )
    return _wrap("psk", to, enc, context, message, topic)


def seal_auth(message: dict | bytes, topic: str, to: bytes, sender: KeyPair) -> bytes:
    """Every other message: whoever opens it knows that `sender` sealed it."""
    enc, context = SUITE.create_sender_context(kem_public(to), info=INFO, sks=sender.kem)
    return _wrap("auth", to, enc, context, message, topic)


def open_psk(payload: bytes, topic: str, mine: KeyPair, psk: bytes, iid: str) -> dict:
    envelope = _addressed(payload, "psk", mine)
    return _open(envelope, topic, mine, psk=psk, psk_id=iid.encode())


def open_auth(payload: bytes, topic: str, mine: KeyPair, sender: bytes) -> dict:
    envelope = _addressed(payload, "auth", mine)
    return _open(envelope, topic, mine, pks=kem_public(sender))


def _wrap(
    mode: str, to: bytes, enc: bytes, context, message: dict | bytes, topic: str
) -> bytes:
    """Bytes are sealed as they are, for the tests that seal what is no message at all."""
    plain = message if isinstance(message, bytes) else _json(message)
    ct = context.seal(plain, aad=topic.encode())
    return Envelope(mode, key_id(to), enc, ct).encode()


def _json(message: dict) -> bytes:
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


def _addressed(payload: bytes, mode: str, mine: KeyPair) -> Envelope:
    envelope = Envelope.decode(payload)
    if envelope.mode != mode or envelope.to != mine.id:
        raise CannotOpen("for another key, or of another mode")
    return envelope


def _open(envelope: Envelope, topic: str, mine: KeyPair, **sender) -> dict:
    try:
        context = SUITE.create_recipient_context(envelope.enc, mine.kem, info=INFO, **sender)
        message = json.loads(context.open(envelope.ct, aad=topic.encode()))
    except Exception as error:  # pyhpke raises its own and cryptography's, all meaning this
        raise CannotOpen(type(error).__name__) from error
    if not isinstance(message, dict):
        raise CannotOpen("the plaintext is not an object")
    return message
