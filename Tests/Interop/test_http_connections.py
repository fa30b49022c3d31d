"""Strangers that hold the real authority's HTTP connections, and a probe from elsewhere.

Every address of 127.0.0.0/8 is an address of its own here. POSTERN_LONG=1: a minute of each.
"""

import http.client
import os
import socket
import threading
import time

import pytest

from authority_fixtures import bench  # noqa: F401, fixture

pytestmark = pytest.mark.slow

# For a probe on a machine that compiles meanwhile.
PATIENCE = 20
SECONDS = 60 if os.environ.get("POSTERN_LONG") else 6
PROBE = ("127.0.0.2", 0)


class Holder(threading.Thread):
    """Holds connections that send half a header, and makes each again that is closed."""

    def __init__(self, port: int, addresses: list[str], each: int):
        super().__init__(daemon=True)
        self.port = port
        self.places = [address for address in addresses for _ in range(each)]
        self.held: list[socket.socket | None] = [None] * len(self.places)
        self.closed = 0
        self.is_full = threading.Event()
        self.ending = threading.Event()

    def run(self):
        while not self.ending.wait(0.05):
            for index, address in enumerate(self.places):
                if self.ending.is_set():
                    break
                if self.held[index] is None:
                    self.held[index] = self._opened(address)
                elif self._is_closed(self.held[index]):
                    self.closed += 1
                    self.held[index].close()
                    self.held[index] = None
            self.is_full.set()
        for connection in self.held:
            if connection is not None:
                connection.close()

    def _opened(self, address: str) -> socket.socket:
        connection = socket.socket()
        connection.bind((address, 0))
        connection.setblocking(False)
        connection.connect_ex(("127.0.0.1", self.port))
        return connection

    @staticmethod
    def _is_closed(connection: socket.socket) -> bool:
        try:
            connection.send(b"GET / HTTP/1.1\r\nX: y")
            return connection.recv(16) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def stop(self):
        self.ending.set()
        self.join(30)
        assert not self.is_alive()


def probe(port: int) -> float:
    """How long the authority took to say that it is well, in seconds."""
    begin = time.monotonic()
    connection = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=PATIENCE, source_address=PROBE)
    try:
        connection.request("GET", "/postern/v1/health")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    finally:
        connection.close()
    return time.monotonic() - begin


@pytest.mark.parametrize("addresses, each", [
    pytest.param(["127.0.0.3"], 1200, id="of one address"),
    pytest.param([f"127.0.1.{host}" for host in range(1, 21)], 64, id="of twenty addresses"),
])
def test_held_connections_lose_no_probe_from_another_address(
        bench, addresses, each, record_property):
    holder = Holder(bench.http_port, addresses, each)
    holder.start()
    took, lost = [], []
    try:
        assert holder.is_full.wait(30)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                took.append(probe(bench.http_port))
            except (OSError, http.client.HTTPException) as error:
                lost.append(repr(error))
            time.sleep(0.1)
    finally:
        holder.stop()
    record_property("probes", len(took))
    record_property("slowest_seconds", round(max(took, default=0), 3))
    record_property("connections_closed", holder.closed)
    print(f"{len(took)} probes, slowest {max(took, default=0):.3f} s, "
          f"{holder.closed} held connections closed")
    assert lost == [] and took
    # They are closed to keep the bounds.
    assert holder.closed > 0


def test_a_header_that_drips_is_cut_off_after_ten_seconds(bench):
    with socket.create_connection(("127.0.0.1", bench.http_port), timeout=60) as connection:
        begin = time.monotonic()
        connection.sendall(b"GET /postern/v1/health HTTP/1.1\r\n")
        with pytest.raises(OSError):
            while time.monotonic() - begin < 50:
                connection.sendall(b"a: b\r\n")
                time.sleep(1)
    assert 8 < time.monotonic() - begin < 40
