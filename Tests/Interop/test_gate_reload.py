"""The real `postern-agent`: rules that change while it runs, and rules that are broken."""

import json
import os
import time

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.program import run
from bench.waiting import until
from conftest import assert_nothing_leaked

OPEN = 'default = "allow"\n'
CLOSED = 'default = "allow"\n[[rule]]\nclass = "Reading"\nallow = []\n'
BROKEN = 'default = "allow"\n[[rule]]\nclass = "Reading"\nallow = ["creat"]\n'
BROKEN_AT = "policy.toml:4:10"
ROUTE = '[[route]]\nfrom = "{}"\napp = "zigbee"\nclass = "Reading"\nop = "create"\n'


class Rules:
    """The two files of a board, changed as people and programs change them."""

    def __init__(self, board):
        self.board = board
        self.policy = board.config / "policy.toml"
        self.agent = board.config / "agent.toml"
        self.settings = self.agent.read_text()

    def rename(self, text: str, path=None) -> None:
        path = path or self.policy
        new = path.with_name(path.name + ".new")
        new.write_text(text)
        os.chmod(new, 0o640)
        os.rename(new, path)

    def write(self, text: str, path=None) -> None:
        path = path or self.policy
        path.write_text(text)
        os.chmod(path, 0o640)

    def hang_up(self) -> None:
        self.board.agent.reload()

    @property
    def adopted(self) -> int:
        return self.board.agent.log.count("in force now: ")

    def wait_adopted(self, before: int) -> None:
        until(lambda: self.adopted > before, f"rules {before + 1} to be in force", 60)

    def wait_log(self, text: str, *, after: int = 0) -> None:
        until(lambda: text in self.board.agent.log[after:], f"the log to say {text!r}", 60)

    def adopt(self, change, *arguments) -> None:
        """Makes a change and waits until it is in force."""
        before = self.adopted
        change(*arguments)
        self.wait_adopted(before)


def doctor(board) -> dict[str, dict]:
    """Doctor's findings by their id."""
    told = json.loads(board.command("doctor", "--json", ok=(0, 1, 3, 78)))
    return {check["id"]: check for check in told["checks"]}


@pytest.mark.parametrize("how", ["rename", "write", "hang up"])
def test_changed_policy_is_in_force(make_bench, how):
    bench = make_bench(policy=OPEN)
    bench.live()
    rules, app = Rules(bench), bench.app()
    assert "seq" in app.write("Reading", b"1")
    if how == "hang up":
        rules.write(CLOSED)
        rules.adopt(rules.hang_up)
    else:
        rules.adopt(rules.rename if how == "rename" else rules.write, CLOSED)
    refusal = app.write("Reading", b"2")
    assert (refusal["code"], refusal["rule"]) == (119, "policy.toml:2")
    assert "in force now: 1 rules, by default allow; 0 routes" in bench.agent.log
    told = bench.status()["policy"]
    assert (told["rules"], told["default"], told["routes"]) == (1, "allow", 0)
    assert abs(told["loadedAt"] - time.time()) < 60 and "fault" not in told


def test_malformed_file_leaves_the_old_rules(make_bench):
    bench = make_bench(policy=CLOSED)
    bench.live()
    rules, app = Rules(bench), bench.app()
    rules.rename(BROKEN)
    rules.wait_log(BROKEN_AT)
    assert "the old rules stay in force" in bench.agent.log
    assert app.write("Reading", b"1")["rule"] == "policy.toml:2"
    assert "seq" in app.write("Other", b"2")
    assert BROKEN_AT in bench.status()["policy"]["fault"]
    found = doctor(bench)
    assert found["config-policy"]["result"] == "failed"
    assert BROKEN_AT in found["config-policy"]["found"]
    assert found["policy-in-force"]["result"] == "failed"
    assert BROKEN_AT in found["policy-in-force"]["found"]
    # SIGHUP says it again; the same change without one does not.
    mark = len(bench.agent.log)
    rules.hang_up()
    rules.wait_log(BROKEN_AT, after=mark)
    rules.adopt(rules.rename, OPEN)
    assert "seq" in app.write("Reading", b"3")
    assert "fault" not in bench.status()["policy"]
    assert doctor(bench)["policy-in-force"]["result"] == "ok"


def test_back_to_the_rules_in_force_mends_the_fault(make_bench):
    bench = make_bench(policy=CLOSED)
    bench.live()
    rules = Rules(bench)
    rules.rename(BROKEN)
    rules.wait_log(BROKEN_AT)
    rules.rename(CLOSED)
    rules.wait_log("the rules of the files are in force again")
    assert "fault" not in bench.status()["policy"]
    assert rules.adopted == 0


