"""Consumers: logins at the broker for other programs, with the real authority and mosquitto."""

import http.client
import json
import os
import shlex
import shutil
import subprocess
import time

import pytest

from authority_fixtures import answered, bench  # noqa: F401, bench is a fixture
from bench.link import Link, Login, Refused
from bench.open_house import OpenHouse
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import topics


def add(bench, name: str, *more) -> dict:
    made = bench.cli_json("consumers", "add", name, *more)
    bench.evidence.add_secret(f"the password of the consumer {name}", made["password"])
    # It is shown here, and only here.
    assert made["password"].encode() in bench.evidence.texts.pop()[1]
    return made


def connect(bench, made: dict, client_id: str | None = None) -> Link:
    port = int(made["uri"].rpartition(":")[2])
    assert port == bench.port
    return Link(Login(port, client_id or made["clientId"], made["username"], made["password"]),
                journal=bench.evidence.journal).open()


def reads(bench, made: dict) -> Link:
    link = connect(bench, made)
    for topic in made["topics"]:
        assert link.subscribe(topic) < 0x80, topic
    return link


def remove(bench, name: str) -> None:
    done = bench.cli("consumers", "remove", name)
    assert done.returncode == 0, done.stderr


def data(board, class_name: str = "Reading") -> str:
    return topics.data(board.iid, class_name, "create")


def came(link: Link, mark: int = 0) -> list[str]:
    return [message.topic for message in link.since(mark)]


def test_it_reads_the_named_boards_and_classes_and_nothing_else(bench):
    board, other = bench.live_board("hall"), bench.live_board("attic")
    made = add(bench, "named", "--boards", "hall", "--classes", "Reading,Alarm")
    assert sorted(made) == ["clientId", "password", "topics", "uri", "username"]
    assert made["topics"] == [
        f"postern/v1/{board.iid}/data/Reading/#", f"postern/v1/{board.iid}/data/Alarm/#",
        topics.status(board.iid)]
    link = reads(bench, made)
    refused = ["#", "+/#", "postern/#", f"postern/v1/{board.iid}/#", f"postern/v1/{board.iid}/+",
               f"postern/v1/{board.iid}/data/#", topics.inbox(board.iid), topics.outbox(board.iid),
               topics.status(other.iid), f"postern/v1/{other.iid}/data/Reading/#",
               "postern/v1/+/data/#", "postern/v1/+/data/Reading/#", "postern/v1/+/status",
               "postern/v1/+/inbox", "postern/v1/+/outbox", "$SYS/#", "$CONTROL/#",
               "$share/x/postern/v1/+/data/#", "homeassistant/#"]
    for topic in refused:
        assert link.subscribe(topic) >= 0x80, topic
    for topic in [data(board), topics.status(board.iid), topics.inbox(board.iid),
                  topics.outbox(board.iid), "elsewhere", "$CONTROL/dynamic-security/v1"]:
        assert link.publish(topic, b"x") >= 0x80, topic
    mark = link.mark()
    for publisher in (other, board):
        for class_name in ("Note", "Readings", "Reading", "Alarm"):
            assert publisher.publish_data(class_name, "create", b"{}") < 0x80
    other.publish_status()
    board.beat()
    board.publish_status()
    link.wait_topic(topics.status(board.iid), since=mark)
    assert came(link, mark) == [data(board), data(board, "Alarm"), topics.status(board.iid)]
    link.close()
    remove(bench, "named")


def test_the_list_says_which_one_is_connected_and_when_it_ends(bench):
    made = add(bench, "seen", "--until", "30d")
    add(bench, "unseen")

    def connected() -> dict:
        return {row["name"]: row["connected"] for row in bench.cli_json("consumers", "list")}

    assert connected() == {"seen": False, "unseen": False}
    link = connect(bench, made)
    until(lambda: connected() == {"seen": True, "unseen": False}, "the connection", 60)
    # A stranger with its client id ends nothing, and does not look as if it did.
    with pytest.raises(Refused):
        Link(Login(bench.port, made["clientId"], made["username"], "wrong"),
             journal=bench.evidence.journal).open()
    other = connect(bench, add(bench, "third"))
    until(lambda: connected()["third"], "the third one's connection", 60)
    assert connected()["seen"] is True
    link.close()
    until(lambda: connected()["seen"] is False, "its end", 60)
    other.close()
    table = bench.cli("consumers", "list").stdout
    assert "CONNECTED" in table and any(f"(in {days} d" in table for days in (29, 30))
    for name in ("seen", "unseen", "third"):
        remove(bench, name)


