"""X25519 keys as the contract names them: raw bytes, and the key id."""

import hashlib
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from pyhpke import KEMKey
from pyhpke.kem_key_interface import KEMKeyInterface

from . import base64url


def key_id(public: bytes) -> str:
    """b64 of the first 8 bytes of SHA-256 over the raw public key."""
    return base64url.encode(hashlib.sha256(public).digest()[:8])


@dataclass(frozen=True)
class KeyPair:
    """A static X25519 key: a board's device key or an authority's seal key."""

    private: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate, repr=False)

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes_raw()

    @property
    def id(self) -> str:
        return key_id(self.public)

    @property
    def kem(self) -> KEMKeyInterface:
        return KEMKey.from_pyca_cryptography_key(self.private)


def kem_public(public: bytes) -> KEMKeyInterface:
    return KEMKey.from_pyca_cryptography_key(X25519PublicKey.from_public_bytes(public))
