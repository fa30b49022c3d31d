"""The access token: a JWT signed with Ed25519. Source: RFC 7519, RFC 8037, RFC 8725, RFC 9068."""

import json
import uuid
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from . import base64url


class BadToken(Exception):
    """The token is not one of this authority's."""


@dataclass(frozen=True)
class SignKey:
    kid: str
    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate, repr=False)

    @property
    def published(self) -> dict:
        """The form it has in `signKeys`."""
        x = self.private.public_key().public_bytes_raw()
        return {"kid": self.kid, "x": base64url.encode(x)}


def _part(value: dict) -> str:
    return base64url.encode(json.dumps(value, separators=(",", ":")).encode())


def encode(header: dict, claims: dict, private: Ed25519PrivateKey) -> str:
    """Signs what it is given, be it sensible or not (tests need both)."""
    signed = f"{_part(header)}.{_part(claims)}"
    return f"{signed}.{base64url.encode(private.sign(signed.encode()))}"


def claims_for(
    session: dict, *, issuer: str, device_kid: str, iat: int, lifetime: int,
    scope: dict | None = None,
) -> dict:
    """The claims of one session's token; `lifetime` in seconds."""
    claims = {
        "iss": issuer, "sub": session["user"], "aud": "postern", "iat": iat, "nbf": iat,
        "exp": iat + lifetime, "jti": str(uuid.uuid4()), "sid": session["objectId"],
        "iid": session["installationId"], "restricted": True, "cnf": {"kid": device_kid},
    }
    return claims if scope is None else claims | {"scope": scope}


def mint(claims: dict, key: SignKey) -> str:
    return encode({"alg": "EdDSA", "typ": "at+jwt", "kid": key.kid}, claims, key.private)


def read(token: str) -> tuple[dict, dict, bytes, bytes]:
    """Header, claims, signed bytes and signature; nothing is verified yet."""
    try:
        head, body, signature = token.split(".")
        header = json.loads(base64url.decode(head))
        claims = json.loads(base64url.decode(body))
        return header, claims, f"{head}.{body}".encode(), base64url.decode(signature)
    except ValueError as error:
        raise BadToken("not a JWT") from error


def verify(token: str, sign_keys: list[dict]) -> dict:
    """The claims, once the header is the only one allowed and a pinned key has signed."""
    header, claims, signed, signature = read(token)
    if header.get("alg") != "EdDSA" or header.get("typ") != "at+jwt":
        raise BadToken("another algorithm or type")
    raw = {key["kid"]: key["x"] for key in sign_keys}.get(header.get("kid"))
    if raw is None:
        raise BadToken("unknown kid")
    try:
        public = Ed25519PublicKey.from_public_bytes(base64url.decode(raw))
        public.verify(signature, signed)
    except InvalidSignature as error:
        raise BadToken("the signature is not that key's") from error
    return claims
