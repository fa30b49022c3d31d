"""Where the upstream broker is, and how it is trusted."""

from __future__ import annotations

import hashlib
import ipaddress
import re
import ssl
from typing import Optional
from urllib.parse import urlsplit

_CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----\s.+?-----END CERTIFICATE-----", re.DOTALL)


class Address:
    """`mqtts://host:port`, or `mqtt://host:port` on this machine."""

    #: The certificate is not trusted: trying again does not help.
    untrusted = ssl.SSLCertVerificationError

    def __init__(self, uri: str, insecure: bool):
        parts = urlsplit(uri)
        is_form = parts.hostname and parts.path in ("", "/") and not (
            parts.username or parts.password or parts.query or parts.fragment)
        if parts.scheme not in ("mqtt", "mqtts") or not is_form or not parts.hostname:
            raise ValueError("the broker is mqtts://host:port")
        self.is_encrypted = parts.scheme == "mqtts"
        self.host = parts.hostname
        self.port = parts.port or (8883 if self.is_encrypted else 1883)
        if not (self.is_encrypted or insecure or _is_loopback(self.host)):
            raise ValueError("mqtt:// sends the password readable: use mqtts://, or insecure=True")

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def context(self, ca: Optional[str], fingerprint: Optional[str]) -> Optional[ssl.SSLContext]:
        """None without TLS. Raises ValueError if the CA does not have this fingerprint."""
        if fingerprint is not None:
            first = _CERTIFICATE.search(ca or "")
            if first is None:
                raise ValueError("a fingerprint is of the CA: give the CA, too")
            found = hashlib.sha256(ssl.PEM_cert_to_DER_cert(first[0])).hexdigest()
            wanted = fingerprint.lower()
            if wanted.startswith("sha256:"):
                wanted = wanted[len("sha256:"):]
            if found != wanted.replace(":", ""):
                raise ValueError("the CA has another fingerprint: do not trust it")
        return ssl.create_default_context(cadata=ca or None) if self.is_encrypted else None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
