"""The real `postern doctor` against a real authority, and with one thing broken at a time."""

import json
import os

from authority_fixtures import bench  # noqa: F401, fixture
from bench import doctor_page
from bench.program import free_port, run
from bench.waiting import until


def examine(bench, *options, url: str | None = None) -> tuple[int, dict[str, dict]]:
    argv = bench._cli("doctor", "--json", *options)
    if url:
        argv[argv.index("--authority") + 1] = url
    done = run(argv, timeout=60, env=bench._environment)
    bench.evidence.texts.append(("doctor", (done.stdout + done.stderr).encode()))
    checks = json.loads(done.stdout)["checks"]
    return done.returncode, {check["id"]: check for check in checks}


def unwell(found: dict[str, dict]) -> set[str]:
    return {id for id, check in found.items() if check["result"] in ("warning", "failed")}


def test_person_who_is_logged_in_is_well(bench):
    status, found = examine(bench, "--try-login")
    assert (status, unwell(found)) == (0, set()), found
    for id in ("profile", "tcp", "authority", "application-id", "clock", "session", "broker",
               "broker-login"):
        assert found[id]["result"] == "ok", found[id]
    # A `watch` that runs has the same client id: it is not cut off unless that is asked for.
    assert examine(bench)[1]["broker-login"]["result"] == "skipped"


def test_lists_its_checks_without_running_them(bench):
    text = bench.cli("doctor", "--list").stdout
    listed = json.loads(bench.cli("doctor", "--list", "--json").stdout)["checks"]
    assert [check["id"] for check in listed] == list(examine(bench)[1])
    assert [check["id"] for check in listed] == doctor_page.ids("postern")
    assert all(check["id"] in text and check["why"] in text for check in listed)
    refused = bench.cli("doctor", "--dont-run", "brokr")
    assert refused.returncode == 2 and '"broker"' in refused.stderr


def test_each_break_is_seen_by_its_check(bench):
    # Another authority than the login's counts as not logged in.
    status, found = examine(bench, url=f"http://127.0.0.1:{free_port()}")
    assert (status, unwell(found)) == (1, {"tcp", "session"}), found
    assert unwell(examine(bench, url="http://nobody.invalid")[1]) >= {"name-lookup", "session"}
    assert "tls" in unwell(examine(bench, url=f"https://localhost:{bench.http_port}")[1])
    profile = bench.folder / "xdg" / "postern" / "profile.json"
    text = profile.read_text()
    os.chmod(profile, 0o644)
    status, found = examine(bench)
    assert (status, unwell(found)) == (78, {"profile"})
    os.chmod(profile, 0o600)
    held = json.loads(text)
    profile.write_text(json.dumps(held | {"applicationId": "another"}))
    # What such a login asks for is refused, too.
    assert "application-id" in unwell(examine(bench)[1])
    profile.write_text(json.dumps(held | {"sessionToken": "r:" + "A" * 43}))
    assert "session" in unwell(examine(bench)[1])
    profile.write_text(text)
    bench.server.stop()
    assert unwell(examine(bench)[1]) == {"tcp"}
    bench.start()
    until(lambda: unwell(examine(bench)[1]) == set(), "all to be well again")
