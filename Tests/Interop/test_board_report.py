"""The real `postern-agent`: what a board tells upstream of its queue, its refusals, its rules."""

import json
import os

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.waiting import until
from postern_contract import topics

POLICY = """\
default = "allow"

[app.thermo]
max_bytes = "64 KiB"

# A comment moves the rules down.
[[rule]]
app = "thermo"
class = "Reading"
allow = ["create"]
fields = { celsius = "number(-40..85)", unit = "string?" }
max_bytes = "4 KiB"
"""
RULE = "policy.toml:7"


def _heartbeat(bench, since: int, has) -> dict:
    """The first heartbeat after `since` with such a report, as its report."""
    return bench.authority.wait_request(
        lambda r: r.type == "session.authenticate" and has(r.body.get("report", {})),
        since=since, timeout=60,
    ).body["report"]


def _statuses(bench, board) -> list[dict]:
    topic = topics.status(board.iid)
    return [json.loads(m.payload) for m in list(bench.observer.heard) if m.topic == topic]


def test_heartbeat_carries_the_report_and_status_the_numbers(make_bench):
    bench = make_bench(policy=POLICY)
    bench.authority.heartbeat = 3
    board = bench.live()
    first = _heartbeat(bench, 0, lambda report: "policy" in report)
    assert first["queue"] == {"messages": 0, "bytes": 0, "oldest": None}
    assert (first["refused"], first["refusals"]) == (0, [])
    assert first["policy"] == {
        "default": "allow", "apps": {"thermo": {"max_bytes": 65536}},
        "rules": [{
            "app": "thermo", "class": "Reading", "allow": ["create"], "max_bytes": 4096,
            "fields": {"celsius": "number(-40..85)", "unit": "string?"}, "line": 7,
        }],
    }
    app, mark, asked = bench.app("thermo"), bench.observer.mark(), bench.authority.mark()
    assert app.write("Reading", b'{"celsius": 99}')["rule"] == RULE
    # `explain` names the same rule, so a person finds what refused.
    told = json.loads(bench.command(
        "policy", "explain", "thermo", "update", "Reading", "--json", ok=(0, 1)))
    assert RULE in json.dumps(told)
    told = bench.wait_status(board.iid, since=mark, refused=1)
    assert (told["status"], told["queue"]) == ("up", 0)
    statuses = _statuses(bench, board)
    before = statuses[statuses.index(told) - 1]
    # News of numbers leaves all else as it was, `since` too.
    assert before == {**told, "refused": 0}
    report = _heartbeat(bench, asked, lambda report: report["refused"] == 1)
    assert report["refusals"] == [{"app": "thermo", "rule": RULE, "count": 1}]
    # The rules were told and answered: no heartbeat repeats them until they change.
    assert "policy" not in report
    asked = bench.authority.mark()
    policy = bench.config / "policy.toml"
    fresh = policy.with_name("policy.toml.new")
    fresh.write_text('default = "deny"\n')
    os.chmod(fresh, 0o640)
    os.rename(fresh, policy)
    changed = _heartbeat(bench, asked, lambda report: "policy" in report)
    assert changed["policy"] == {"default": "deny", "rules": []}


def test_status_tells_how_much_waits(bench):
    board = bench.live()
    app = bench.app()
    bench.stop_broker()
    until(lambda: bench.status()["uplink"] != "connected", "the uplink to be gone", 60)
    for number in range(5):
        assert "seq" in app.write("Reading", b"%d" % number)
    mark = bench.observer.mark()
    bench.resume_broker(board.iid)
    bench.wait_status(board.iid, since=mark, status="up", queue=5, timeout=60)
    bench.wait_status(board.iid, since=mark, status="up", queue=0, timeout=60)
