"""The rules of a dead board come along to the board that takes its place, if both asked for it."""

import json
import stat
import tarfile

import pytest

from agent_fixtures import make_bench  # noqa: F401, fixtures
from bench.house import HouseBoard
from bench.waiting import until
from house_fixtures import house, house_settings  # noqa: F401, fixtures
from postern_contract import topics

BACKUP = "[backup]\nconfiguration = true\n"
POLICY = """\
default = "deny"
[[rule]]
class = "Reading"
allow = ["create"]
"""
ROUTE = """\
[[route]]
from = "zigbee2mqtt/+"
app = "zigbee"
class = "Reading"
op = "create"
"""
OTHER = """\
default = "allow"
"""


def kept(house, board) -> dict | None:  # noqa: F811
    status, body = house.admin.http("GET", f"/postern/v1/boards/{board.iid}/configuration")
    return body if status == 200 else None


def wait_kept(house, board, policy: str | None) -> dict:  # noqa: F811
    return until(lambda: (body := kept(house, board)) and body["policy"] == policy and body,
                 "the rules to be kept", 120)


def wait_offline(house, board) -> None:  # noqa: F811
    def is_down() -> bool:
        return house.admin.http("GET", f"/postern/v1/boards/{board.iid}")[1]["status"] == "down"

    until(is_down, "the board to be offline", 60)


def replace(house, old, new) -> dict:  # noqa: F811
    old.agent.stop()
    wait_offline(house, old)
    return json.loads(house.admin.must("boards", "replace", old.iid, new.iid, "--json"))


def restored(board: HouseBoard) -> list[str]:
    folder = board.folder / "state" / "restored"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.fixture(scope="module")
def old(house) -> HouseBoard:  # noqa: F811
    board = house.live("barn", policy=POLICY, settings=BACKUP + ROUTE)
    wait_kept(house, board, POLICY)
    return board


def test_the_owner_reads_what_is_kept(house, old, tmp_path):  # noqa: F811
    body = kept(house, old)
    assert body["routes"] == ROUTE
    shown = house.admin.must("boards", "configuration", "barn")
    assert 'default = "deny"' in shown and 'from = "zigbee2mqtt/+"' in shown
    assert "uri" not in shown and str(house.port) not in shown
    out = tmp_path / "out"
    house.admin.must("boards", "configuration", "barn", "--out", out)
    assert (out / "policy.toml").read_text() == POLICY
    assert stat.S_IMODE((out / "policy.toml").stat().st_mode) == 0o600
    again = house.admin.cli("boards", "configuration", "barn", "--out", out)
    assert again.returncode == 2 and "such a file already" in again.stderr
    eve = house.user("eve", "--claim")
    path = f"/postern/v1/boards/{old.iid}/configuration"
    assert eve.http("GET", path)[0] == 404
    # The first answer may be lost with the login of before, and the rules are sent again.
    until(lambda: old.status()["backup"] == "sent", "the board to know it", 120)
    doctor = json.loads(old.command("doctor", "--json", ok=(0, 1, 3)))
    check, = [c for c in doctor["checks"] if c["id"] == "configuration-backup"]
    assert check["result"] == "ok", check


def test_a_change_is_sent_and_nothing_by_default(house, old):  # noqa: F811
    quiet = house.live("quiet", policy=POLICY, settings=ROUTE)
    assert quiet.status()["backup"] == "off"
    (old.config / "policy.toml").write_text(OTHER)
    wait_kept(house, old, OTHER)
    (old.config / "policy.toml").write_text(POLICY)
    wait_kept(house, old, POLICY)
    assert kept(house, quiet) is None


