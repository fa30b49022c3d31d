"""The Swift library `PosternApp`, by a package of its own, on a board as it is shipped."""

import re
import textwrap

import pytest

from bench.program import Program, run
from bench.waiting import until
from conftest import assert_nothing_leaked
from python_fixtures import (  # noqa: F401, fixtures
    ALLOWS, DENIES, ONE_AN_HOUR, board, cable, credentials, login, lose_numbers, records,
    set_policy, write_through_kills)
from swift_fixtures import ROOT, board_app  # noqa: F401, a fixture

# The library is built first, which takes minutes.
pytestmark = pytest.mark.slow

ARTICLES = ROOT / "Sources" / "Libraries" / "PosternApp" / "PosternApp.docc"
PROGRAMS = ROOT / "Tests" / "Libraries" / "BoardApp" / "Sources"


@pytest.fixture
def place(login, credentials) -> dict:
    """Where an app finds the bus and its login."""
    return {"POSTERN_BUS": login["bus"], "CREDENTIALS_DIRECTORY": str(credentials)}


@pytest.fixture
def say(board_app, place):
    """Has the app do one thing, and returns the words of each line that it said."""
    def say(*words: str, **environment: str) -> list[list[str]]:
        done = run([board_app / "board-app", *words], timeout=60, env=place | environment)
        assert done.returncode == 0 and done.stderr == "", done
        return [line.split() for line in done.stdout.splitlines()]

    return say


def test_a_first_program_writes_a_reading(board, board_app, place):
    board.live()
    done = run([board_app / "thermo"], timeout=60, env=place)
    assert (done.returncode, done.stdout) == (0, "safe, as number 1\n"), done.stderr
    until(lambda: records(board) == [(1, {"celsius": 21.5})], "the reading upstream", 60)


def test_each_write_is_a_record(board, say):
    board.live()
    assert say("create", "Reading", "21.5") == [["1"]]
    assert say("update", "Reading", "r1", "22") == [["2"]]
    assert say("delete", "Reading", "r1") == [["3"]]
    assert say("text", "any JSON") == [["4"]]
    assert sorted(say("many", "40")) == sorted([str(n)] for n in range(5, 45))
    until(lambda: len(records(board)) == 44, "the writes upstream", 60)
    payloads = [payload for _, payload in records(board)]
    assert payloads[:4] == [{"celsius": 21.5}, {"celsius": 22}, {}, "any JSON"]
    assert sorted(payload["n"] for payload in payloads[4:]) == list(range(1, 41))


def test_refusals_say_what_decided(board, say):
    policy = board.config / "policy.toml"
    policy.write_text(DENIES)
    policy.chmod(0o640)
    board.live()
    refused, = say("create", "Reading", "200")
    assert refused[:2] == ["refused", "142"] and refused[3] == "celsius"
    assert refused[2].startswith("policy.toml:")
    assert say("create", "Camera", "1")[0][:2] == ["refused", "119"]
    for words in (["create", "a/b", "1"], ["create", "", "1"], ["create", "Reading+", "1"],
                  ["delete", "Reading", "a/b"], ["create", "Reading", "nan"],
                  ["key=", "create", "Reading", "1"],
                  ["key=" + "x" * 65, "create", "Reading", "1"],
                  ["name=-x", "session"], ["bus=mqtts://bus.example", "session"]):
        assert say(*words)[0][0] == "invalid", words


def test_the_end_of_a_session_is_followed(board, board_app, say, place, tmp_path):
    url = board.pair()
    board.start()
    board.wait_session("unavailable")
    assert say("session") == [["false", "unclaimed"]]
    until(lambda: say("timeout=2", "create", "Reading", "1")[0][:3] == ["over", "206", "false"],
          "the end of a write without a session", 60)
    follower = Program("follower", [board_app / "board-app", "sessions"], tmp_path, place).start()
    writer = Program("writer", [board_app / "board-app", "timeout=120", "create", "Reading", "1"],
                     tmp_path, place)
    try:
        until(lambda: follower.out.read_text() == "false unclaimed\n", "the first session", 60)
        # A write waits for a session.
        writer.start()
        claimed = board.authority.claim(url)
        board.authority.wait_live(claimed)
        until(lambda: writer.out.read_text() == "1\n", "the write", 60)
        assert say("session")[0][0] == "true"
        until(lambda: "true" in follower.out.read_text(), "the follower to see the session", 60)
        board.authority.revoke(claimed)
        until(lambda: not follower.is_running, "the follower to end", 60)
    finally:
        follower.close()
        writer.close()
    assert follower.out.read_text() == "false unclaimed\ntrue \nfalse revoked\n"
    assert say("create", "Reading", "2")[0][:3] == ["over", "209", "true"]


