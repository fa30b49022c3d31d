"""The real `postern-agent`: what a refused program is told, and a mad one."""

import json
import shutil
import subprocess
import time

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import measure  # noqa: F401, a fixture
from postern_contract import topics

FLOOD = 10_000
POLICY = """\
default = "allow"
[[rule]]
class = "Reading"
allow = ["create"]
fields = { celsius = "number(-40..85)", at = { lat = "number", lon = "number" } }
"""


def _told(app) -> list[dict]:
    """All refusals and summaries that it was sent, as bodies."""
    own = (topics.app(app.name, "rejected"), topics.app(app.name, "answers"))
    bodies = [json.loads(m.payload) for m in list(app.link.heard) if m.topic in own]
    return [body for body in bodies if "code" in body]


@pytest.mark.slow
@pytest.mark.parametrize("is_asked", [False, True], ids=["silently", "with a response topic"])
def test_a_mad_app_is_told_a_bounded_number_of_times(bench, is_asked, measure):
    board = bench.live()
    mad, door = bench.app("mad"), bench.app("door")
    options = {"response_topic": topics.app("mad", "answers")} if is_asked else {}
    start, slowest = time.monotonic(), 0.0
    for number in range(FLOOD):
        mad.link.publish(topics.app("mad", "create", "_User"), b"{}", wait=False, **options)
        if number % 1000 == 500:
            asked = time.monotonic()
            assert "seq" in door.write("Reading", b"calm %d" % number)
            slowest = max(slowest, time.monotonic() - asked)
    until(lambda: sum(b.get("count", 1) for b in _told(mad)) >= FLOOD, "all to be told of", 240)
    seconds = time.monotonic() - start
    told = _told(mad)
    summaries = [body for body in told if "count" in body]
    assert sum(body.get("count", 1) for body in told) == FLOOD
    assert summaries and len(summaries) <= seconds + 2
    assert len(told) <= 500 + 101 * (seconds + 2)
    measure.tell("refused, told, summaries", f"{FLOOD}, {len(told)}, {len(summaries)}")
    measure.milliseconds("another app's slowest answer meanwhile", slowest)
    for body in summaries:
        assert {"code", "error", "rule", "class", "op", "topic", "id", "count"} <= set(body)
        assert (body["code"], body["class"], body["op"]) == (119, "_User", "create")
    count = {"app": "mad", "rule": "builtin:protected-class", "count": FLOOD}
    assert bench.status()["refusals"] == [count]
    _wait_health(bench, [count])
    assert len(bench.agent.log.splitlines()) < 60
    bench.wait_data(board, b"calm 500")


def test_a_mad_program_in_c_is_told_no_more(bench, measure):
    """mosquitto_pub is a good deal faster than the other tests' client."""
    board = bench.live()
    mad, door = bench.app("mad"), bench.app("door")
    pub = shutil.which("mosquitto_pub")
    if pub is None:
        pytest.skip("mosquitto_pub is not installed")
    argv = [pub, "-p", str(bench.bus.port), "-u", "mad", "-V", "5", "-q", "1", "-l",
            "-t", topics.app("mad", "create", "_User")]
    start = time.monotonic()
    flood = subprocess.Popen(argv, stdin=subprocess.PIPE)
    try:
        flood.stdin.write(b"{}\n" * FLOOD)
        flood.stdin.close()
        assert "seq" in door.write("Reading", b"calm")
        waited = time.monotonic() - start
        assert flood.wait(240) == 0
        seconds = time.monotonic() - start
    finally:
        flood.kill()
    until(lambda: sum(b.get("count", 1) for b in _told(mad)) >= FLOOD, "all to be told of", 240)
    told = _told(mad)
    assert sum(body.get("count", 1) for body in told) == FLOOD
    assert len(told) <= 500 + 101 * (time.monotonic() - start + 2)
    measure.tell("refused, told, seconds of flood", f"{FLOOD}, {len(told)}, {seconds:.2f}")
    measure.milliseconds("another app's answer meanwhile", waited)
    bench.wait_data(board, b"calm")


def _wait_health(bench, refusals: list[dict]) -> None:
    def says(message) -> bool:
        return (message.topic == topics.BUS_HEALTH
                and json.loads(message.payload)["refusals"] == refusals)

    bench.watcher.wait(says, f"health to count {refusals}", timeout=60)


def test_a_refusal_names_the_field(make_bench):
    bench = make_bench(policy=POLICY)
    bench.live()
    app = bench.app()
    for payload, code, field in [
        (b'{"celsius":90,"at":{"lat":1,"lon":2}}', 142, "celsius"),
        (b'{"celsius":20,"at":{"lat":"1","lon":2}}', 111, "at.lat"),
        (b'{"celsius":20,"at":{"lat":1,"lon":2},"x":1}', 119, "x"),
        (b'{"celsius":20}', 142, "at"),
    ]:
        refused = app.write("Reading", payload)
        assert (refused["code"], refused["field"]) == (code, field)
        assert refused["rule"] == "policy.toml:2"
        assert (refused["class"], refused["op"]) == ("Reading", "create")
        assert refused["topic"] == topics.app("thermo", "create", "Reading")
    assert "at.lat" in bench.command("status", ok=(0, 3)) or bench.status()["refused"] == 4


def test_status_shows_people_who_is_refused(bench):
    bench.live()
    app = bench.app("thermo")
    for _ in range(3):
        assert app.write("_Role")["code"] == 119
    shown = bench.command("status", ok=(0, 3))
    assert "3 since the agent's start: thermo 3 by builtin:protected-class" in shown


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