def test_the_new_board_has_the_rules(house, old, tmp_path):  # noqa: F811
    new = house.live("fresh", settings=BACKUP)
    assert house.data(new) == []
    app = new.app("x")
    assert "seq" in app.write("Other", b"{}")
    assert replace(house, old, new)["configuration"] is True
    until(lambda: restored(new) == ["policy.toml", "routes.toml"], "the rules to come", 120)
    until(lambda: app.write("Other", b"{}").get("code") == 119, "the policy", 60)
    for name in restored(new):
        path = new.folder / "state" / "restored" / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    new.watcher.publish("zigbee2mqtt/lamp", b'{"celsius":7}')
    house.wait_data(new, {b'{"celsius":7}'})
    assert str(new.folder / "state" / "restored") in new.status()["policy"]["restored"]
    assert "restored from the replaced board" in new.command("policy", "check", ok=(0, 3))
    doctor = json.loads(new.command("doctor", "--json", ok=(0, 1, 3)))
    check, = [c for c in doctor["checks"] if c["id"] == "policy-in-force"]
    assert check["result"] == "ok" and "restored" in check["found"], check
    archive = tmp_path / "diag.tar"
    new.command("diag", "collect", "--output", str(archive), ok=(0, 3))
    with tarfile.open(archive) as tar:
        names = {f"configuration/restored/{name}" for name in restored(new)}
        assert names <= set(tar.getnames())
    # They are in force after a restart, and its own files win over them.
    new.agent.stop()
    new.start()
    assert app.write("Other", b"{}").get("code") == 119
    (new.config / "policy.toml").touch(mode=0o640)
    (new.config / "policy.toml").write_text(OTHER)
    until(lambda: "seq" in app.write("Other", b"{}"), "its own policy", 60)
    wait_kept(house, new, OTHER)
    assert topics.ROOT not in kept(house, new)["routes"]


def test_a_board_that_did_not_ask_gets_none(house):  # noqa: F811
    old = house.live("dead", policy=POLICY, settings=BACKUP)
    wait_kept(house, old, POLICY)
    new = house.live("plain")
    assert replace(house, old, new)["configuration"] is True
    new.command("session", "refresh")
    assert "seq" in new.app("x").write("Other", b"{}")
    assert restored(new) == []


@pytest.mark.parametrize("rules", [
    {"policy": 'default = "open"\n', "routes": ROUTE},
    {"policy": POLICY, "routes": ROUTE.replace("zigbee2mqtt/+", "postern/#")},
    {"policy": POLICY, "routes": ROUTE + '[uplink]\nuri = "mqtts://evil.example"\n'},
    {"policy": "", "routes": None},
])
def test_rules_with_a_fault_are_refused_whole(make_bench, rules):  # noqa: F811
    bench = make_bench(settings=BACKUP)
    bench.authority.script("configuration.get", {"configuration": rules})
    board = bench.live()
    until(lambda: "rules of the replaced board are refused" in bench.agent.log, "a refusal", 60)
    assert "seq" in bench.app("x").write("Other", b"{}")
    assert not (bench.folder / "state" / "restored").exists()
    # A good answer is taken later.
    bench.authority.script("configuration.get",
                           {"configuration": {"policy": POLICY, "routes": None}})
    bench.authority.update(board)
    app = bench.app("y")
    until(lambda: app.write("Other", b"{}").get("code") == 119, "the policy", 60)
    since = bench.authority.mark()
    bench.authority.update(board)
    saved = bench.authority.wait_request("configuration.save", since=0)
    assert saved.body["policy"] == POLICY and saved.body["routes"] is None
    assert "configuration.get" not in [r.type for r in bench.authority.requests[since:]]


def test_larger_rules_are_not_sent(make_bench):  # noqa: F811
    bench = make_bench(settings=BACKUP, policy=POLICY + "#" * 65536 + "\n")
    bench.live()
    assert bench.status()["backup"] == "too large"
    assert "more than 65536 bytes" in bench.agent.log
    doctor = json.loads(bench.command("doctor", "--json", ok=(0, 1, 3)))
    check, = [c for c in doctor["checks"] if c["id"] == "configuration-backup"]
    assert check["result"] == "warning", check
    assert "configuration.save" not in [r.type for r in bench.authority.requests]


def test_turned_off_deletes_the_copy(house):  # noqa: F811
    board = house.live("off", policy=POLICY, settings=BACKUP)
    wait_kept(house, board, POLICY)
    board.agent.stop()
    text = (board.config / "agent.toml").read_text()
    (board.config / "agent.toml").write_text(text.replace(BACKUP, ""))
    board.start()
    until(lambda: kept(house, board) is None, "the copy to be deleted", 120)
