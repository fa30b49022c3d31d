"""Certificates for tests: a CA that anyone may make, and servers that show what it signed."""

import datetime
import ipaddress
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


class Authority:
    """A CA; `file` is its certificate, PEM."""

    def __init__(self, folder: Path, name: str):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(self.name, self.key, 0, 30).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.file = folder / f"{name}-ca.pem"
        self.file.write_bytes(
            builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *hosts: str, begins: int = -1, ends: int = 9) -> tuple[Path, Path]:
        """Certificate and key; `begins` and `ends` are days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, key, begins, ends)
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_alternative(h) for h in hosts]), critical=False)
        certificate, secret = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        certificate.write_bytes(
            builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        secret.touch(0o600)
        secret.write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()))
        os.chmod(secret, 0o600)
        return certificate, secret

    def _builder(self, subject, key, begins: int, ends: int) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.timezone.utc)
        return (
            x509.CertificateBuilder().subject_name(subject).issuer_name(self.name)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now + begins * _DAY - _DAY).not_valid_after(now + ends * _DAY))


def _alternative(host: str):
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
