"""`postern simulate` against a real authority and the broker that it starts."""

import json

import pytest

from authority_fixtures import bench  # noqa: F401, a fixture

pytestmark = pytest.mark.slow


def test_load_without_pauses(bench):
    done = bench.cli("simulate", "--boards", "40", "--in-flight", "4", "--duration", "2s",
                     "--spread", "0s", "--mix", "heartbeat", "--mix", "both", "--json")
    assert done.returncode == 0, done.stderr
    first, both = (json.loads(line) for line in done.stdout.splitlines())
    assert first["refreshes"]["answered"] == 0
    assert first["heartbeats"]["answered"] > 8 and first["heartbeats"]["p99Ms"] > 0
    assert both["refreshes"]["answered"] > 8
    # Without pauses a busy machine may be overloaded, and says so.
    assert [e["text"] for e in both["errors"] if "overloaded" not in e["text"]] == []
    assert first["requestBytes"] > 100 and first["replyBytes"] > 100
    assert "✓ 40 of 40 boards hold their sessions" in done.stderr
    assert len([s for s in bench.cli_json("boards", "list")
                if s["name"] == "simulated"]) == 40


def test_refused_claim_ends_it_with_the_number(bench):
    done = bench.cli("simulate", "--boards", "2", "--duration", "1s", "--lifetime", "1s")
    assert done.returncode == 1 and "142" in done.stderr
