"""The programs of `Devices/APPS.md`, as they are on the page, and of `Devices/c`, on a board as
it is shipped."""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.cable import Cable
from bench.link import Message
from bench.program import Program
from bench.shipped_board import ShippedBoard
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import topics
from python_fixtures import (  # noqa: F401, fixtures
    DEVICES, LIBRARY, board, cable, credentials, login, records)
from swift_fixtures import ROOT

PAGE = DEVICES / "APPS.md"
WRITE = topics.app("thermo", "create", "Reading")
READING = {"celsius": 21.5}
DENIES = 'default = "deny"\n'
LIMITS = 'default = "allow"\n[app.thermo]\nrate = "10/min"\nburst = 1\n'


@pytest.fixture
def program(board, cable, tmp_path):
    """The program in C for this board's bus, not started."""
    password = tmp_path / "thermo.password"
    password.write_text(board.bus.passwords["thermo"] + "\n")
    password.chmod(0o600)
    program = Program("thermo", [compiled(tmp_path), password, cable.port], tmp_path)
    yield program
    program.close()


def compiled(folder: Path) -> Path:
    """The program, built as its first lines say."""
    text = (DEVICES / "c" / "thermo.c").read_text()
    (folder / "thermo.c").write_text(text)
    line, = re.findall(r"^ \* (cc .*)$", text, re.M)
    strict = line.replace("cc ", "cc -Wall -Wextra -Wno-unused-parameter -Werror ", 1)
    subprocess.run(strict, shell=True, cwd=folder, check=True)
    return folder / "thermo"


