"""The real `postern-agent`: what programs may read, under an authority that sends too much."""

import json

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.waiting import until
from conftest import assert_nothing_leaked


def _unrestricted(session: dict, **members) -> dict:
    return session | {"restricted": False} | members


def _all_reads(app) -> str:
    return json.dumps([app.get(what) for what in ("session", "user", "sessions")])


def test_an_unrestricted_session_is_never_read_out(bench):
    board = bench.live()
    app = bench.app()
    own = board.login.session
    login = _unrestricted(own, objectId="Login00001")
    bench.authority.script(
        "session.list", {"sessions": [_unrestricted(own), login, own]})
    assert [s["objectId"] for s in app.get("sessions")["sessions"]] == [own["objectId"]]
    user = board.user | {"sessions": [login], "login": login}
    bench.authority.script(
        "session.authenticate", {"session": _unrestricted(own), "user": board.user},
        {"session": own, "user": user})
    mark = bench.authority.mark()
    bench.command("session", "refresh", "--json", ok=(0, 1, 3, 5))
    bench.authority.wait_request("session.authenticate", since=mark, timeout=60)
    board.login.session = _unrestricted(own)
    bench.authority.update(board)
    board.login.session = own
    bench.barrier(board)
    read = _all_reads(app)
    assert own["objectId"] in read and board.user["username"] in read
    assert "Login00001" not in read and '"restricted": false' not in read
    for message in bench.watcher.heard:
        assert b'"restricted":false' not in message.payload


def test_no_token_is_read_out_of_custom_fields(bench):
    board = bench.live()
    app = bench.app()
    token = board.login.session_token
    bench.authority.update(board, note=token, deep=[{"sessionToken": token, "x": [token]}],
                           room="attic")
    until(lambda: "attic" in json.dumps(app.get("session")), "the update", 60)
    assert token not in _all_reads(app)
    assert board.login.access_token not in _all_reads(app)


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
