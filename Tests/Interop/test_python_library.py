"""The Python library `Devices/python` on a board as it is shipped."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paho.mqtt
import postern
import postern.aio
import pytest

from bench.program import Program
from bench.waiting import until
from conftest import assert_nothing_leaked
from python_fixtures import (  # noqa: F401, fixtures
    ALLOWS, DENIES, DEVICES, LIBRARY, ONE_AN_HOUR, board, cable, credentials, login, lose_numbers,
    records, set_policy, write_through_kills)


def test_five_lines_write_a_reading(board, login):
    board.live()
    with postern.App("thermo", **login) as app:
        seq = app.create("Reading", celsius=21.5)
        assert app.update("Reading", "r1", {"celsius": 22}, unit="C") == seq + 1
        assert app.delete("Reading", "r1") == seq + 2
        assert app.create("Note", "any JSON") == seq + 3
    until(lambda: len(records(board)) == 4, "the writes upstream", 60)
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
    # It waits for a session for as long as that.
    with postern.App("thermo", timeout=8, **login) as app:
        seen = []
        app.on_session(seen.append)
        assert app.session().reason == "unclaimed"
        with pytest.raises(postern.SessionOver) as found:
            app.create("Reading", celsius=21.5)
        assert (found.value.code, found.value.final) == (206, False)
        app.timeout = 60
        claimed = board.authority.claim(url)
        board.authority.wait_live(claimed)
        until(lambda: app.session().available, "the session", 60)
        assert app.session().user and app.create("Reading", celsius=21.5) == 1
        board.authority.revoke(claimed)
        until(lambda: app.session().final, "the end of the session", 60)
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
        writer.join(60)
        assert numbers == [1]


def test_no_answer_is_unavailable_and_retry_makes_no_second_record(board, login):
    board.live()
    with postern.App("thermo", **login) as app:
        first = app.create("Reading", n=1)
        board.agent.kill()
        app.timeout = 1
        with pytest.raises(postern.Unavailable, match="the agent has not answered") as found:
            app.create("Reading", n=2)
        board.start()
        app.timeout = 60
        assert found.value.retry() == found.value.retry() == first + 1
    until(lambda: len(records(board)) == 2, "the writes upstream", 60)
    board.bus.program.kill()
    with postern.App("thermo", timeout=1, **login) as app:
        with pytest.raises(postern.Unavailable, match="the bus is away"):
            app.create("Reading", n=3)


def test_a_write_that_is_too_fast_is_unavailable_and_may_be_sent_again(board, login):
    set_policy(board, ONE_AN_HOUR)
    board.live()
    with postern.App("thermo", **login) as app:
        assert app.create("Reading", n=1) == 1
        app.timeout = 1

        def late() -> Exception | None:
            with pytest.raises(postern.Unavailable) as found:
                app.once("noon").create("Reading", n=2)
            return found.value if str(found.value).startswith("155 ") else None

        error = until(late, "155 after the timeout", 60)
        set_policy(board, ALLOWS)
        app.timeout = 60
        assert error.retry() == error.retry() == 2
    until(lambda: len(records(board)) == 2, "the writes upstream", 60)


def test_a_lost_number_is_unavailable_whatever_the_agent_answered_before(board, login, cable):
    url = board.pair()
    board.start()
    board.wait_session("unavailable")
    app = postern.App("thermo", f"mqtt://127.0.0.1:{cable.port}", password=login["password"],
                      timeout=300)
    with ThreadPoolExecutor(1) as pool:
        try:
            write = pool.submit(app.once("noon").create, "Reading", n=1)
            lose_numbers(board, cable, url)
        finally:
            app.close()
        with pytest.raises(postern.Unavailable):
            write.result(60)
    with postern.App("thermo", **login) as app:
        assert app.once("noon").create("Reading", n=1) == 1
    until(lambda: len(records(board)) == 1, "one record upstream", 60)


#: Notes each write that was answered. When it starts again, it goes on behind them.
WRITER = """\
import pathlib, sys, time, postern
notes, end = map(pathlib.Path, sys.argv[1:])
n = len(notes.read_text().splitlines())
with postern.App("thermo", timeout=300) as app, notes.open("a") as file:
    while not end.exists():
        seq = app.once(f"write {n}").create("Reading", n=n)
        file.write(f"{n} {seq}\\n")
        file.flush()
        n += 1
        time.sleep(0.01)
