"""The real agent on what a power cut has left: it starts, says its session, and takes a write."""

import json
import random
import shutil
from contextlib import closing
from pathlib import Path

import cuts
from bench.agent_board import AgentBoard
from bench.evidence import Evidence
from bench.program import free_port
from bench.waiting import until
from cuts import Run, State
from postern_contract import topics
from sweep import Opener, lay


def chosen(run: Run, *, count: int, seed: int) -> list[State]:
    """Some states of a run in which something is missing."""
    chance = random.Random(seed)
    places = [s for s in cuts.states(run, target=5 * count, seed=seed, has_all=False)
              if not s.is_whole and any(path.endswith("/vault") for path in s.content)]
    return chance.sample(places, min(count, len(places)))


def restart(run: Run, folder: Path, programs: Path, *, count: int, seed: int) -> list[str]:
    """What is wrong, a sentence each; one bus, and an upstream broker that is not there."""
    folder.mkdir()
    states = chosen(run, count=count, seed=seed)
    with closing(Opener(programs / "powercut-store", folder / "opener")) as opener, \
            closing(AgentBoard(folder, Evidence(), programs, free_port())) as board:
        (folder / "state").rmdir()
        wrong = []
        for state in states:
            facts = opener.open("state", state.content)
            lay(folder, state.content)
            try:
                _start_on(board, facts)
            except AssertionError as fault:
                wrong.append(f"before record {state.moment.end}, {state.how}: {fault}")
            finally:
                board.agent.close()
                shutil.rmtree(folder / "state")
    return wrong


def _start_on(board: AgentBoard, facts: dict) -> None:
    mark = board.watcher.mark()
    board.start()
    has_session = "session" in facts["records"]
    said = until(lambda: [json.loads(m.payload) for m in board.watcher.heard[mark:]
                          if m.topic == topics.BUS_SESSION and m.payload and not m.retain],
                 "postern/session")[-1]
    wanted = "available" if has_session else "unavailable"
    assert said["state"] == wanted, f"the session is {said['state']}, not {wanted}"
    answer = board.app().write("Reading", b"after the power came back")
    if has_session:
        assert answer.get("seq", 0) > facts["last"], f"{answer} after {facts['last']}"
    else:
        assert answer.get("code") in (206, 209), answer
