"""The costliest JSON that a stranger, a board and an authority may send, and what others notice.

The times are measurements. What fails a test is a wait that only an outage explains.
"""

import http.client
import statistics
import threading
import time

import pytest

from authority_fixtures import bench as authority  # noqa: F401, a fixture
from bench.agent_bench import AgentBench
from house_fixtures import measure  # noqa: F401, a fixture
from postern_contract import topics

# They keep the processors busy.
pytestmark = pytest.mark.slow

# Each fills its limit with what costs a reader most. A batch takes 64 KiB from anybody.
BATCH, MESSAGE = 64 * 1024, 64 * 1024
CONNECTIONS = 40
SECONDS = 3
# Of an authority that is not out of service, also on a machine that does other things.
PATIENCE = 30.0


def filled(prefix: bytes, unit: bytes, end: bytes, size: int) -> bytes:
    return prefix + unit * ((size - len(prefix) - len(end)) // len(unit)) + end


def costly(size: int) -> dict[str, bytes]:
    return {
        "brackets": filled(b'{"a":', b"[", b"", size),
        "escapes": filled(b'{"a":"', b"\\u00e9", b'"}', size),
        "fractions": filled(b'{"a":[0.1', b",1.7976931348623157e308", b"]}", size),
        "values": filled(b'{"a":[0', b",0", b"]}", size),
        "names": b"{" + b",".join(b'"%d":0' % n for n in range(size // 9)) + b"}",
    }


def percentile(spans: list[float], share: float) -> float:
    return sorted(spans)[int(share * (len(spans) - 1))]


class Crowd:
    """Threads that do the same thing again and again until they are told to stop."""

    def __init__(self, count: int, act):
        self._is_over = threading.Event()
        self.acts = 0
        self._threads = [
            threading.Thread(target=self._repeat, args=(act,), daemon=True) for _ in range(count)]

    def _repeat(self, act) -> None:
        state = None
        while not self._is_over.is_set():
            state = act(state)
            self.acts += 1

    def __enter__(self) -> "Crowd":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(10)


def spans_of(act, seconds: float) -> list[float]:
    """How long each took, one after the other for so many seconds."""
    end, spans = time.monotonic() + seconds, []
    while time.monotonic() < end:
        begun = time.monotonic()
        act()
        spans.append(time.monotonic() - begun)
        time.sleep(0.02)
    return spans


@pytest.mark.parametrize("kind", costly(64))
def test_a_body_of_anybody_stops_nobody(authority, measure, kind):  # noqa: F811
    body = costly(BATCH)[kind]
    board = authority.live_board(f"board-{kind}")

    def attack(connection):
        try:
            connection = connection or http.client.HTTPConnection(
                "127.0.0.1", authority.http_port, timeout=PATIENCE)
            connection.request("POST", "/parse/batch", body)
            connection.getresponse().read()
            return connection
        except OSError:
            return None

    def health() -> None:
        connection = http.client.HTTPConnection(
            "127.0.0.1", authority.http_port, timeout=PATIENCE)
        connection.request("GET", "/postern/v1/health")
        assert connection.getresponse().status == 200
        connection.close()

    with Crowd(CONNECTIONS, attack) as crowd:
        probes = spans_of(health, SECONDS)
        beats = spans_of(board.beat, SECONDS / 2)
        assert crowd.acts
    told = f"{CONNECTIONS} connections, 64 KiB of {kind}"
    measure.milliseconds(f"{told}: /health p99", percentile(probes, 0.99))
    measure.milliseconds(f"{told}: heartbeat p99", percentile(beats, 0.99))


def test_two_boards_leave_a_third_unaffected(authority, measure):  # noqa: F811
    loud = [authority.live_board(f"loud-{n}") for n in range(2)]
    quiet = authority.live_board("quiet")
    alone = statistics.median(spans_of(quiet.beat, 1))
    bodies = list(costly(MESSAGE).values())
    # Sealed well, so that the authority has to look inside; and as an envelope.
    sealed = [[board.seal(b) for b in bodies] for board in loud]

    def attack_by(number: int):
        def attack(count):
            count = (count or 0) + 1
            payload = (sealed[number] + bodies)[count % (2 * len(bodies))]
            loud[number].link.publish(topics.outbox(loud[number].iid), payload, wait=False)
            time.sleep(1 / 8)
            return count
        return attack

    with Crowd(1, attack_by(0)), Crowd(1, attack_by(1)):
        beats = spans_of(quiet.beat, SECONDS)
    measure.milliseconds("a heartbeat alone, median", alone)
    measure.milliseconds("beside two boards with 8 costly messages a second, median",
                         statistics.median(beats))
    measure.milliseconds("the same, p99", percentile(beats, 0.99))


def test_eight_to_an_agent_hardly_stop_its_bus(tmp_path, evidence, programs, measure):  # noqa: F811
    bench = AgentBench(tmp_path, evidence, programs)
    try:
        board = bench.live()
        app = bench.app()
        app.write("Reading")
        alone = max(spans_of(lambda: app.write("Reading"), 2))
        for kind, body in costly(MESSAGE).items():
            for payload in (body, bench.authority.seal(board, body)):
                for _ in range(8):
                    bench.authority.send(board, payload)
            worst = max(spans_of(lambda: app.write("Reading"), 1))
            measure.milliseconds(f"sixteen times {kind}: the bus's longest answer", worst)
            assert worst < PATIENCE
        measure.milliseconds("the bus's longest answer alone", alone)
    finally:
        bench.close()
