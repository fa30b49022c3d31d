"""`postern simulate` against a real authority and the broker that it starts."""

import json

import pytest

from authority_fixtures import bench  # noqa: F401, a fixture

pytestmark = pytest.mark.slow


def test_boards_with_logins_of_their_own(bench):
    done = bench.cli("simulate", "--boards", "4", "--connections", "4", "--in-flight", "4",
                     "--duration", "2s", "--mix", "heartbeat", "--mix", "both", "--json")
    assert done.returncode == 0, done.stderr
    first, both = (json.loads(line) for line in done.stdout.splitlines())
    assert first["mix"] == "heartbeat" and first["refreshes"]["count"] == 0
    assert first["heartbeats"]["count"] > 4 and first["heartbeats"]["p99Ms"] > 0
    assert both["refreshes"]["count"] > 4 and both["errors"] == []
    assert "✓ 4 boards hold their sessions" in done.stderr
    assert len([s for s in bench.cli_json("boards", "list")
                if s["name"] == "simulated"]) == 4


def test_refused_claim_ends_it_with_the_number(bench):
    done = bench.cli("simulate", "--boards", "2", "--connections", "2", "--in-flight", "2",
                     "--duration", "1s", "--lifetime", "1s")
    assert done.returncode == 1 and "142" in done.stderr


def test_shared_connections_need_an_open_broker(bench):
    done = bench.cli("simulate", "--boards", "2", "--in-flight", "1", "--duration", "1s")
    assert done.returncode == 1 and "login" in done.stderr, done.stderr
