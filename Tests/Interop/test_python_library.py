"""The Python library `Devices/python` on a board as it is shipped."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bench.shipped_board import ShippedBoard
from bench.waiting import until
from conftest import assert_nothing_leaked

DEVICES = Path(__file__).resolve().parents[2] / "Devices"
LIBRARY = DEVICES / "python"
SCRIPT = DEVICES / "packages" / "postern-agent-app"
sys.path.insert(0, str(LIBRARY))

import postern  # noqa: E402
import postern.aio  # noqa: E402

DENIES = """\
default = "deny"
[[rule]]
class = "Reading"
allow = ["create"]
fields = { celsius = "number(-60..125)" }
"""


@pytest.fixture
def board(tmp_path, evidence, programs):
    board = ShippedBoard(tmp_path, evidence, programs, "thermo")
    yield board
    board.close()
    board.assert_conforms()


@pytest.fixture
def login(board) -> dict:
    """How an app reaches this board's bus."""
    return {"bus": f"unix:{board.bus.socket}", "password": board.bus.passwords["thermo"]}


def records(board: ShippedBoard) -> list[tuple[int, dict]]:
    """What arrived upstream, in order. A message of QoS 1 that came twice is one record."""
    found = {(int(m.user["seq"]), m.payload) for m in board.data_heard()}
    return sorted((seq, json.loads(payload)) for seq, payload in found)


def test_five_lines_write_a_reading(board, login):
    board.live()
    with postern.App("thermo", **login) as app:
        seq = app.create("Reading", celsius=21.5)
        assert app.update("Reading", "r1", {"celsius": 22}, unit="C") == seq + 1
        assert app.delete("Reading", "r1") == seq + 2
        assert app.create("Note", "any JSON") == seq + 3
    until(lambda: len(records(board)) == 4, "the writes upstream", 20)
    assert [payload for _, payload in records(board)] == [
        {"celsius": 21.5}, {"celsius": 22, "unit": "C"}, {}, "any JSON"]


def test_refusals_are_exceptions_that_say_what_decided(board, login):
    policy = board.config / "policy.toml"
    policy.write_text(DENIES)
    policy.chmod(0o640)
    board.live()
    with postern.App("thermo", **login) as app:
        with pytest.raises(postern.Refused) as found:
            app.create("Reading", celsius=200)
        assert (found.value.code, found.value.field) == (142, "celsius")
        assert found.value.rule.startswith("policy.toml:")
        with pytest.raises(postern.Refused) as found:
            app.create("Camera", picture=1)
        assert found.value.code == 119
        for name in ("a/b", "", "Reading+"):
            with pytest.raises(ValueError):
                app.create(name, celsius=1)
        with pytest.raises(ValueError):
            app.create("Reading", celsius=float("nan"))


def test_the_end_of_a_session_is_an_exception_and_is_followed(board, login):
    url = board.pair()
    board.start()
    with postern.App("thermo", timeout=3, **login) as app:
        seen = []
        app.on_session(seen.append)
        assert app.session().reason == "unclaimed"
        with pytest.raises(postern.SessionOver) as found:
            app.create("Reading", celsius=21.5)
        assert (found.value.code, found.value.final) == (206, False)
        claimed = board.authority.claim(url)
        board.authority.wait_live(claimed)
        until(lambda: app.session().available, "the session", 20)
        assert app.session().user and app.create("Reading", celsius=21.5) == 1
        board.authority.revoke(claimed)
        until(lambda: app.session().final, "the end of the session", 20)
        with pytest.raises(postern.SessionOver) as found:
            app.create("Reading", celsius=21.5)
        assert (found.value.code, found.value.final) == (209, True)
    assert [s.reason for s in seen] == ["unclaimed", None, "revoked"]


def test_a_write_waits_for_a_session(board, login):
    url = board.pair()
    board.start()
    with postern.App("thermo", **login) as app:
        app.session()
        numbers = []
        writer = threading.Thread(target=lambda: numbers.append(app.create("Reading", c=1)))
        writer.start()
        board.authority.wait_live(board.authority.claim(url))
        writer.join(30)
        assert numbers == [1]


def test_no_answer_is_unavailable_and_retry_makes_no_second_record(board, login):
    board.live()
    with postern.App("thermo", timeout=1, **login) as app:
        first = app.create("Reading", n=1)
        board.agent.kill()
        with pytest.raises(postern.Unavailable, match="the agent has not answered") as found:
            app.create("Reading", n=2)
        board.start()
        app.timeout = 30
        assert found.value.retry() == found.value.retry() == first + 1
    until(lambda: len(records(board)) == 2, "the writes upstream", 20)
    board.bus.program.kill()
    with postern.App("thermo", timeout=1, **login) as app:
        with pytest.raises(postern.Unavailable, match="the bus is away"):
            app.create("Reading", n=3)