def test_without_names_it_reads_boards_that_are_claimed_later(bench):
    made = add(bench, "everything")
    link = reads(bench, made)
    for topic in ("postern/v1/+/data/Reading/#", "postern/v1/+/inbox", "postern/v1/+/outbox", "#"):
        assert link.subscribe(topic) >= 0x80, topic
    board = bench.live_board("later")
    mark = link.mark()

    def is_read() -> bool:
        assert board.publish_data("Reading", "create", b"{}") < 0x80
        return data(board) in came(link, mark)

    until(is_read, "data of the new board")
    assert not [topic for topic in came(link) if topic.endswith(("inbox", "outbox"))]
    link.close()
    remove(bench, "everything")


def test_its_client_id_is_its_own(bench):
    board = bench.live_board("bound")
    made = add(bench, "bound")
    for client_id in ("another", f"postern-{board.iid}"):
        with pytest.raises(Refused):
            connect(bench, made, client_id)
    board.beat()
    remove(bench, "bound")


def test_removal_cuts_it(bench):
    made = add(bench, "short")
    link = reads(bench, made)
    connection = http.client.HTTPConnection("127.0.0.1", bench.http_port, timeout=60)
    status = call(bench, connection, "DELETE", "/postern/v1/consumers/short")[0]
    # Usually in milliseconds; a busy machine takes its time.
    until(lambda: not link.is_up, "the connection to be cut", 60)
    assert status == 200
    with pytest.raises(Refused):
        connect(bench, made)
    assert call(bench, connection, "DELETE", "/postern/v1/consumers/short")[1]["code"] == 101
    connection.close()


