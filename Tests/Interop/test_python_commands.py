"""The Python library: an app that takes commands, on a shipped board and in memory."""

import asyncio
import collections
import time

import postern
import postern.aio
import postern.testing
import pytest

from bench.waiting import until
from conftest import assert_nothing_leaked
from python_fixtures import ALLOWS, board, login, set_policy  # noqa: F401, fixtures

COMMANDS = ALLOWS + '[app.thermo]\ncommands = true\ncommand_rate = "1000/s"\n'


@pytest.fixture
def live(board):
    """A board whose policy lets people command the app."""
    set_policy(board, COMMANDS)
    url = board.pair()
    board.start()
    claimed = board.authority.claim(url)
    board.authority.wait_live(claimed)
    board.wait_session("available")
    until(lambda: board.is_settled(claimed.iid), "the agent to come with its password", 60)
    # It reads all, so it would count as a subscriber before the app is there.
    board.watcher.close()
    return claimed


def test_the_handlers_value_is_the_answer(board, live, login):
    with postern.App("thermo", **login) as app:
        got = []

        @app.on_command
        def heat(command):
            got.append(command)
            return {"done": command}

        sent = board.authority.command(live, "thermo", {"celsius": 21})
        result = board.authority.wait_result(sent)
        assert (result["state"], result["answer"]) == ("answered", {"done": {"celsius": 21}})
        assert got == [{"celsius": 21}]


def test_a_failing_handler_names_its_exception_only(board, live, login):
    with postern.App("thermo", **login) as app:
        app.on_command(lambda command: 1 / 0)
        sent = board.authority.command(live, "thermo", None)
        assert board.authority.wait_result(sent)["answer"] == {"error": "ZeroDivisionError"}
        app.on_command(lambda command: "x" * 20_000)
        sent = board.authority.command(live, "thermo", None)
        assert board.authority.wait_result(sent)["answer"] == {"error": "ValueError"}


def test_an_app_that_comes_back_gets_what_waits(board, live, login):
    with postern.App("thermo", **login) as app:
        app.session()
    sent = board.authority.command(live, "thermo", 1, wait=600)
    board.barrier(live)
    with postern.App("thermo", **login) as app:
        app.on_command(lambda command: command)
        assert board.authority.wait_result(sent)["answer"] == 1


def test_asyncio_handlers_are_coroutines(board, live, login):
    async def run():
        async with postern.aio.App("thermo", **login) as app:
            @app.on_command
            async def heat(command):
                await asyncio.sleep(0)
                return [command]

            sent = board.authority.command(live, "thermo", 7)
            return await asyncio.to_thread(board.authority.wait_result, sent)

    assert asyncio.run(run())["answer"] == [7]


def test_a_test_sends_commands_without_a_board(programs, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(ALLOWS + "[app.thermo]\ncommands = true\n"
                      'command_fields = { celsius = "number(5..30)" }\n')
    with postern.testing.Agent(policy, program=str(programs / "postern-agent")) as agent:
        with pytest.raises(postern.Unavailable):
            agent.command("thermo", {"celsius": 21})
        with postern.App("thermo") as app:
            app.on_command(lambda command: command["celsius"])
            assert agent.command("thermo", {"celsius": 21}) == 21
            for content, code in (({"celsius": 31}, 142), ({}, 142), (1, 111)):
                with pytest.raises(postern.Refused) as found:
                    agent.command("thermo", content)
                assert found.value.code == code
            with pytest.raises(postern.Refused) as found:
                agent.command("door", 1)
            assert (found.value.code, found.value.rule) == (119, "builtin:command")


def test_a_repeated_or_late_message_is_not_handled():
    from types import SimpleNamespace

    from postern._command import Commander

    handled, answers, seen = [], [], collections.deque()

    def make():
        return Commander(handled.append, lambda c, a: answers.append((c, a)), "x", seen)

    commander = make()

    def message(number, content, expiry=60, deadline=time.time() + 60):
        body = (f'{{"id":"00000000-0000-4000-8000-{number:012}","command":{content},'
                f'"deadline":{deadline}}}')
        return SimpleNamespace(payload=body.encode(), properties=SimpleNamespace(
            MessageExpiryInterval=expiry))

    commander.take(message(1, 1))
    commander.take(message(1, 1))
    commander.take(message(2, 2, expiry=0))
    commander.take(SimpleNamespace(payload=b"{", properties=None))
    commander.take(SimpleNamespace(payload=b'{"id":"x","command":1}', properties=None))
    # MQTT 3.1.1 has no expiry.
    commander.take(message(4, 4, expiry=None, deadline=time.time() - 1))
    commander.take(message(5, 5, deadline="1" + 400 * "0"))
    commander.take(message(3, 3, expiry=None))
    until(lambda: len(answers) == 2, "the answers", 60)
    assert handled == [1, 3] and answers[0][1] == b"null"
    commander.close()
    another = make()
    another.take(message(1, 1))
    another.take(message(6, 6))
    until(lambda: len(answers) == 3, "the answer of the new handler", 60)
    assert handled == [1, 3, 6]
    another.close()


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