def test_each_write_is_one_record_over_kills_of_agent_and_bus(board, login):
    board.live()
    given, is_over = {}, threading.Event()

    def write() -> None:
        with postern.App("thermo", timeout=120, **login) as app:
            while not is_over.is_set():
                given[len(given)] = app.create("Reading", n=len(given))

    writer = threading.Thread(target=write)
    writer.start()
    for program in [board.agent, board.bus.program] * 4:
        before = len(given)
        until(lambda: len(given) > before + 3, "writes", 60)
        program.kill()
        if program is board.agent:
            board.start()
        else:
            board.bus.start()
    before = len(given)
    until(lambda: len(given) > before + 3, "writes", 60)
    is_over.set()
    writer.join(60)
    assert not writer.is_alive()
    until(lambda: len(records(board)) >= len(given), "all upstream", 60)
    assert records(board) == sorted((seq, {"n": n}) for n, seq in given.items())


def test_asyncio_has_the_same(board, login):
    url = board.pair()
    board.start()

    async def live() -> None:
        async with postern.aio.App("thermo", **login) as app:
            seen = []

            async def follow() -> None:
                async for session in app.sessions():
                    seen.append(session.reason)
                    if session.final:
                        return

            follower = asyncio.create_task(follow())
            first = asyncio.create_task(app.create("Reading", n=0))
            await app.session()
            claimed = await asyncio.to_thread(board.authority.claim, url)
            await asyncio.to_thread(board.authority.wait_live, claimed)
            assert await first == 1
            numbers = await asyncio.gather(*(app.create("Reading", n=n) for n in range(1, 20)))
            assert sorted(numbers) == list(range(2, 21))
            await asyncio.to_thread(board.authority.revoke, claimed)
            await asyncio.wait_for(follower, 20)
            with pytest.raises(postern.SessionOver):
                await app.create("Reading", n=20)
            assert seen == ["unclaimed", None, "revoked"]

    asyncio.run(asyncio.wait_for(live(), 60))


def test_a_shell_sends_one_write(board, login, tmp_path):
    board.live()
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    password = credentials / "thermo.password"
    password.write_text(login["password"] + "\n")
    password.chmod(0o400)

    def send(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess:
        environment = {**os.environ, "PYTHONPATH": str(LIBRARY), "POSTERN_BUS": login["bus"],
                       "CREDENTIALS_DIRECTORY": str(credentials)}
        return subprocess.run(
            [sys.executable, "-m", "postern", *arguments], input=stdin, env=environment,
            capture_output=True, text=True, timeout=60)

    done = send("thermo", "create", "Reading", '{"celsius": 21.5}')
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert send("thermo", "update", "Reading/r1", "-", stdin="{}").stdout == "2\n"
    refused = send("thermo", "create", "_User")
    assert refused.returncode == 1 and "119" in refused.stderr
    assert send("thermo", "create", "Reading/r1").returncode == 2
    board.agent.kill()
    away = send("thermo", "create", "Reading", "--timeout", "1")
    assert away.returncode == 5 and "has not answered" in away.stderr
    password.chmod(0o444)
    assert send("thermo", "create", "Reading").returncode == 77


def test_postern_agent_app_sends_one_write(board, login, tmp_path):
    board.live()
    logins = tmp_path / "apps"
    logins.mkdir()
    (logins / "thermo.password").write_text(login["password"] + "\n")
    text = SCRIPT.read_text()
    assert text.count("\napps=/etc/postern/apps\n") == 1
    script = tmp_path / "postern-agent-app"
    script.write_text(text.replace("\napps=/etc/postern/apps\n", f"\napps={logins}\n"))

    def send(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["/bin/sh", script, "send", *arguments], capture_output=True, text=True, timeout=60,
            env={**os.environ, "POSTERN_BUS": login["bus"]})

    done = send("thermo", "create", "Reading", '{"celsius": 21.5}')
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert send("thermo", "delete", "Reading/r1").stdout == "2\n"
    refused = send("thermo", "create", "_User")
    assert refused.returncode == 1 and '"code":119' in refused.stderr
    assert send("thermo", "read", "Reading").returncode == 2
    assert send("pump", "create", "Reading").returncode == 77
    until(lambda: records(board) == [(1, {"celsius": 21.5}), (2, {})], "the writes upstream", 20)


def test_the_package_is_built_and_installed_alone(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(LIBRARY, source)
    made = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path,
         source], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    wheel, = tmp_path.glob("postern-*.whl")
    place = tmp_path / "installed"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", place,
                    wheel], check=True, timeout=120)
    assert (place / "postern" / "py.typed").exists()


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
