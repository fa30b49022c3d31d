"""What both sides derive from the claim secret. Source: RFC 5869."""

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from . import base64url


def _derive(claim_secret: bytes, iid: str, info: bytes) -> bytes:
    return HKDF(SHA256(), length=32, salt=iid.encode(), info=info).derive(claim_secret)


def broker_password(claim_secret: bytes, iid: str) -> str:
    """The board's first broker password; its user name is `iid`."""
    return base64url.encode(_derive(claim_secret, iid, b"postern/v1 broker"))


def claim_psk(claim_secret: bytes, iid: str) -> bytes:
    """The HPKE psk of the provisioning under this secret; psk_id is `iid`."""
    return _derive(claim_secret, iid, b"postern/v1 claim")
