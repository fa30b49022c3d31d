"""A broker that sends malformed MQTT 5, plainly and behind TLS: it ends connections, never the
program. libmosquitto 2.0.11 would end the process at a good part of these."""

import itertools
import socket
import ssl
import threading

import pytest

from agent_fixtures import make_bench  # noqa: F401, a fixture
from bench.certificates import Authority
from bench.program import run
from house_fixtures import measure  # noqa: F401, a fixture

pytestmark = pytest.mark.slow

# What may stand in each packet. Source: MQTT 5, section 2.2.2.2.
TOLD = {0x1F, 0x26}
ALLOWED = {
    "CONNACK": TOLD | {0x11, 0x12, 0x13, 0x15, 0x16, 0x1A, 0x1C, 0x21, 0x22, 0x24, 0x25, 0x27,
                       0x28, 0x29, 0x2A},
    "PUBLISH": {0x01, 0x02, 0x03, 0x08, 0x09, 0x0B, 0x23, 0x26},
    "PUBACK": TOLD, "PUBREC": TOLD, "PUBREL": TOLD, "PUBCOMP": TOLD, "SUBACK": TOLD,
    "UNSUBACK": TOLD, "DISCONNECT": TOLD | {0x11, 0x1C}, "AUTH": set(),
}
HEADS = {
    "CONNACK": (0x20, b"\0\0"), "PUBLISH": (0x32, b"\0\1a\0\1"), "PUBACK": (0x40, b"\0\1\0"),
    "PUBREC": (0x50, b"\0\1\0"), "PUBREL": (0x62, b"\0\1\0"), "PUBCOMP": (0x70, b"\0\1\0"),
    "SUBACK": (0x90, b"\0\1"), "UNSUBACK": (0xB0, b"\0\1"), "DISCONNECT": (0xE0, b"\0"),
    "AUTH": (0xF0, b"\0"),
}
NUMBERS = {0x01: 1, 0x17: 1, 0x19: 1, 0x24: 1, 0x25: 1, 0x28: 1, 0x29: 1, 0x2A: 1,
           0x13: 2, 0x21: 2, 0x22: 2, 0x23: 2, 0x02: 4, 0x11: 4, 0x18: 4, 0x27: 4, 0x0B: 1}
WELCOME = b"\x20\x03\0\0\0"


def prop(id_: int) -> bytes:
    if id_ in NUMBERS:
        return bytes([id_]) + b"\1".rjust(NUMBERS[id_], b"\0")
    return bytes([id_]) + b"\0\1a" * (2 if id_ == 0x26 else 1)


def packet(name: str, properties: bytes) -> bytes:
    first, start = HEADS[name]
    body = start + bytes([len(properties)]) + properties
    return bytes([first, len(body)]) + body


def misplaced() -> list[bytes]:
    """Each property in each packet where it may not stand, alone and behind a fine one."""
    known = sorted(set(NUMBERS) | TOLD | {0x03, 0x08, 0x09, 0x12, 0x15, 0x16, 0x1A, 0x1C})
    return [packet(name, before + prop(id_))
            for name in HEADS for id_ in known if id_ not in ALLOWED[name]
            for before in (b"", prop(0x26))]


def spoiled() -> list[bytes]:
    """Lengths that are not so, one property twice, what is no property."""
    whole = [packet(name, prop(0x26)) for name in HEADS]
    twice = [packet(name, prop(0x1F) * 2) for name in HEADS]
    unknown = [packet(name, bytes([id_, 0, 0])) for name in HEADS for id_ in (0, 5, 0x2B, 0x7F)]
    short = [bytes([one[0], length]) + one[2:] for one in whole for length in range(len(one) - 2)]
    return twice + unknown + short + [b"\x20\x07\0\0\4\x18\0\0\0", b"\x30\xff\xff\xff\x7f"]


class HostileBroker:
    """Says one sequence to each client after its CONNECT, a CONNACK before it if it is none, and
    hangs up a moment later."""

    def __init__(self, sequences: list[bytes], tls: ssl.SSLContext | None):
        self._said = itertools.cycle(
            [one if one[0] == WELCOME[0] else WELCOME + one for one in sequences])
        self.count = 0
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                self._say(client)
            except OSError:
                pass
            finally:
                client.close()

    def _say(self, client: socket.socket) -> None:
        client.settimeout(5)
        if self._tls:
            client = self._tls.wrap_socket(client, server_side=True)
        if not client.recv(65_536):
            return
        client.sendall(next(self._said))
        self.count += 1
        # The client's end of it: it hangs up, or waits for more.
        client.settimeout(0.05)
        try:
            while client.recv(65_536):
                pass
        except TimeoutError:
            pass
        client.close()

    def close(self) -> None:
        self._listener.close()


@pytest.mark.parametrize("has_tls", [False, True], ids=["plain", "tls"])
def test_no_packet_ends_the_program(  # noqa: F811, fixtures
    make_bench, tmp_path, measure, has_tls,
):
    bench = make_bench()
    bench.pair()
    known = Authority(tmp_path / "ca", "known")
    tls = None
    if has_tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*known.issue("broker", "localhost"))
    sequences = misplaced() + spoiled()
    broker = HostileBroker(sequences, tls)
    agent = bench.config / "agent.toml"
    place = f"mqtts://localhost:{broker.port}" if has_tls else f"mqtt://127.0.0.1:{broker.port}"
    agent.write_text(agent.read_text().replace(
        f"mqtt://127.0.0.1:{bench.port}\"",
        f'{place}"\nca_file = "{known.file}"' if has_tls else f'{place}"'))
    others = ("local-broker", "bus-acl", "bus-queue", "disk-health")
    argv = bench._argv("doctor", *(o for id_ in others for o in ("--dont-run", id_)))
    ended = []
    try:
        # Doctor connects once or more in a run; each connection hears the next sequence.
        for _ in range(2 * len(sequences)):
            if broker.count >= len(sequences):
                break
            done = run(argv)
            if done.returncode < 0:
                ended.append(done.returncode)
    finally:
        broker.close()
    measure.tell(f"{broker.count} malformed sequences {'behind TLS' if has_tls else 'plainly'}: "
                 "runs of the program that they ended", len(ended))
    assert broker.count >= len(sequences)
    assert ended == []
