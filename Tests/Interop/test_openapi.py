"""Every operation of `Provisioning/openapi.yaml`, called with much that fits it and much that does
not (Schemathesis): no answer may be a server's error, have a status or a type of content that the
file does not name, or another shape than the file says."""

import atexit
import json
import os
import shutil
import tempfile
import urllib.request
from pathlib import Path

# Hypothesis keeps what it learned beside the test otherwise, and it is asked when imported.
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = tempfile.mkdtemp(prefix="postern-openapi-")
atexit.register(shutil.rmtree, os.environ["HYPOTHESIS_STORAGE_DIRECTORY"], ignore_errors=True)

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import checks

from bench.authority_bench import ADMIN, AuthorityBench

FILE = Path(__file__).resolve().parents[2] / "Provisioning" / "openapi.yaml"
# It answers until its session ends; `test_events_are_a_stream` reads it.
ENDLESS = ["events"]
# They end the session that asks, so they get one that is over already.
ENDING = ["logOut", "endOwnSession", "upgradeSession", "consoleLogOut", "revokeAll", "setPassword",
          "updateUser", "changeUser"]
checks.load_all_checks()
CHECKS = [checks.CHECKS.get_one(name) for name in (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance", "response_headers_conformance")]

schema = schemathesis.openapi.from_path(FILE)


@pytest.fixture(scope="module")
def bench(tmp_path_factory, evidence, programs):
    bench = AuthorityBench(
        tmp_path_factory.mktemp("openapi"), evidence, programs,
        '[users]\nsign_up = "open"\n')
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def headers(bench) -> dict:
    """As an administrator's program would ask."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{bench.http_port}/parse/login",
        json.dumps({"username": ADMIN, "password": bench.password_file.read_text()}).encode(),
        {"X-Parse-Application-Id": "postern", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        token = json.load(answer)["sessionToken"]
    return {"X-Parse-Application-Id": "postern", "X-Parse-Session-Token": token,
            "X-Postern-Console": "1"}


# Not by Schemathesis' own decorator: its tests all have one id, and xdist runs one of them.
OPERATIONS = [found.ok() for found in
              schema.exclude(operation_id=ENDLESS).get_all_operations()]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_an_operation_keeps_to_its_description(operation, bench, headers):
    sent = dict(headers)
    if operation.definition.raw.get("operationId") in ENDING:
        sent["X-Parse-Session-Token"] = "r:" + "A" * 43

    @given(case=operation.as_strategy())
    @settings(max_examples=12, deadline=None, derandomize=True, database=None,
              suppress_health_check=list(HealthCheck))
    def ask(case):
        response = case.call(
            base_url=f"http://127.0.0.1:{bench.http_port}", headers=sent, timeout=60)
        case.validate_response(response, checks=CHECKS)

    ask()


def test_events_are_a_stream(bench, headers):
    with requests.get(f"http://127.0.0.1:{bench.http_port}/postern/v1/events", headers=headers,
                      stream=True, timeout=60) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        lines = answer.iter_lines(decode_unicode=True)
        names = [line for line in (next(lines) for _ in range(4)) if line.startswith("event: ")]
        assert names == ["event: hello"]


def test_the_authority_lives_on(bench):
    assert bench.server.is_running
    assert "Fatal error" not in bench.server.log