def call(bench, connection, method: str, path: str, body: dict | None = None):
    profile = json.loads((bench.folder / "xdg" / "postern" / "profile.json").read_text())
    connection.request(method, path, json.dumps(body) if body is not None else None, {
        "X-Parse-Application-Id": "postern", "X-Parse-Session-Token": profile["sessionToken"],
        "Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_it_ends_at_its_time(bench):
    began = time.time()
    made = add(bench, "timed", "--until", "8s")
    # The end has whole seconds in JSON.
    assert began + 7 <= made["until"] <= time.time() + 9
    link = reads(bench, made)
    until(lambda: not link.is_up, "its end", 60)
    assert made["until"] - 0.1 < time.time()
    with pytest.raises(Refused):
        connect(bench, made)
    until(lambda: "timed" not in [c["name"] for c in bench.cli_json("consumers", "list")],
          "the list to forget it")


def test_a_released_board_is_gone_from_it(bench):
    board, kept = bench.live_board("given"), bench.live_board("kept")
    named = reads(bench, add(bench, "named", "--boards", f"{board.iid},kept"))
    every = reads(bench, add(bench, "every"))
    marks = named.mark(), every.mark()
    assert board.publish_data("Reading", "create", b"{}") < 0x80
    for link, mark in zip((named, every), marks):
        link.wait_topic(data(board), since=mark)
    board.says_farewell = False
    done = bench.cli("boards", "release", "given")
    assert done.returncode == 0, done.stderr

    def is_gone() -> bool:
        """What the board still says reaches neither, and the other board both."""
        marks = named.mark(), every.mark()
        answered(board, board.publish_status)
        assert kept.publish_data("Reading", "create", b"{}") < 0x80
        for link, mark in zip((named, every), marks):
            link.wait_topic(data(kept), since=mark)
        return all(topics.status(board.iid) not in came(link, mark)
                   for link, mark in zip((named, every), marks))

    until(is_gone, "the board to be gone from both")
    for link in (named, every):
        assert link.subscribe(topics.status(board.iid)) >= 0x80
        assert link.is_up
        link.close()
    remove(bench, "named")
    remove(bench, "every")


def test_it_lives_through_a_restart_of_authority_and_broker(bench):
    board = bench.live_board("again")
    made = add(bench, "lasting", "--boards", "again")
    gone = add(bench, "gone")
    remove(bench, "gone")
    bench.server.stop()
    bench.start()
    link = until(lambda: can_read(bench, made), "it to log in again")
    board.connect(30)
    assert board.publish_data("Reading", "create", b"{}") < 0x80
    link.wait_topic(data(board))
    with pytest.raises(Refused):
        connect(bench, gone)
    link.close()
    remove(bench, "lasting")


def can_read(bench, made) -> Link | None:
    try:
        return reads(bench, made)
    except (Refused, OSError, AssertionError):
        return None


def test_the_command_says_what_is_wrong(bench):
    for arguments, words in [
        (("x", "--boards", "nobody"), "no board named nobody"),
        (("x", "--classes", ","), "names nothing"),
        (("x", "--until", "yesterday"), "--until"),
        (("x", "--until", "2020-01-01"), "later than now"),
        (("x", "--until", "2030-02-30 10:00"), "no such time"),
        (("a b",), "name"),
    ]:
        done = bench.cli("consumers", "add", *arguments)
        assert done.returncode != 0 and words in done.stderr, (arguments, done.stderr)
    assert bench.cli("consumers", "remove", "nobody").returncode == 1
    assert bench.cli("consumers").stderr.strip() == "no consumers"


def test_the_list_names_boards_classes_and_ends(bench):
    bench.live_board("porch")
    day = f"{time.gmtime().tm_year + 2}-01-31"
    add(bench, "listed", "--boards", "porch", "--classes", "Reading", "--until", day)
    add(bench, "wide")
    listed, wide = bench.cli_json("consumers", "list")
    assert (listed["name"], wide["name"]) == ("listed", "wide")
    assert listed["classes"] == ["Reading"] and len(listed["boards"]) == 1
    assert (wide["classes"], wide["boards"], wide["until"]) == (None, None, None)
    shown = bench.cli("consumers", "list").stdout
    assert "porch" in shown and day in shown and "all" in shown
    assert "password" not in json.dumps([listed, wide])
    remove(bench, "listed")
    remove(bench, "wide")


@pytest.mark.skipif(shutil.which("mosquitto_sub") is None, reason="no mosquitto_sub")
def test_the_lines_for_mosquitto_sub_work_as_printed(bench, tmp_path):
    board = bench.live_board("pasted")
    done = bench.cli("consumers", "add", "paste", "--boards", "pasted")
    bench.evidence.texts.pop()
    text = done.stdout
    lines = text.splitlines()
    password = next(line for line in lines if line.startswith("password")).split()[1]
    bench.evidence.add_secret("the password of the consumer paste", password)
    begin = next(n for n, line in enumerate(lines) if line.startswith("# mosquitto_sub"))
    end = lines.index("", begin)
    options = [line for line in lines[begin:end] if not line.startswith("#")]
    run = next(line for line in lines[begin:end] if "XDG_CONFIG_HOME" in line).lstrip("# ")
    home = tmp_path / "home"
    folder = home / ".config" / "postern-paste"
    folder.mkdir(parents=True)
    (folder / "mosquitto_sub").write_text("\n".join(options) + "\n")
    assert password not in run
    program = subprocess.Popen(
        ["bash", "-c", f"exec env {run} -C 1 -W 60 -T {shlex.quote(topics.status(board.iid))}"],
        env=os.environ | {"HOME": str(home)}, stdout=subprocess.PIPE, text=True)
    try:
        def is_read() -> bool:
            assert board.publish_data("Reading", "create", b'{"celsius":1}') < 0x80
            return program.poll() is not None

        until(is_read, "mosquitto_sub to print a message", 60)
        assert program.stdout.read().strip() == f'{data(board)} {{"celsius":1}}'
    finally:
        program.kill()
        program.wait()
    flow = json.loads(next(line for line in lines if line.startswith("[{")))
    assert {node["type"] for node in flow} == {"mqtt-broker", "mqtt in"}
    for words in ("[[inputs.mqtt_consumer]]", "state_topic", "client_id"):
        assert words in text
    remove(bench, "paste")


def test_where_another_system_lets_clients_in_the_command_says_so(
        tmp_path_factory, evidence, programs):
    house = OpenHouse(tmp_path_factory.mktemp("open"), evidence, programs)
    try:
        done = house.cli("consumers", "add", "hall")
        assert done.returncode == 77
        assert 'access = "none"' in done.stderr
        status, body = house.admin.http("POST", "/postern/v1/consumers", {"name": "hall"})
        assert (status >= 400, body["name"]) == (True, "no-broker-logins"), (status, body)
    finally:
        house.close()


def test_no_password_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
