"""A scope that changes while its session lives: at the authority, on the way, and on the board."""

import json
import time

from bench.house import House, HouseBoard
from bench.waiting import until
from conftest import assert_nothing_leaked
from house_fixtures import house, house_settings, measure  # noqa: F401, fixtures

EACH = 100
READINGS = {"default": "deny", "rules": [{"class": "Reading", "allow": ["create"]}]}


def scope_file(house: House, name: str, scope: dict):
    path = house.folder / f"{name}.json"
    path.write_text(json.dumps(scope))
    return path


def change(house: House, board: HouseBoard, scope: dict, *options) -> str:
    """What `postern sessions scope` says to the person."""
    done = house.admin.cli(
        "sessions", "scope", board.session_id, scope_file(house, board.name, scope), *options)
    assert done.returncode == 0, done.stderr
    return done.stderr


def is_pending(house: House, session: str) -> bool:
    return house.show(session)["scopePending"]


def fill(board: HouseBoard, classes: tuple[str, ...]) -> dict[str, list[int]]:
    """The numbers of `EACH` writes of each class, in turn, sent without waiting in between."""
    app = board.app("filler")
    sent = [(name, app.send(f"postern/app/filler/create/{name}", b'{"celsius":%d}' % n,
                            wait=False)) for n in range(EACH) for name in classes]
    until(lambda: len(app.link.heard) >= len(sent), f"{len(sent)} answers", 60)
    told = {m.correlation: json.loads(m.payload)["seq"] for m in app.link.heard}
    return {name: [told[c] for kind, c in sent if kind == name] for name in classes}


def wait_arrived(house: House, board: HouseBoard, numbers: list[int]) -> None:
    """Until these writes are upstream. Fails if any others are."""
    def arrived() -> set[int]:
        return {int(m.user["seq"]) for m in house.data(board)}

    until(lambda: arrived() >= set(numbers), "the writes to be heard upstream", 60)
    assert arrived() == set(numbers)


def dead_letters(board: HouseBoard) -> dict[int, dict]:
    shown = json.loads(board.command("queue", "show", "--dead", "--json", ok=(0, 3)))
    return {letter["seq"]: letter for letter in shown["deadLetters"]}


def test_a_scope_is_in_force_within_a_second_and_across_a_restart(house, measure):
    board = house.live("narrowed")
    session, begun = board.session_id, time.monotonic()
    assert "seq" in board.app("door").write("Door")
    said = change(house, board, READINGS)
    measure.milliseconds("sessions scope: in force on the board after", time.monotonic() - begun)
    assert "; waiting for the board" in said and "in force on the board" in said
    shown = house.show(session)
    assert shown["scope"] == READINGS and not shown["scopePending"]
    assert board.thermo.write("Door")["rule"] == "scope:default"
    assert "seq" in board.write()
    events = [(e["actor"], e["detail"]) for e in house.events("session.scope", session)]
    assert events == [("board", "in force on the board"),
                      (house.admin.name, "changed; waiting for the board")]
    board.agent.kill()
    board.cable.pull()
    board.start()
    assert board.thermo.write("Door")["rule"] == "scope:default"
    assert "seq" in board.write()
    board.cable.plug()


def test_what_waits_is_judged_again_and_dead_letters_have_a_name(house):
    house.consumer
    board = house.live("queued")
    session = board.session_id
    board.cable.pull()
    until(lambda: not board.is_online(), "the board to be away", 60)
    given = fill(board, ("Reading", "Alarm"))
    said = change(house, board, READINGS, "--wait", "1s")
    assert "; waiting for the board" in said and "has not confirmed it" in said
    assert is_pending(house, session)
    listed = next(b for b in house.admin.http("GET", "/postern/v1/boards")[1]["results"]
                  if b["installationId"] == board.iid)
    assert listed["scopePending"] is True
    board.agent.kill()
    board.start()
    board.cable.plug()
    # Once the board has the scope, it may die at any time.
    until(lambda: not is_pending(house, session), "the board to confirm its scope", 60)
    board.agent.kill()
    board.start()
    until(lambda: len(dead_letters(board)) == EACH, "each alarm to be a dead letter", 60)
    until(lambda: board.status()["queue"]["messages"] == 0, "an empty queue", 60)
    letters = dead_letters(board)
    assert sorted(letters) == given["Alarm"]
    assert {letter["class"] for letter in letters.values()} == {"Alarm"}
    assert all(letter["reason"].startswith("scope:default: ") for letter in letters.values())
    wait_arrived(house, board, given["Reading"])
    assert not any("/data/Alarm/" in m.topic for m in house.data(board))
    lost = {n for first, last in board.status()["losses"]["ranges"] for n in range(first, last + 1)}
    assert lost == set(given["Alarm"])


def test_the_second_change_counts_and_a_wider_one_buries_nothing(house):
    house.consumer
    board = house.live("changed twice")
    board.cable.pull()
    until(lambda: not board.is_online(), "the board to be away", 60)
    given = fill(board, ("Reading", "Alarm"))
    change(house, board, READINGS, "--wait", "1s")
    wide = {"default": "allow", "rules": []}
    change(house, board, wide, "--wait", "1s")
    board.cable.plug()
    until(lambda: not is_pending(house, board.session_id), "the board to confirm its scope", 60)
    until(lambda: board.status()["queue"]["messages"] == 0, "an empty queue", 60)
    assert dead_letters(board) == {}
    wait_arrived(house, board, given["Reading"] + given["Alarm"])
    assert house.show(board.session_id)["scope"] == wide


def test_refused_scopes_change_nothing(house):
    owner = house.user("ola", "--claim")
    board = house.live("owned", owner=owner)
    session = board.session_id
    path = f"/postern/v1/sessions/{session}/scope"
    other = house.user("eve")
    assert other.http("PUT", path, READINGS)[0] == 404
    for scope, code in (({"topics": ["home/x"]}, 119), ({"defalt": "deny"}, 142),
                        ({"rules": [{"class": "_User", "allow": ["create"]}]}, 119)):
        status, answer = owner.http("PUT", path, scope)
        assert (status, answer["code"]) == (400, code)
    shown = owner.http("GET", f"/postern/v1/sessions/{session}")[1]
    assert shown["scope"] is None and shown["scopePending"] is False
    assert owner.http("PUT", path, READINGS)[0] == 200
    until(lambda: not owner.http("GET", f"/postern/v1/sessions/{session}")[1]["scopePending"],
          "the board to confirm its scope", 60)


def test_no_secret_was_seen_anywhere(evidence, programs):
    assert_nothing_leaked(evidence)
