"""The page's own TLS, met by clients that speak it well, badly, slowly or not at all."""

import http.client
import json
import socket
import ssl
import struct
import threading
import time

import pytest

from bench.tls_house import TLSHouse
from bench.waiting import until

HEALTH = b"GET /postern/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGEST = "/console/style.css"


@pytest.fixture(scope="module")
def house(tmp_path_factory, evidence, programs):
    house = TLSHouse(tmp_path_factory.mktemp("page"), evidence, programs)
    yield house
    house.close()


def context(house, **settings) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(house.ca_file))
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def connect(house) -> socket.socket:
    return socket.create_connection(("127.0.0.1", house.http_port), timeout=60)


def wrapped(house, made: ssl.SSLContext | None = None) -> ssl.SSLSocket:
    return (made or context(house)).wrap_socket(connect(house), server_hostname="localhost")


def is_well(house) -> bool:
    with wrapped(house) as page:
        page.sendall(HEALTH)
        return page.recv(4096).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_are_spoken_with_ciphers_that_keep_the_past(house, version):
    with wrapped(house, context(house, minimum_version=version, maximum_version=version)) as page:
        assert page.version() == version.name.replace("_", ".")
        name = page.cipher()[0]
        assert "GCM" in name or "CHACHA20" in name
        page.sendall(HEALTH)
        assert page.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_old_ciphers_are_refused(house):
    made = context(house, maximum_version=ssl.TLSVersion.TLSv1_2)
    made.set_ciphers("AES256-GCM-SHA384:ECDHE-ECDSA-AES256-SHA:AES128-SHA:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError):
        wrapped(house, made)
    assert is_well(house)


@pytest.mark.parametrize("offered, chosen", [
    (["http/1.1"], "http/1.1"), (["h2", "http/1.1"], "http/1.1"), ([], None)])
def test_protocol_is_agreed(house, offered, chosen):
    made = context(house)
    if offered:
        made.set_alpn_protocols(offered)
    with wrapped(house, made) as page:
        assert page.selected_alpn_protocol() == chosen


def test_client_without_a_common_protocol_hears_so(house):
    made = context(house)
    made.set_alpn_protocols(["h2"])
    with pytest.raises(ssl.SSLError, match="NO_APPLICATION_PROTOCOL|no application protocol"):
        wrapped(house, made)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_no_session_is_resumed(house, version):
    """So that a client's certificate is checked each time."""
    made = context(house, minimum_version=version, maximum_version=version)
    with wrapped(house, made) as page:
        page.sendall(HEALTH)
        page.recv(4096)
        first = page.session
    assert not first.has_ticket
    with made.wrap_socket(connect(house), server_hostname="localhost", session=first) as page:
        assert not page.session_reused


def test_many_requests_and_long_answers_share_a_connection(house):
    page = http.client.HTTPSConnection(
        "localhost", house.http_port, context=context(house), timeout=60)
    texts = set()
    for path in ["/postern/v1/health", LARGEST] * 20:
        page.request("GET", path)
        answer = page.getresponse()
        assert answer.status == 200
        texts.add((path, answer.read()))
    assert len(texts) == 2
    page.close()


def test_long_body_arrives(house):
    page = http.client.HTTPSConnection(
        "localhost", house.http_port, context=context(house), timeout=60)
    body = json.dumps({"username": "ada", "password": "x" * 60_000})
    page.request("POST", "/postern/v1/login", body, {"Content-Type": "application/json"})
    assert 400 <= page.getresponse().status < 500
    page.close()


def test_bytes_may_come_one_at_a_time(house):
    """Each in a segment of its own, the handshake's too."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    spoken = context(house).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with connect(house) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def drip() -> None:
            for byte in outgoing.read():
                plain.sendall(bytes([byte]))

        while True:
            try:
                spoken.do_handshake()
                break
            except ssl.SSLWantReadError:
                drip()
                incoming.write(plain.recv(65536))
        spoken.write(HEALTH)
        drip()
        while True:
            try:
                assert spoken.read(4096).startswith(b"HTTP/1.1 200 ")
                break
            except ssl.SSLWantReadError:
                incoming.write(plain.recv(65536))


def test_end_of_what_a_client_sends_is_not_the_end_of_the_answer(house):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    spoken = context(house).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with connect(house) as plain:
        while True:
            try:
                spoken.do_handshake()
                break
            except ssl.SSLWantReadError:
                plain.sendall(outgoing.read())
                incoming.write(plain.recv(65536))
        spoken.write(f"GET {LARGEST} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        with pytest.raises(ssl.SSLWantReadError):
            spoken.unwrap()
        plain.sendall(outgoing.read())
        plain.shutdown(socket.SHUT_WR)
        while chunk := plain.recv(65536):
            incoming.write(chunk)
        text = b""
        try:
            while more := spoken.read(65536):
                text += more
        except (ssl.SSLZeroReturnError, ssl.SSLSyscallError, ssl.SSLWantReadError):
            pass
        head, _, body = text.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        assert len(body) == length


@pytest.mark.parametrize("bytes_sent", [
    HEALTH, b"\x16\x03\x01\xff\xff" + b"\0" * 40, b"\x80" * 5, b"\x15\x03\x03\x00\x02\x02\x28",
    b"\x17\x03\x03\x40\x10" + b"a" * 100])
def test_who_speaks_no_tls_is_hung_up_on(house, bytes_sent):
    with connect(house) as plain:
        plain.sendall(bytes_sent)
        plain.shutdown(socket.SHUT_WR)
        said = b""
        while chunk := plain.recv(4096):
            said += chunk
    # At most one alert, never an answer in clear.
    assert b"HTTP" not in said and len(said) <= 7
    assert is_well(house)


def test_damaged_record_ends_the_connection(house):
    with connect(house) as plain:
        page = context(house).wrap_socket(plain, server_hostname="localhost")
        raw = socket.socket(fileno=page.detach())
        raw.settimeout(60)
        raw.sendall(b"\x17\x03\x03\x00\x20" + b"a" * 32)
        said = b""
        while chunk := raw.recv(4096):
            said += chunk
        raw.close()
    assert b"HTTP" not in said
    assert is_well(house)


def test_handshake_that_does_not_end_is_ended(house):
    """Ten seconds, also for who sends a byte now and then."""
    begun = time.monotonic()
    with connect(house) as silent, connect(house) as dripping:
        dripping.sendall(b"\x16\x03\x01\x02\x00\x01")
        stop = threading.Event()

        def drip() -> None:
            try:
                while not stop.wait(0.5):
                    dripping.sendall(b"\0")
            except OSError:
                pass

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            assert silent.recv(16) == b""
            try:
                assert len(dripping.recv(16)) <= 7
            except ConnectionError:
                pass
        finally:
            stop.set()
            thread.join()
    print(f"hung up on after {time.monotonic() - begun:.1f} s")
    assert is_well(house)


def test_clients_that_vanish_leave_nothing(house):
    def connections() -> int:
        with open(f"/proc/{house.server.process.pid}/net/tcp", encoding="ascii") as table:
            port = f":{house.http_port:04X}"
            return sum(line.split()[1].endswith(port) and line.split()[3] == "01"
                       for line in table.readlines()[1:])

    for _ in range(20):
        page = wrapped(house)
        page.sendall(f"GET {LARGEST} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 20)
        page.recv(1)
        # A reset instead of an end.
        page.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        page.close()
    until(lambda: connections() == 0, "the connections to be gone", 60)
    assert is_well(house)