def block(language: str, words: str) -> str:
    """The one program of the page in this language that has these words."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    found, = (text for text in blocks if words in text)
    return found


def writes(board: ShippedBoard, since: int = 0) -> list[Message]:
    return board.watcher.since(since, WRITE)


def answers(board: ShippedBoard, **members) -> list[Message]:
    """What the agent has answered to the program with these members."""
    def says(message: Message) -> bool:
        body = json.loads(message.payload)
        return all(body.get(name) == value for name, value in members.items())

    return [m for m in board.watcher.heard
            if m.topic.startswith(topics.app("thermo", "answers")) and says(m)]


def wait_answer(board: ShippedBoard, timeout: float = 20.0, **members) -> Message:
    return until(lambda: answers(board, **members), f"an answer {members}", timeout)[-1]


def wait_told(program: Program, words: str) -> None:
    until(lambda: words in program.out.read_text(), f"{words!r} of the program", 30,
          lambda: program.out.read_text() + program.log)


def test_the_five_lines_in_python_write_a_reading(board, login, credentials):
    board.live()
    done = subprocess.run(
        [sys.executable, "-c", block("python", "import postern")], capture_output=True, text=True,
        timeout=60, env=os.environ | {"PYTHONPATH": str(LIBRARY), "POSTERN_BUS": login["bus"],
                                      "CREDENTIALS_DIRECTORY": str(credentials)})
    assert (done.returncode, done.stdout) == (0, "safe, as number 1\n"), done.stderr
    until(lambda: records(board) == [(1, READING)], "the reading upstream", 60)


def test_the_line_for_a_shell_writes_a_reading(board, login, credentials):
    board.live()
    line = block("sh", "postern-agent-app send").replace(
        "postern-agent-app", f"/bin/sh {DEVICES}/packages/postern-agent-app")
    done = subprocess.run(
        ["/bin/sh", "-ec", line], capture_output=True, text=True, timeout=60,
        env=os.environ | {"POSTERN_BUS": login["bus"],
                          "CREDENTIALS_DIRECTORY": str(credentials)})
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    until(lambda: records(board) == [(1, READING)], "the reading upstream", 60)


def test_the_five_lines_in_swift_are_those_that_are_built_and_run():
    """By `test_swift_app.py`."""
    main = ROOT / "Tests" / "Libraries" / "BoardApp" / "Sources" / "thermo" / "main.swift"
    assert block("swift", "import PosternApp") == main.read_text()


def test_the_lines_for_mosquitto_pub_write_a_reading(board, tmp_path, credentials):
    board.live()
    text = block("sh", "mosquitto_pub -q")
    assert text.count("1883") == 1 and text.count("/etc/postern/apps") == 1
    text = text.replace("1883", str(board.bus.port)).replace("/etc/postern/apps", str(credentials))
    environment = {k: v for k, v in os.environ.items() if k != "XDG_CONFIG_HOME"}
    done = subprocess.run(
        ["/bin/sh", "-ec", text], cwd=tmp_path, timeout=60,
        env=environment | {"HOME": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # The reader's own options stay as they are.
    assert not (tmp_path / ".config" / "mosquitto_pub").exists()
    until(lambda: [json.loads(m.payload) for m in board.data_heard()] == [READING],
          "the reading upstream", 60)


def test_a_device_with_topics_of_its_own_writes_by_the_route(board):
    route, = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    with (board.config / "agent.toml").open("a") as file:
        file.write(route)
    with (board.bus.folder / "acl").open("a") as file:
        file.write("\nuser postern-agent\ntopic read esp/+/state\nuser thermo\ntopic write esp/#\n")
    os.kill(board.bus.program.pid, signal.SIGHUP)
    until(lambda: "Reloading config" in board.bus.program.log, "the list to be read", 60)
    installation = board.live()
    device = board.login("thermo")
    assert device.publish("esp/hall/state", b'{"celsius":21.5}') < 0x80
    came = board.wait_data(installation, b'{"celsius":21.5}', timeout=60)
    assert came.topic == f"{topics.ROOT}/{installation.iid}/data/Reading/create/hall"
    assert came.user["app"] == "esp"
    device.close()


def test_the_program_in_c_lives_as_long_as_its_session(board, program):
    claim_url = board.pair()
    board.start()
    program.start()
    board.wait_session("unavailable")
    claimed = board.authority.claim(claim_url)
    board.authority.wait_live(claimed)

    wait_answer(board, kind="session")
    wait_told(program, "session:")
    first = wait_answer(board, seq=1)
    wait_told(program, "safe")
    write = writes(board)[0]
    assert json.loads(write.payload) == READING and write.qos == 1
    assert write.correlation == first.correlation == write.user["key"].encode()
    assert board.wait_data(claimed, write.payload).user["app"] == "thermo"

    # Without an answer the same write comes again, and the answer counts when it comes.
    board.agent.kill()
    hear_all(board)
    mark = board.watcher.mark()
    lost = until(lambda: writes(board, mark), "a write", 60)[0]
    again = until(lambda: writes(board, mark)[1:], "the same write again", 60)[0]
    assert (again.user, again.correlation) == (lost.user, lost.correlation)
    board.start()
    until(lambda: any(m.correlation == lost.correlation for m in answers(board)), "its answer", 60)

    # A session that may come back is waited for, with the write in hand.
    board.barrier(claimed)
    board.authority.update(claimed, expiresAt=int(time.time()) + 1)
    held = wait_answer(board, 60, code=209, final=False)
    board.authority.update(claimed, expiresAt=int(time.time()) + 3600)
    until(lambda: any(m.correlation == held.correlation and b"seq" in m.payload
                      for m in answers(board)), "the held write to be taken", 60)
    assert program.is_running

    # One that is over ends the program.
    board.authority.revoke(claimed)
    wait_answer(board, 60, code=209, final=True)
    until(lambda: not program.is_running, "the program to end", 60)
    assert program.process.returncode == 1
    assert "pair this board again" in program.log


def hear_all(board: ShippedBoard) -> None:
    """Waits until the watcher has heard all that was said on the bus before."""
    word = secrets.token_bytes(8)
    board.watcher.publish(topics.app("bench", "answers"), b"", correlation=word)
    board.watcher.wait(lambda m: m.correlation == word, "the watcher to be abreast")


def lose_answer(board: ShippedBoard, cable: Cable) -> Message:
    """A write whose answer reached the bus and not the program, whose connection then ends."""
    before, cable.loses = cable.lost, b'"seq"'
    until(lambda: cable.lost > before, "an answer to be lost", 60)
    # The program has one write at a time, so it is the one of the last answer.
    hear_all(board)
    lost = answers(board)[-1]
    cable.pull()
    cable.loses = None
    cable.plug()
    return lost


def kill_agent(board: ShippedBoard, cable: Cable) -> Message:
    """A write of which the agent may have done anything, or nothing, when it was killed."""
    mark = board.watcher.mark()
    met = until(lambda: writes(board, mark), "a write", 30)[0]
    board.agent.kill()
    board.start()
    return met


def test_the_program_in_c_repeats_a_write_and_makes_no_second_record(board, cable, program):
    board.live()
    program.start()
    wait_answer(board, seq=1)
    for interrupt in (lose_answer, kill_agent, lose_answer):
        met = interrupt(board, cable)
        until(lambda: {m.correlation for m in writes(board)[-1:]} - {met.correlation},
              "the next reading", 60)
        repeated = [m for m in writes(board) if m.correlation == met.correlation]
        assert interrupt is kill_agent or len(repeated) > 1
    os.killpg(program.pid, signal.SIGTERM)
    until(lambda: not program.is_running, "the program to end", 60)
    hear_all(board)
    until(lambda: board.status()["queue"]["messages"] == 0, "all to leave", 60)

    def numbers() -> set[tuple]:
        return {(m.correlation, json.loads(m.payload)["seq"]) for m in answers(board)
                if b"seq" in m.payload}

    # The last write may still be on its way when its program has ended.
    until(lambda: {key for key, _ in numbers()} == {m.correlation for m in writes(board)},
          "each write to have its answer", 60)
    given = sorted(number for _, number in numbers())
    assert given == list(range(1, len(given) + 1)), "a reading has two numbers"
    until(lambda: {int(m.user["seq"]) for m in board.data_heard()} == set(given),
          "each to be one record upstream", 60)


def test_the_program_in_c_meets_refusals_and_stops(board, program):
    policy = board.config / "policy.toml"
    policy.write_text(DENIES)
    policy.chmod(0o640)
    board.live()
    program.start()
    wait_answer(board, code=119)
    wait_told(program, "refused")
    refused = answers(board, code=119)[0]
    until(lambda: writes(board)[-1].correlation != refused.correlation, "the next reading", 60)
    # It may have been repeated while its answer was awaited, and not after that.
    heard = board.watcher.heard
    repeated = [m for m in writes(board) if m.correlation == refused.correlation]
    assert all(heard.index(m) < heard.index(refused) for m in repeated)

    # A mistake in a topic is answered where no topic for the answer is named.
    mistaken = board.login("thermo")
    mistaken.publish(topics.app("thermo", "creat", "Reading"), b"{}")
    mistaken.close()
    wait_told(program, "rejected")
    assert "105" in program.out.read_text() and "builtin:topic" in program.out.read_text()

    # Over its rate it waits, and sends the same again.
    policy.write_text(LIMITS)
    slow = wait_answer(board, code=155, timeout=60)
    until(lambda: any(m.correlation == slow.correlation and b"seq" in m.payload
                      for m in answers(board)), "the same to be taken", 60)

    # As systemd and ^C do it.
    os.killpg(program.pid, signal.SIGTERM)
    until(lambda: not program.is_running, "the program to end", 60)
    assert program.process.returncode == 0
    found = re.findall(r"as (\S+) \(p5[^)]*u'thermo'\)", board.bus.program.log)
    client, = set(found) - {mistaken.login.client_id}
    # The broker may read it after the program's end.
    until(lambda: f"Client {client} disconnected." in board.bus.program.log, "a DISCONNECT", 60)


def test_the_program_in_c_says_why_it_does_not_start(cable, tmp_path):
    program = compiled(tmp_path)
    cable.pull()

    def start(*arguments) -> tuple[int, str]:
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                              timeout=60)
        return done.returncode, done.stderr

    password, empty = tmp_path / "password", tmp_path / "empty"
    assert start() == (2, "usage: thermo PASSWORD-FILE [PORT]\n")
    assert start(password) == (2, f"{password}: No such file or directory\n")
    empty.touch()
    assert start(empty) == (2, f"{empty}: nothing is in it\n")
    password.write_text("any\n")
    assert start(password, cable.port) == (
        1, f"no bus at 127.0.0.1:{cable.port}: Connection refused\n")


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