def test_malformed_agent_file_leaves_the_old_rules_of_both(make_bench):
    bench = make_bench(policy=OPEN)
    bench.live()
    rules, app = Rules(bench), bench.app()
    rules.rename(rules.settings + ROUTE.format("zigbee/#/x"), rules.agent)
    rules.wait_log("agent.toml:")
    line = rules.settings.count("\n") + 2
    rules.wait_log(f"agent.toml:{line}:8: ")
    mark = len(bench.agent.log)
    rules.rename(CLOSED)
    rules.hang_up()
    rules.wait_log(f"agent.toml:{line}:8: ", after=mark)
    assert "seq" in app.write("Reading", b"1")
    # Who runs still answers, and says what is wrong.
    assert f"agent.toml:{line}:8: " in bench.status()["policy"]["fault"]
    found = doctor(bench)
    assert f"agent.toml:{line}:8: " in found["config-agent"]["found"]
    assert f"agent.toml:{line}:8: " in found["policy-in-force"]["found"]
    rules.adopt(rules.rename, rules.settings, rules.agent)
    assert app.write("Reading", b"2")["code"] == 119


def test_vanished_policy_stays_in_force_until_hang_up(make_bench):
    bench = make_bench(policy=CLOSED)
    bench.live()
    rules, app = Rules(bench), bench.app()
    rules.policy.unlink()
    rules.wait_log("policy.toml is gone")
    assert app.write("Reading", b"1")["code"] == 119
    assert "is gone" in bench.status()["policy"]["fault"]
    rules.adopt(rules.hang_up)
    assert "seq" in app.write("Reading", b"2")
    assert "no policy file" in bench.agent.log
    rules.adopt(rules.rename, CLOSED)
    assert app.write("Reading", b"3")["code"] == 119


def test_loosened_mode_is_refused_and_mended(make_bench):
    bench = make_bench(policy=CLOSED)
    bench.live()
    rules, app = Rules(bench), bench.app()
    os.chmod(rules.policy, 0o666)
    rules.wait_log("too open")
    assert "the old rules stay in force" in bench.agent.log
    assert app.write("Reading", b"1")["code"] == 119
    assert doctor(bench)["file-modes"]["result"] == "failed"
    os.chmod(rules.policy, 0o640)
    rules.wait_log("in force again")
    assert "fault" not in bench.status()["policy"]


def test_half_written_file_is_not_read(make_bench):
    bench = make_bench(policy=CLOSED)
    bench.live()
    rules, app = Rules(bench), bench.app()
    with rules.policy.open("r+") as file:
        file.truncate(0)
        # Well-formed, but not all of it; the other file's change is read in the meantime.
        file.write(OPEN)
        file.flush()
        rules.rename(rules.settings + "# a remark\n", rules.agent)
        assert app.write("Reading", b"1")["code"] == 119
        before = rules.adopted
        file.write('[[rule]]\nclass = "Reading"\nallow = ["update"]\n')
    rules.wait_adopted(before)
    refusal = app.write("Reading", b"2")
    assert (refusal["code"], rules.adopted) == (119, before + 1)


def test_endless_changes_are_in_force_all_the_same(make_bench):
    bench = make_bench(policy=OPEN)
    bench.live()
    rules = Rules(bench)
    count = 0

    def adopted() -> bool:
        nonlocal count
        count += 1
        rules.rename(CLOSED + f"# {count}\n")
        return rules.adopted >= 2

    until(adopted, "rules to be in force in between", 60)


def test_new_routes_are_read_and_old_ones_are_not(make_bench):
    bench = make_bench()
    board = bench.live()
    rules, app = Rules(bench), bench.app()
    bench.watcher.publish("zigbee/a", b"too early")
    rules.adopt(rules.rename, rules.settings + ROUTE.format("zigbee/+"), rules.agent)
    until(lambda: "zigbee/+" in bench.bus.program.log, "the route's subscription")
    bench.watcher.publish("zigbee/a", b"routed")
    assert bench.wait_data(board, b"routed").user["app"] == "zigbee"
    assert bench.status()["policy"]["routes"] == 1
    assert doctor(bench)["routes"]["result"] == "ok"
    rules.adopt(rules.write, rules.settings + ROUTE.format("tasmota/#"), rules.agent)
    until(lambda: "Received UNSUBSCRIBE" in bench.bus.program.log, "the old route's end")
    until(lambda: "tasmota/#" in bench.bus.program.log, "the new route's subscription")
    bench.watcher.publish("zigbee/a", b"too late")
    bench.watcher.publish("tasmota/x/y", b"routed anew")
    bench.wait_data(board, b"routed anew")
    app.write("Reading", b"after")
    bench.wait_data(board, b"after")
    assert [m.payload for m in bench.data_heard()] == [b"routed", b"routed anew", b"after"]


