"""The last step: a table with the outcome of every write, and the search for leaks."""

from evidence import SHAPES, Place, Secret, files, search
from programs import StepFailed
from progress import detail, step, table
from steps import Demo


def conclude(demo: Demo) -> None:
    """Fails unless nothing was lost and nothing leaked."""
    for recorder in (demo.authority.broker, demo.board.uplink, demo.board.bus):
        for password, client in recorder.passwords.items():
            demo.know(f"the password of {client} at {recorder.name}",
                      password.decode(errors="replace"), True)
    with step(8, "every payload, log and state file is searched for secrets"):
        places = _places(demo)
        _prove_the_search_works(demo, places)
        found = search(demo.secrets, places)
        if found:
            raise StepFailed("found leaked secrets: " + "; ".join(found[:8]))
    _show(demo, places, found)
    if _lost(demo):
        raise StepFailed(f"{_lost(demo)} accepted readings were lost")


def _lost(demo: Demo) -> int:
    """Promised, not seen upstream, and not on the board any more."""
    return max(0, len(demo.missing) - demo.held)


def _show(demo: Demo, places: list[Place], found: list[str]) -> None:
    tally, consumer = demo.ledger.tally, demo.authority.consumer
    both = max(0, demo.held - len(demo.missing))
    detail("")
    table(["writes of the board's program", ""], [
        ["sent", tally.sent],
        ["accepted, each with its seq", tally.accepted],
        ["refused, each with its code", tally.refused],
        ["unanswered", tally.unanswered],
        ["forwarded, seen by the consumer", tally.accepted - len(demo.missing)],
        ["held on the board for the same user's next session", len(demo.missing) - _lost(demo)],
        ["lost", _lost(demo)],
        ["seen twice by the consumer", consumer.duplicates],
        *([["forwarded and held: revoked before its PUBACK", both]] if both else []),
    ])
    detail("")
    packets = len(demo.authority.broker.heard) + len(demo.board.bus.heard)
    others = sum(not place.name.startswith("MQTT ") for place in places)
    table(["searched for secrets", ""], [
        ["MQTT packets at both brokers (of a login all but its password)", packets],
        ["state files, logs, outputs, arguments, environments", others],
        ["secrets known by value, in all encodings", len(demo.secrets)],
        ["encodings", sum(len(secret.forms) for secret in demo.secrets)],
        ["shapes of tokens, for tokens sealed to the board", len(SHAPES)],
        ["found", len(found)],
    ])


def _places(demo: Demo) -> list[Place]:
    places = []
    for recorder in (demo.authority.broker, demo.board.uplink, demo.board.bus):
        if recorder.unreadable:
            raise StepFailed(f"{recorder.name} carried data that is not MQTT: "
                             f"{recorder.unreadable[0]}")
        for heard in list(recorder.heard):
            topic = heard.publish.topic if heard.publish else "a packet"
            places.append(Place(f"MQTT at {recorder.name}: {topic} of {heard.client}",
                                heard.raw, topic.startswith("$CONTROL/")))
    ours = [*demo.authority.own_secrets, demo.board.logins,
            demo.board.config / "bus-password"]
    for folder in (demo.authority.folder, demo.board.folder):
        places += [Place(str(path), path.read_bytes()) for path in files(folder, *ours)]
    return places + [Place(name, data) for name, data in demo.traces]


def _prove_the_search_works(demo: Demo, places: list[Place]) -> None:
    """A search that finds nothing must be one that could: the session's id is everywhere, and
    the administrator's token stands in the profile."""
    plain = demo.session.encode()
    session = Secret("the session's id", plain, frozenset({plain}))
    token = Place("the profile", (demo.authority.profile / "profile.json").read_bytes())
    if not any("upstream" in hit for hit in search([session], places)):
        raise StepFailed("the search does not find the session's id in the upstream record")
    if len(search(demo.secrets, [token])) < 2:
        raise StepFailed("the search does not find the administrator's token in the profile")