def test_no_answer_is_unavailable_and_its_key_makes_no_second_record(board, say):
    board.live()
    assert say("create", "Reading", "1") == [["1"]]
    board.agent.kill()
    word, key, *_ = say("timeout=1", "create", "Reading", "2")[0]
    assert word == "unavailable"
    until(lambda: say("timeout=1", f"key={key}", "create", "Reading", "2")[0] == [
        "unavailable", key, "the", "agent", "has", "not", "answered"], "no answer", 60)
    board.start()
    for _ in range(2):
        assert say(f"key={key}", "create", "Reading", "2") == [["2"]]
    until(lambda: len(records(board)) == 2, "the writes upstream", 60)
    board.bus.program.kill()
    assert say("timeout=1", "create", "Reading", "3")[0][2:6] == ["the", "bus", "is", "away:"]
    assert say("timeout=1", "session")[0][:2] == ["unavailable", "-"]


def test_a_write_that_is_too_fast_is_unavailable_and_may_be_sent_again(board, say):
    set_policy(board, ONE_AN_HOUR)
    board.live()
    assert say("create", "Reading", "1") == [["1"]]
    until(lambda: say("timeout=1", "key=noon", "create", "Reading", "2")[0][:3] == [
        "unavailable", "noon", "155"], "155 after the timeout", 60)
    set_policy(board, ALLOWS)
    for _ in range(2):
        until(lambda: say("key=noon", "create", "Reading", "2") == [["2"]], "the number", 60)
    until(lambda: len(records(board)) == 2, "the writes upstream", 60)


def test_a_lost_number_is_unavailable_whatever_the_agent_answered_before(
        board, board_app, say, place, cable, tmp_path):
    url, end = board.pair(), tmp_path / "end"
    board.start()
    board.wait_session("unavailable")
    bus = f"bus=mqtt://127.0.0.1:{cable.port}"
    app = Program("held", [board_app / "board-app", bus, "timeout=300", "key=noon", "held", end],
                  tmp_path, place).start()
    try:
        lose_numbers(board, cable, url)
        end.touch()
        until(lambda: not app.is_running, "the app to end", 60)
    finally:
        app.close()
    assert app.out.read_text() == "unavailable noon the app was closed\n"
    assert say("key=noon", "create", "Reading", "1") == [["1"]]
    until(lambda: len(records(board)) == 1, "one record upstream", 60)


def test_a_bus_that_refuses_the_login_is_named(board, say, credentials):
    board.live()
    password = credentials / "thermo.password"
    password.chmod(0o600)
    password.write_text("wrong\n")
    until(lambda: "the bus is away: broker login:" in " ".join(
        say("timeout=1", "create", "Reading", "1")[0]), "the refusal to be named", 60)
    password.chmod(0o644)
    assert say("create", "Reading", "1")[0][0] == "invalid"


def test_calls_end_with_their_task_and_with_the_app(board, say):
    board.live()
    assert say("close") == 2 * [["invalid", "the", "app", "is", "closed"]]
    board.agent.kill()
    assert say("cancel") == [["cancelled"]]


def test_commands_are_answered_by_the_handler(board, board_app, place, tmp_path):
    set_policy(board, ALLOWS + '[app.thermo]\ncommands = true\ncommand_rate = "1000/s"\n')
    url, end = board.pair(), tmp_path / "end"
    board.start()
    claimed = board.authority.claim(url)
    board.authority.wait_live(claimed)
    until(lambda: board.is_settled(claimed.iid), "the agent to come with its password", 60)
    # It reads all, so it would count as a subscriber before the app is there.
    board.watcher.close()
    early = board.authority.command(claimed, "thermo", {"celsius": 20}, wait=600)
    app = Program("app", [board_app / "board-app", "serve", end], tmp_path, place).start()
    try:
        answers = [board.authority.wait_result(sent)["answer"] for sent in [early] + [
            board.authority.command(claimed, "thermo", content)
            for content in ({"celsius": 21}, {"celsius": 31}, {"warm": True}, None)]]
        end.touch()
        until(lambda: not app.is_running, "the app to end", 60)
    finally:
        app.close()
    assert answers == [{"done": 20}, {"done": 21}, {"error": "TooHot"},
                       {"error": "DecodingError"}, {"error": "DecodingError"}]
    assert app.out.read_text() == "command 20\ncommand 21\ncommand 31\n"


def test_each_write_is_one_record_over_kills_of_agent_bus_and_app(
        board, board_app, place, tmp_path):
    """POSTERN_KILLS=200 is the long form."""
    board.live()
    notes, end = tmp_path / "notes", tmp_path / "end"
    app = Program("writer", [board_app / "board-app", "timeout=300", "notes", notes, end],
                  tmp_path, place)
    write_through_kills(board, app, notes, end)


def test_the_code_of_the_articles_is_compiled_and_runs(board, say):
    sources = "\n".join(path.read_text() for path in sorted(PROGRAMS.rglob("*.swift")))
    blocks = [block for path in sorted(ARTICLES.glob("*.md"))
              for block in re.findall(r"^```swift\n(.*?)^```$", path.read_text(), re.M | re.S)]
    assert len(blocks) >= 5
    for block in blocks:
        assert block in sources or textwrap.indent(block, "    ") in sources, block
    board.live()
    assert say("tutorial") == [["safe,", "as", "number", "1"], ["true"]]


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
