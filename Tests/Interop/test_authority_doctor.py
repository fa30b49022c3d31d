"""The real `postern-authority doctor` beside a real authority, and with one thing broken."""

import json
import os

from authority_fixtures import bench  # noqa: F401, fixture
from bench import doctor_page
from bench.program import run
from bench.waiting import until


def examine(bench, *options) -> tuple[int, dict[str, dict]]:
    done = run(bench._authority("doctor", "--json", *options), timeout=60)
    bench.evidence.texts.append(("doctor", (done.stdout + done.stderr).encode()))
    checks = json.loads(done.stdout)["checks"]
    return done.returncode, {check["id"]: check for check in checks}


def unwell(found: dict[str, dict]) -> set[str]:
    return {id for id, check in found.items() if check["result"] in ("warning", "failed")}


def test_serving_authority_is_well_and_not_disturbed(bench):
    before = bench.server.log
    status, found = examine(bench)
    assert (status, unwell(found)) == (0, set()), found
    for id in ("state", "key-file", "clock", "served", "mosquitto", "broker-login",
               "broker-access", "disk-space", "console-files"):
        assert found[id]["result"] == "ok", found[id]
    # Whoever serves keeps its connection: nothing is said of it in its log.
    assert "the broker" not in bench.server.log.removeprefix(before)
    assert bench.cli("boards", "list").returncode == 0


def test_lists_its_checks_without_running_them(bench):
    text = run(bench._authority("doctor", "--list")).stdout
    listed = json.loads(run(bench._authority("doctor", "--list", "--json")).stdout)["checks"]
    assert [check["id"] for check in listed] == list(examine(bench)[1])
    assert [check["id"] for check in listed] == doctor_page.ids("postern-authority")
    assert all(check["id"] in text and check["why"] in text for check in listed)


def test_checks_can_be_left_out(bench):
    status, found = examine(bench, "--dont-run", "broker-login", "--dont-run", "broker-access")
    assert status == 0 and "broker-login" not in found
    refused = run(bench._authority("doctor", "--dont-run", "stat"))
    assert refused.returncode == 2 and '"state"' in refused.stderr


def test_each_break_is_seen_by_its_check(bench):
    config = bench.config / "authority.toml"
    text = config.read_text()

    def with_config(changed: str, mode: int = 0o640) -> dict[str, dict]:
        config.write_text(changed)
        os.chmod(config, mode)
        found = examine(bench)[1]
        config.write_text(text)
        os.chmod(config, 0o640)
        return found

    assert unwell(with_config("nonsense = 1\n" + text)) == {"config-authority"}
    assert unwell(with_config(text, 0o666)) == {"file-modes"}
    empty = bench.folder / "empty"
    empty.mkdir(exist_ok=True)
    assert unwell(with_config(
        text.replace("[http]", f'[http]\nconsole = "{empty}"', 1))) == {"console-files"}
    assert unwell(with_config(text.replace(
        f'listen = "127.0.0.1:{bench.http_port}"', 'listen = "127.0.0.1:9"'))) == {"served"}
    key = bench.folder / "state" / "authority.key"
    whole = key.read_bytes()
    key.write_bytes(bytes(32))
    assert unwell(examine(bench)[1]) == {"key-file"}
    key.write_bytes(whole)
    os.chmod(key, 0o640)
    assert unwell(examine(bench)[1]) == {"file-modes"}
    os.chmod(key, 0o600)
    bench.server.stop()
    assert unwell(examine(bench)[1]) == {"served"}
    database = bench.folder / "state" / "authority.db"
    aside = database.with_name("aside.db")
    database.rename(aside)
    database.write_bytes(b"no database" * 100)
    os.chmod(database, 0o600)
    assert unwell(examine(bench)[1]) == {"served", "state"}
    for name in ("authority.db-wal", "authority.db-shm"):
        database.with_name(name).unlink(missing_ok=True)
    aside.rename(database)
    bench.start()
    until(lambda: unwell(examine(bench)[1]) == set(), "all to be well again")