def test_routes_that_change_while_the_bus_is_away(make_bench):
    bench = make_bench()
    board = bench.live()
    rules = Rules(bench)
    rules.adopt(rules.rename, rules.settings + ROUTE.format("zigbee/+"), rules.agent)
    bench.bus.stop()
    rules.adopt(rules.rename, rules.settings + ROUTE.format("tasmota/#"), rules.agent)
    bench.bus.start()
    until(lambda: "tasmota/#" in bench.bus.program.log, "the new route's subscription", 60)
    until(lambda: bench.watcher.is_up, "the watcher to come back", 60)
    bench.watcher.publish("zigbee/a", b"of the old route")
    bench.watcher.publish("tasmota/a", b"of the new route")
    bench.wait_data(board, b"of the new route")
    bench.app().write("Reading", b"after")
    bench.wait_data(board, b"after")
    assert b"of the old route" not in [m.payload for m in bench.data_heard()]


def test_route_removed_while_down_is_ignored(make_bench):
    bench = make_bench()
    board = bench.live()
    rules = Rules(bench)
    rules.adopt(rules.rename, rules.settings + ROUTE.format("zigbee/+"), rules.agent)
    until(lambda: "zigbee/+" in bench.bus.program.log, "the route's subscription")
    bench.agent.stop()
    rules.rename(rules.settings, rules.agent)
    # The broker's durable session still takes them in.
    for number in range(300):
        bench.watcher.publish("zigbee/a", b"of no route %d" % number)
    bench.start()
    bench.wait_session("available")
    bench.app().write("Reading", b"after")
    bench.wait_data(board, b"after")
    assert [m.payload for m in bench.data_heard()] == [b"after"]


def test_other_settings_wait_for_the_next_start(make_bench):
    bench = make_bench()
    bench.live()
    rules = Rules(bench)
    changed = rules.settings.replace('"24h"', '"12h"').replace("interop bench", "another name")
    rules.adopt(rules.rename, changed, rules.agent)
    assert "these wait for a restart: name, claim.expires" in bench.agent.log
    assert bench.status()["policy"]["waiting"] == ["name", "claim.expires"]
    assert bench.status()["name"] == "interop bench"


def test_replaced_folder_is_noticed(make_bench):
    bench = make_bench(policy=OPEN)
    bench.live()
    rules, app = Rules(bench), bench.app()
    old = bench.config.with_name("old")
    new = bench.config.with_name("new")
    new.mkdir(mode=0o700)
    rules.write(rules.settings, new / "agent.toml")
    rules.write(CLOSED, new / "policy.toml")
    before = rules.adopted
    os.rename(bench.config, old)
    os.rename(new, bench.config)
    rules.wait_adopted(before)
    assert app.write("Reading", b"1")["code"] == 119
    rules.adopt(rules.rename, OPEN)
    assert "seq" in app.write("Reading", b"2")


WITHOUT_INOTIFY = [
    "unshare", "--user", "--map-root-user", "sh", "-c",
    'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"', "sh",
]


def test_without_inotify_hang_up_still_works(make_bench):
    if run([*WITHOUT_INOTIFY, "true"]).returncode != 0:
        pytest.skip("this user may not make a user namespace")
    bench = make_bench(policy=OPEN)
    bench.agent.argv = [*WITHOUT_INOTIFY, *bench.agent.argv]
    bench.live()
    rules, app = Rules(bench), bench.app()
    rules.wait_log("cannot be watched for changes")
    rules.rename(CLOSED)
    assert "seq" in app.write("Reading", b"1")
    rules.adopt(rules.hang_up)
    assert app.write("Reading", b"2")["code"] == 119
    assert bench.agent.log.count("cannot be watched") == 1


@pytest.mark.parametrize("name, text, place", [
    ("policy.toml", BROKEN, BROKEN_AT),
    ("policy.toml", "default = \"allow\n", "policy.toml:1:"),
    ("policy.toml", "[app.x]\nrate = \"1/s\"\n  burts = 2\n", "policy.toml:3:3: "),
    ("agent.toml", "nam = \"x\"\n", "agent.toml:1:1: "),
    ("agent.toml", "[uplink]\nuri = \"mqtts://b\"\ninsecure = 1\n", "agent.toml:3:12: "),
])
def test_malformed_at_start_ends_with_78(bench, name, text, place):
    rules = Rules(bench)
    rules.write(text, bench.config / name)
    done = run(bench._argv("run"), timeout=60)
    assert done.returncode == 78
    assert place in done.stderr and "ready" not in done.stderr
    found = doctor(bench)
    check = "config-agent" if name == "agent.toml" else "config-policy"
    assert found[check]["result"] == "failed" and place in found[check]["found"]


def test_no_secret_was_told(evidence):
    assert_nothing_leaked(evidence)
