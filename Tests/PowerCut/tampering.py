"""Whether the judge sees what is broken: facts of whole states, each with one thing made wrong."""

import copy
from collections import Counter
from collections.abc import Callable

from cuts import Moment
from sweep import Promises


def _without_oldest(facts: dict) -> bool:
    return bool(facts["rows"]) and bool(facts["rows"].pop(0))


def _with_other_payload(facts: dict) -> bool:
    return bool(facts["rows"]) and not facts["rows"][-1].update(payload="0" * 16)


def _with_one_twice(facts: dict) -> bool:
    if not facts["rows"]:
        return False
    facts["last"] += 1
    facts["rows"].append(facts["rows"][-1] | {"seq": facts["last"]})
    return True


def _with_number_before(facts: dict) -> bool:
    facts["last"] -= 1
    return facts["last"] >= 0


def _without_window(facts: dict) -> bool:
    facts["window"], had = [], facts["window"]
    return bool(had)


def _without(name: str) -> Callable[[dict], bool]:
    return lambda facts: facts["records"].pop(name, None) is not None


def _with_old(name: str) -> Callable[[dict], bool]:
    def change(facts: dict) -> bool:
        return facts["records"].get(name) is not None and bool(
            facts["records"].update({name: "0" * 16}) or True)
    return change


TAMPERINGS: dict[str, Callable[[dict], bool]] = {
    "the oldest row is gone": _without_oldest,
    "a row has another payload": _with_other_payload,
    "a row stands there twice": _with_one_twice,
    "the last number is given again": _with_number_before,
    "the redelivery window is empty": _without_window,
    "no session": _without("session"),
    "no identity": _without("identity"),
    "another session": _with_old("session"),
    "another trust": _with_old("trust"),
}


class Watched:
    """The promises of a run, which count what of the above they see."""

    def __init__(self, promises: Promises):
        self._promises = promises
        self.needs_all = promises.needs_all
        self.seen: Counter = Counter({name: 0 for name in TAMPERINGS})

    def look(self, moment: Moment, facts: dict) -> None:
        self._promises.look(moment, facts)
        if facts.get("error") or self._promises.broken(moment, facts):
            return
        for name, change in TAMPERINGS.items():
            wrong = copy.deepcopy(facts)
            if change(wrong) and self._promises.broken(moment, wrong):
                self.seen[name] += 1

    def broken(self, moment: Moment, facts: dict) -> list[str]:
        return self._promises.broken(moment, facts)
