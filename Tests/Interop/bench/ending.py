"""How long after a person's word the board's programs feel it."""

import json
import threading
import time
from dataclasses import dataclass
from typing import Callable

from postern_contract import topics

from .agent_board import App
from .waiting import until


@dataclass(frozen=True)
class Ending:
    """Instants of one clock: the action began and was answered, a write was refused."""

    begun: float
    answered: float
    refused: float
    refusal: dict
    accepted_late: int

    @property
    def after_begun(self) -> float:
        return self.refused - self.begun

    @property
    def after_answer(self) -> float:
        """Negative where the board was told before the person was."""
        return self.refused - self.answered


def ending_by(app: App, action: Callable[[], object], timeout: float = 60.0) -> Ending:
    """Runs `action` while the program writes and writes, up to the first 209."""
    faults: list[BaseException] = []
    instants: list[float] = []

    def act() -> None:
        try:
            action()
        except BaseException as fault:
            faults.append(fault)
        instants.append(time.monotonic())

    sent: set[bytes] = set()

    def refusals() -> list:
        return [m for m in app.link.heard[mark:]
                if m.correlation in sent and json.loads(m.payload).get("code") == 209]

    def write_on() -> bool:
        sent.add(app.send(topics.app(app.name, "create", "Reading"), b'{"celsius":1}',
                          wait=False))
        time.sleep(0.01)
        return bool(refusals() or faults)

    mark, begun = app.link.mark(), time.monotonic()
    worker = threading.Thread(target=act)
    worker.start()
    try:
        until(write_on, "a write to be refused with 209", timeout)
    finally:
        worker.join(60)
    if faults:
        raise faults[0]
    first = refusals()[0]
    late = [m for m in app.link.heard[app.link.heard.index(first):]
            if m.correlation in sent and "seq" in json.loads(m.payload)]
    return Ending(begun, instants[0], first.at, json.loads(first.payload), len(late))
