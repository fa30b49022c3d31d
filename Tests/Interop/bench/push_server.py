"""A push service, and browsers that read what it got, by pyca/cryptography."""

import base64
import http.server
import json
import os
import struct
import threading
import time

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


class PushServer:
    """Keeps each message by its path; `statuses` has other answers than 201."""

    def __init__(self):
        self.messages: list[tuple[str, dict, bytes]] = []
        self.statuses: dict[str, int] = {}
        self.lock = threading.Lock()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                with server.lock:
                    server.messages.append((self.path, headers, body))
                self.send_response(server.statuses.get(self.path, 201))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, path: str) -> list[tuple[dict, bytes]]:
        with self.lock:
            return [(headers, body) for at, headers, body in self.messages if at == path]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class PushBrowser:
    """The keys of one browser, and its address at the push service."""

    def __init__(self, server: PushServer, path: str):
        self.server = server
        self.path = path
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.secret = os.urandom(16)
        self.point = self.key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)

    @property
    def subscription(self) -> dict:
        """As a browser's `toJSON()`."""
        return {"endpoint": self.server.origin + self.path,
                "keys": {"p256dh": encoded(self.point), "auth": encoded(self.secret)}}

    def read(self, body: bytes) -> dict:
        """Source: RFC 8291 §3.4; RFC 8188 §2.1."""
        salt, (size, length) = body[:16], struct.unpack("!IB", body[16:21])
        assert (size, length) == (4096, 65) and len(body) <= 4096
        sender, sealed = body[21:86], body[86:]
        shared = self.key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(
            ec.SECP256R1(), sender))
        both = _derived(shared, self.secret, b"WebPush: info\0" + self.point + sender, 32)
        key = _derived(both, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _derived(both, salt, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(key).decrypt(nonce, sealed, None)
        assert plain.endswith(b"\2")
        return json.loads(plain[:-1])


def _derived(key: bytes, salt: bytes, info: bytes, count: int) -> bytes:
    return HKDF(hashes.SHA256(), count, salt, info).derive(key)


def claims_of(authorization: str, key: str) -> dict:
    """What the authority signed with its key. Source: RFC 8292 §2 and §3."""
    scheme, _, rest = authorization.partition(" ")
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    assert scheme == "vapid" and fields["k"] == key
    head, claims, signature = fields["t"].split(".")
    raw = decoded(signature)
    assert len(raw) == 64 and json.loads(decoded(head)) == {"typ": "JWT", "alg": "ES256"}
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(key))
    public.verify(
        encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:])),
        f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    found = json.loads(decoded(claims))
    assert time.time() < found["exp"] <= time.time() + 86_400
    return found
