"""An authenticator in software: makes passkeys and answers with them, as a phone does. Each part of
an answer can be spoilt."""

import hashlib
import json
import os
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from postern_contract import base64url

PRESENT, VERIFIED, ELIGIBLE, BACKED_UP, CREDENTIAL = 0x01, 0x04, 0x08, 0x10, 0x40
IDS = {"ES256": -7, "EdDSA": -8, "RS256": -257}


def cbor(value) -> bytes:
    """The shortest form. Source: RFC 8949 §3."""
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        return _head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return _head(4, len(value)) + b"".join(map(cbor, value))
    assert isinstance(value, dict)
    return _head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes([major << 5 | number])
    size = next(size for size in (1, 2, 4, 8) if number < 1 << 8 * size)
    return bytes([major << 5 | {1: 24, 2: 25, 4: 26, 8: 27}[size]]) + number.to_bytes(size, "big")


@dataclass
class Passkey:
    """One credential, with what a test may change in it."""

    algorithm: str
    user: bytes
    rp_id: str
    key: object
    id: bytes
    counter: int = 0
    # None: the authenticator has no counter, and says 0.
    step: int | None = None

    def cose(self) -> dict:
        public = self.key.public_key()
        if self.algorithm == "ES256":
            numbers = public.public_numbers()
            return {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"),
                    -3: numbers.y.to_bytes(32, "big")}
        if self.algorithm == "EdDSA":
            return {1: 1, 3: -8, -1: 6, -2: public.public_bytes_raw()}
        numbers = public.public_numbers()
        return {1: 3, 3: -257, -1: numbers.n.to_bytes(256, "big"), -2: b"\x01\x00\x01"}

    def sign(self, message: bytes) -> bytes:
        if self.algorithm == "ES256":
            return self.key.sign(message, ec.ECDSA(hashes.SHA256()))
        if self.algorithm == "EdDSA":
            return self.key.sign(message)
        return self.key.sign(message, padding.PKCS1v15(), hashes.SHA256())


def _new_key(algorithm: str):
    if algorithm == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, 2048)


def client_data(kind: str, challenge: str, origin: str, **more) -> bytes:
    """As a browser writes it; `more` replaces members or adds some."""
    members = {"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": False} | more
    return json.dumps(members, separators=(",", ":")).encode()


def authenticator_data(rp_id: str, flags: int, counter: int, rest: bytes = b"") -> bytes:
    return (hashlib.sha256(rp_id.encode()).digest() + bytes([flags]) + counter.to_bytes(4, "big")
            + rest)


def make(options: dict, origin: str, algorithm: str = "ES256", /, *, step: int | None = None,
         flags: int = PRESENT | VERIFIED, rp_id: str | None = None, cose: dict | None = None,
         attestation: bytes | None = None, format_: str = "none", statement: dict | None = None,
         said_id: bytes | None = None, **client) -> tuple[Passkey, dict]:
    """A new passkey, and the RegistrationResponseJSON."""
    passkey = Passkey(
        algorithm, base64url.decode(options["user"]["id"]), options["rp"]["id"],
        _new_key(algorithm), os.urandom(32), step or 0, step)
    credential = (bytes(16) + len(passkey.id).to_bytes(2, "big") + passkey.id
                  + cbor(cose or passkey.cose()))
    data = authenticator_data(
        rp_id or passkey.rp_id, flags | CREDENTIAL, passkey.counter, credential)
    if attestation is None:
        attestation = cbor({"fmt": format_, "attStmt": statement or {}, "authData": data})
    kind = client.pop("type", "webauthn.create")
    said = base64url.encode(said_id or passkey.id)
    return passkey, {
        "id": said, "rawId": said, "type": "public-key", "clientExtensionResults": {},
        "authenticatorAttachment": "platform",
        "response": {
            "clientDataJSON": base64url.encode(
                client_data(kind, client.pop("challenge", options["challenge"]),
                            client.pop("origin", origin), **client)),
            "attestationObject": base64url.encode(attestation), "transports": ["internal"]},
    }


def answer(passkey: Passkey, options: dict, origin: str, /, *, flags: int = PRESENT | VERIFIED,
           rp_id: str | None = None, counter: int | None = None, user: bytes | None = None,
           signer: Passkey | None = None, rest: bytes = b"", data: bytes | None = None,
           signature: bytes | None = None, **client) -> dict:
    """The AuthenticationResponseJSON. `signer` signs in place of the passkey."""
    if passkey.step:
        passkey.counter += passkey.step
    told = passkey.counter if counter is None else counter
    if data is None:
        data = authenticator_data(rp_id or passkey.rp_id, flags, told, rest)
    kind = client.pop("type", "webauthn.get")
    said = client_data(kind, client.pop("challenge", options["challenge"]),
                       client.pop("origin", origin), **client)
    if signature is None:
        signature = (signer or passkey).sign(data + hashlib.sha256(said).digest())
    handle = passkey.user if user is None else user
    response = {"clientDataJSON": base64url.encode(said),
                "authenticatorData": base64url.encode(data),
                "signature": base64url.encode(signature),
                "userHandle": base64url.encode(handle) if handle else None}
    name = base64url.encode(passkey.id)
    return {"id": name, "rawId": name, "type": "public-key", "clientExtensionResults": {},
            "authenticatorAttachment": None, "response": response}
