"""One browser's visit of the page: its cookies, and an address of its own."""

import http.client
import itertools
import json

_addresses = itertools.count(1)


class Visit:
    """Asks as the page does. The authority must trust 127.0.0.1 as a proxy, so that each visit
    has an address of its own and none uses up another's tries."""

    def __init__(self, port: int):
        self.port = port
        self.host = f"localhost:{port}"
        self.origin = f"http://{self.host}"
        number = next(_addresses)
        self.address = f"10.9.{number >> 8}.{number & 255}"
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, path: str, body=None) -> tuple[int, dict]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {
            "Host": self.host, "X-Parse-Application-Id": "postern", "X-Postern-Console": "1",
            "Origin": self.origin, "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/json", "X-Forwarded-For": self.address}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, f"/postern/v1{path}", text, headers)
            response = connection.getresponse()
            self._keep(response.headers.get_all("Set-Cookie") or [])
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def _keep(self, cookies: list[str]) -> None:
        for cookie in cookies:
            first, *attributes = [part.strip() for part in cookie.split(";")]
            assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes), cookie
            name, _, value = first.partition("=")
            self.cookies[name] = value
            if "Max-Age=0" in attributes:
                del self.cookies[name]

    def must(self, method: str, path: str, body=None) -> dict:
        status, told = self.ask(method, path, body)
        assert status in (200, 201), (method, path, status, told)
        return told

    def refusal(self, method: str, path: str, body=None) -> dict:
        """The refusal, which is not a failure."""
        status, told = self.ask(method, path, body)
        assert 400 <= status < 500, (method, path, status, told)
        return told

    def options(self, purpose: str) -> dict:
        return self.must("POST", "/passkeys/options", {"purpose": purpose})["publicKey"]
