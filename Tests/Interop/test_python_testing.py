"""`postern.testing`: an app's own tests, without a broker, by the real rules."""

import asyncio
import threading

import postern
import postern.aio
import postern.testing
import pytest

POLICY = """\
default = "deny"
[[rule]]
app = "thermo"
class = "Reading"
allow = ["create"]
fields = { celsius = "number(-60..125)" }
"""


@pytest.fixture
def agent(programs, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    with postern.testing.Agent(policy, program=str(programs / "postern-agent")) as agent:
        yield agent


def test_the_rules_are_those_of_the_policy(agent):
    with postern.App("thermo") as app:
        assert app.create("Reading", celsius=21.5) == 1
        with pytest.raises(postern.Refused) as found:
            app.create("Reading", celsius=200)
        assert (found.value.code, found.value.field) == (142, "celsius")
        assert found.value.rule == "policy.toml:2"
        for write in (lambda: app.delete("Reading", "r1"), lambda: app.create("_User")):
            with pytest.raises(postern.Refused) as found:
                write()
            assert found.value.code == 119
        assert app.once("noon").create("Reading", celsius=1) == 2
        assert app.once("noon").create("Reading", celsius=1) == 2
    with postern.App("pump") as app, pytest.raises(postern.Refused):
        app.create("Reading", celsius=21.5)
    assert [(r.seq, r.app, r.op, r.class_name, r.object) for r in agent.records] == [
        (1, "thermo", "create", "Reading", {"celsius": 21.5}),
        (2, "thermo", "create", "Reading", {"celsius": 1})]


def test_the_session_ends_and_comes_back(agent):
    seen = []
    with postern.App("thermo") as app:
        app.on_session(seen.append)
        assert app.session().available
        agent.end_session()
        with pytest.raises(postern.SessionOver) as found:
            app.create("Reading", celsius=1)
        assert found.value.final and not agent.records
        agent.end_session("offline", final=False)
        numbers = []
        writer = threading.Thread(
            target=lambda: numbers.append(app.create("Reading", celsius=1)))
        writer.start()
        agent.begin_session()
        writer.join(60)
        assert numbers == [1]
    assert [s.reason for s in seen] == [None, "revoked", "offline", None]


def test_an_agent_that_is_away_answers_later(agent):
    with postern.App("thermo", timeout=0.5) as app:
        agent.is_answering = False
        with pytest.raises(postern.Unavailable) as found:
            app.create("Reading", celsius=1)
        agent.is_answering = True
        app.timeout = 60
        assert found.value.retry() == found.value.retry() == 1


def test_asyncio_has_the_same(agent):
    async def live() -> list[int]:
        async with postern.aio.App("thermo") as app:
            return [await app.create("Reading", celsius=n) for n in range(2)]

    assert asyncio.run(asyncio.wait_for(live(), 60)) == [1, 2]


def test_a_malformed_policy_is_an_error(programs, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text("defualt = 1\n")
    with pytest.raises(ValueError, match="policy.toml"):
        postern.testing.Agent(policy, program=str(programs / "postern-agent"))


def test_afterwards_an_app_reaches_a_bus_again(programs):
    before = postern._app.connect
    with postern.testing.Agent(program=str(programs / "postern-agent")):
        assert postern._app.connect != before
    assert postern._app.connect == before
