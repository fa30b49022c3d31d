"""Somebody else who says who people are: a key set on HTTP, and id tokens signed by its keys."""

import json
import secrets
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

from postern_contract import base64url

ISSUER = "https://login.example"


class LoginProvider:
    """One key of each kind, named by its algorithm, published on a free port of loopback."""

    def __init__(self, certificate=None):
        """With a PEM file of certificate and key it speaks TLS."""
        self.keys = {
            "RS256": rsa.generate_private_key(65537, 2048),
            "PS256": rsa.generate_private_key(65537, 2048),
            "ES256": ec.generate_private_key(ec.SECP256R1()),
            "EdDSA": ed25519.Ed25519PrivateKey.generate(),
        }
        self.fetched = 0
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                provider.fetched += 1
                body = json.dumps(provider.key_set).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}/jwks"

    @property
    def key_set(self) -> dict:
        keys = [_jwk(name, key.public_key()) for name, key in self.keys.items()]
        encryption = dict(keys[0], use="enc", alg="RSA-OAEP", kid="enc")
        return {"keys": [encryption, {"kty": "oct", "k": "c2VjcmV0", "kid": "oct"}, *keys]}

    def token(self, subject: str, algorithm: str = "RS256", header=(), **claims) -> str:
        """A token that is good unless `header` or `claims` spoil it."""
        now = int(time.time())
        payload = {"iss": ISSUER, "aud": "us", "sub": subject, "iat": now, "exp": now + 600,
                   "jti": secrets.token_hex(8), **claims}
        head = {"alg": algorithm, "kid": algorithm, "typ": "JWT", **dict(header)}
        text = ".".join(base64url.encode(json.dumps(part).encode()) for part in (head, payload))
        signature = _sign(algorithm, self.keys[algorithm], text.encode())
        return f"{text}.{base64url.encode(signature)}"


def _number(value: int, count: int) -> str:
    return base64url.encode(value.to_bytes(count, "big"))


def _jwk(name: str, key) -> dict:
    common = {"kid": name, "alg": name, "use": "sig"}
    if name == "EdDSA":
        return {**common, "kty": "OKP", "crv": "Ed25519",
                "x": base64url.encode(key.public_bytes_raw())}
    numbers = key.public_numbers()
    if name == "ES256":
        return {**common, "kty": "EC", "crv": "P-256",
                "x": _number(numbers.x, 32), "y": _number(numbers.y, 32)}
    return {**common, "kty": "RSA", "n": _number(numbers.n, 256), "e": "AQAB"}


def _sign(name: str, key, message: bytes) -> bytes:
    if name == "EdDSA":
        return key.sign(message)
    if name == "ES256":
        r, s = utils.decode_dss_signature(key.sign(message, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")
    if name == "PS256":
        pss = padding.PSS(padding.MGF1(hashes.SHA256()), salt_length=32)
        return key.sign(message, pss, hashes.SHA256())
    return key.sign(message, padding.PKCS1v15(), hashes.SHA256())
