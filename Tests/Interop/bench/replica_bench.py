"""Several real authorities on one PostgreSQL and one broker, and a way through to one of them."""

import http.client
import json
import secrets
import socket
import subprocess
import threading
import time
from pathlib import Path

from .authority_bench import ADMIN, AuthorityBench
from .broker import Broker
from .program import Program, free_port, run
from .waiting import until

HEALTH = "/postern/v1/health"


class Unserved(AssertionError):
    """Somebody took the request and did not answer it as he should have."""


class Replica:
    """One authority of several: all of them have one configuration but their place."""

    def __init__(self, program: Program, port: int):
        self.program = program
        self.port = port

    def health(self) -> int:
        """The status of its answer; 0 where nobody listens."""
        try:
            return request(self.port, "GET", HEALTH)[0]
        except OSError:
            return 0

    def start(self) -> "Replica":
        self.program.start()
        self.program.wait_ready(lambda: self.health() == 200, "to be well", 60)
        return self


class ReplicaBench(AuthorityBench):
    """Two replicas; boards meet them at a broker that lets everybody do everything."""

    def __init__(self, folder: Path, evidence, programs, database: str, broker_port: int,
                 settings: str = ""):
        self.database = database
        self.broker_port = broker_port
        super().__init__(folder, evidence, programs, settings)
        self.port = broker_port
        second = folder / "state-2"
        second.mkdir(mode=0o700)
        port = free_port()
        program = Program("authority-2", self._authority("serve"), folder, {
            "POSTERN_HTTP_LISTEN": f"127.0.0.1:{port}", "POSTERN_STATE_DIR": str(second)})
        self.replicas = [Replica(self.server, self.http_port), Replica(program, port).start()]
        self.token = self._log_in()

    def start(self) -> None:
        self.port = self.broker_port
        super().start()

    def ask(self, method: str, path: str, body: dict | None = None) -> dict:
        """What one of them answers: the first that lets us in, as a load balancer would."""
        for replica in self.replicas:
            try:
                status, answer = request(replica.port, method, path, body, self.token)
            except ConnectionRefusedError:
                continue
            except (OSError, http.client.HTTPException) as broken:
                raise Unserved(f"{method} {path}: {broken!r}") from broken
            if not 200 <= status < 300:
                raise Unserved(f"{method} {path}: {status} {answer}")
            return answer
        raise Unserved(f"{method} {path}: nobody listens")

    def run_authority(self, *arguments, **env) -> subprocess.CompletedProcess:
        """One command to its end, with `env` besides the configuration."""
        return self._kept(run(self._authority(*arguments), timeout=180, env=env))

    def close(self) -> None:
        for replica in reversed(self.replicas):
            if replica.program.is_running:
                replica.program.stop(30)
        super().close()

    def logs(self) -> list[tuple[str, str]]:
        return [*super().logs(), ("the other authority", self.replicas[1].program.log)]

    def _log_in(self) -> str:
        password = self.password_file.read_text()
        status, answer = request(
            self.http_port, "POST", "/parse/login", {"username": ADMIN, "password": password})
        assert status == 200, answer
        self.evidence.add_secret("a session token", answer["sessionToken"])
        return answer["sessionToken"]

    def _write_config(self, settings: str, http_lines: str) -> Path:
        config = super()._write_config(settings, http_lines)
        path = config / "authority.toml"
        key = self.folder / "master.key"
        self.evidence.ours.add(key)
        path.write_text(
            f'store = "{self.database}"\nmaster_key_file = "{key}"\n' + path.read_text())
        return config

    def _broker_lines(self) -> str:
        return (f'mode = "external"\nuri = "mqtt://127.0.0.1:{self.broker_port}"\n'
                'access = "none"\n')


class UnsharingBroker:
    """A way to a broker on which it says that it shares no subscription.

    Source: MQTT 5 §3.2.2.3.13.
    """

    def __init__(self, broker: Broker):
        self.broker = broker
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in [self._server, *self._sockets]:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                ours, _ = self._server.accept()
                theirs = socket.create_connection(("127.0.0.1", self.broker.port))
            except OSError:
                return
            self._sockets += [ours, theirs]
            threading.Thread(target=_pass, args=(ours, theirs), daemon=True).start()
            threading.Thread(
                target=_pass, args=(theirs, ours, unsharing), daemon=True).start()


def unsharing(packet: bytes) -> bytes:
    """A CONNACK of MQTT 5 with the property; anything else as it is."""
    if packet[0] != 0x20 or packet[1] > 120 or len(packet) < packet[1] + 2:
        return packet
    return (bytes([0x20, packet[1] + 2, *packet[2:4], packet[4] + 2]) + b"\x2a\x00"
            + packet[5:])


def _pass(source: socket.socket, sink: socket.socket, change=None) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(change(data) if change else data)
            change = None
    except OSError:
        pass
    for each in (source, sink):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def request(
    port: int, method: str, path: str, body: dict | None = None, token: str | None = None
) -> tuple[int, dict]:
    """One request on a connection of its own; status and JSON of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"X-Parse-Application-Id": "postern", "Content-Type": "application/json"}
    if token is not None:
        headers["X-Parse-Session-Token"] = token
    try:
        connection.request(
            method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")
    finally:
        connection.close()


class Load:
    """Somebody who does one thing again and again, and keeps what went wrong."""

    def __init__(self, act, pause: float = 0.05):
        self.done = 0
        self.faults: list[str] = []
        self.slowest = 0.0
        self._act, self._pause = act, pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            begun = time.monotonic()
            try:
                self._act()
                self.done += 1
            except Exception as fault:  # noqa: BLE001, it is what the test looks at
                self.faults.append(repr(fault))
            self.slowest = max(self.slowest, time.monotonic() - begun)
            self._stop.wait(self._pause)

    def progress(self, count: int = 3, timeout: float = 60.0) -> None:
        goal = self.done + count
        until(lambda: self.done >= goal or self.faults, "the load to go on", timeout)

    def end(self) -> "Load":
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "the load did not end"
        return self


def fresh_name() -> str:
    return f"replicas_{secrets.token_hex(4)}"