"""


def test_each_write_is_one_record_over_kills_of_agent_bus_and_app(
        board, login, tmp_path, credentials):
    """POSTERN_KILLS=200 is the long form."""
    board.live()
    notes, end = tmp_path / "notes", tmp_path / "end"
    app = Program("writer", [sys.executable, "-c", WRITER, notes, end], tmp_path, {
        "PYTHONPATH": str(LIBRARY), "POSTERN_BUS": login["bus"],
        "CREDENTIALS_DIRECTORY": str(credentials)})
    write_through_kills(board, app, notes, end)


def test_a_key_of_its_own_makes_a_write_one_record(board, login):
    board.live()
    with postern.App("thermo", **login) as app:
        first = app.once("noon").create("Reading", celsius=1)
        assert app.once("noon").create("Reading", celsius=1) == first
        assert app.once("one").create("Reading", celsius=1) == first + 1
        for key in ("", "x" * 65):
            with pytest.raises(ValueError, match="1 to 64 bytes"):
                app.once(key).create("Reading", celsius=1)

    async def live() -> None:
        async with postern.aio.App("thermo", **login) as app:
            assert await app.once("noon").create("Reading", celsius=1) == first

    asyncio.run(asyncio.wait_for(live(), 60))


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
            await asyncio.wait_for(follower, 60)
            with pytest.raises(postern.SessionOver):
                await app.create("Reading", n=20)
            assert seen == ["unclaimed", None, "revoked"]

    asyncio.run(asyncio.wait_for(live(), 120))


def test_a_shell_sends_one_write(board, login, credentials):
    board.live()
    password = credentials / "thermo.password"

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


@pytest.fixture
def send(login, tmp_path):
    """`postern-agent-app send`, with its logins in a folder of the test."""
    logins = tmp_path / "apps"
    logins.mkdir()
    (logins / "thermo.password").write_text(login["password"] + "\n")
    text = (DEVICES / "packages" / "postern-agent-app").read_text()
    assert text.count("\napps=/etc/postern/apps\n") == 1
    script = tmp_path / "postern-agent-app"
    script.write_text(text.replace("\napps=/etc/postern/apps\n", f"\napps={logins}\n"))

    def send(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["/bin/sh", script, "send", *arguments], capture_output=True, text=True, timeout=120,
            env={**os.environ, "POSTERN_BUS": login["bus"]})

    return send


def test_postern_agent_app_sends_one_write(board, send):
    installation = board.live()
    done = send("thermo", "create", "Reading", '{"celsius": 21.5}')
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert send("thermo", "delete", "Reading/r1").stdout == "2\n"
    for _ in range(2):
        assert send("--key", "noon", "thermo", "create", "Reading", '{"n": 1}').stdout == "3\n"
    refused = send("thermo", "create", "_User")
    assert refused.returncode == 1 and '"code":119' in refused.stderr
    for wrong in (["thermo", "read", "Reading"], ["thermo", "create", "Reading+"],
                  ["--key", "", "thermo", "create", "Reading"],
                  ["--key", "x" * 65, "thermo", "create", "Reading"]):
        assert send(*wrong).returncode == 2, wrong
    assert send("pump", "create", "Reading").returncode == 77
    until(lambda: records(board) == [(1, {"celsius": 21.5}), (2, {}), (3, {"n": 1})],
          "the writes upstream", 60)
    board.authority.revoke(installation)
    board.wait_session("unavailable")
    over = send("thermo", "create", "Reading")
    assert over.returncode == 4 and "no session" in over.stderr
    # A write that is safe already is answered in any case.
    assert send("--key", "noon", "thermo", "create", "Reading", '{"n": 1}').stdout == "3\n"


@pytest.mark.slow
def test_postern_agent_app_names_the_key_of_a_write_without_an_answer(board, send):
    board.live()
    board.agent.kill()
    away = send("thermo", "create", "Reading", '{"n": 1}')
    assert away.returncode == 5 and away.stdout == "" and "no answer came" in away.stderr
    key = re.search("--key ([0-9a-f-]{36}) ", away.stderr)[1]
    board.start()
    for _ in range(2):
        assert send("--key", key, "thermo", "create", "Reading", '{"n": 1}').stdout == "1\n"
    until(lambda: records(board) == [(1, {"n": 1})], "one record upstream", 60)


@pytest.mark.slow
def test_postern_agent_app_names_the_key_of_a_write_that_is_too_fast(board, send):
    set_policy(board, ONE_AN_HOUR)
    board.live()
    assert send("thermo", "create", "Reading", '{"n": 1}').stdout == "1\n"
    late = send("--key", "noon", "thermo", "create", "Reading", '{"n": 2}')
    assert late.returncode == 5 and late.stdout == "" and "--key noon" in late.stderr
    set_policy(board, ALLOWS)
    for _ in range(2):
        assert send("--key", "noon", "thermo", "create", "Reading", '{"n": 2}').stdout == "2\n"
    until(lambda: len(records(board)) == 2, "the writes upstream", 60)


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


def test_its_wheel_is_the_same_each_time_and_runs_in_an_environment(tmp_path):
    maker = DEVICES / "release" / "python_wheel.py"
    for folder, mask in (("one", "077"), ("two", "022")):
        subprocess.run(["/bin/sh", "-c", f'umask {mask}; exec "$0" -B "$1" "$2"', sys.executable,
                        maker, tmp_path / folder], check=True, timeout=120,
                       env=os.environ | {"SOURCE_DATE_EPOCH": "1795564800"})
    one, two = (list((tmp_path / folder).iterdir())[0] for folder in ("one", "two"))
    assert one.name == two.name and one.read_bytes() == two.read_bytes()
    place = tmp_path / "place"
    subprocess.run([sys.executable, "-m", "venv", place], check=True, timeout=300)
    # paho-mqtt as it is here, because a test fetches nothing.
    (tmp_path / "needed").mkdir()
    (tmp_path / "needed" / "paho").symlink_to(Path(paho.mqtt.__file__).parents[1])
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
        "PYTHONPATH": str(tmp_path / "needed")}
    for command in (["pip", "install", "-q", "--no-deps", "--no-index", one],
                    ["postern-send", "--help"],
                    ["python", "-c", "import postern.aio, postern.mqtt, postern.testing"]):
        done = subprocess.run([place / "bin" / command[0], *command[1:]], cwd=tmp_path, timeout=300,
                              env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    found = subprocess.run([place / "bin" / "pip", "show", "-f", "postern"], capture_output=True,
                           text=True, env=environment, timeout=300).stdout
    assert "Requires: paho-mqtt" in found and "postern/py.typed" in found


def test_its_types_are_strict():
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "postern"], cwd=LIBRARY,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
