"""`postern simulate` beside us: its progress, and what it says at its end."""

import json
import os
import signal
from pathlib import Path

from bench.program import Program
from bench.waiting import until
from invariants import Told
from plan import Plan
from telemetry import Sent


class Simulation:
    def __init__(self, cli: list[str], broker: str, plan: Plan, folder: Path):
        self._plan = plan
        self.program = Program("simulate", [
            *cli, "simulate", "--boards", str(plan.boards), "--broker", broker,
            "--heartbeat", f"{plan.heartbeat}s", "--refresh", f"{plan.refresh}s",
            "--telemetry", f"{plan.telemetry}/s",
            "--faults", plan.faults, "--spread", f"{plan.spread}s", "--seed", str(plan.seed),
            # It is told when to end.
            "--duration", f"{plan.span}s", "--lifetime", "1d", "--check", "--json"], folder)

    def start(self) -> None:
        self.program.start()

    def wait_paired(self, tell) -> None:
        """Tells of its progress until every board holds its session."""
        done = f"✓ {self._plan.boards} of {self._plan.boards} boards hold their sessions"
        told = ""

        def is_paired() -> bool:
            nonlocal told
            lines = [line for line in self.program.log.splitlines() if line.startswith("pairing")]
            if lines and lines[-1] != told:
                told = lines[-1]
                tell(f"  {told}")
            return done in self.program.log

        self.program.wait_ready(is_paired, "all boards to be paired",
                                60 + self._plan.boards / 20)

    @property
    def progress(self) -> str:
        """The last line it wrote of its progress."""
        lines = [line for line in self.program.log.splitlines() if line.startswith("running")]
        return lines[-1].partition(": ")[2] if lines else ""

    def end(self, timeout: float) -> dict:
        """No further load: it waits for what is on its way, and sums up."""
        os.kill(self.program.pid, signal.SIGINT)
        until(lambda: not self.program.is_running, "the simulation to end", timeout)
        text = self.program.out.read_text().strip()
        assert text, f"postern simulate said nothing:\n{self.program.log}"
        return json.loads(text.splitlines()[-1])

    def close(self) -> None:
        """Without a summary: it would wait for what is on its way."""
        self.program.kill()


def told(said: dict, plan: Plan) -> Told:
    boards, thefts = said["boards"], said["thefts"]
    wrong = [f"{entry['layer']}: {entry['text']}: {entry['count']}"
             for entry in said["violations"]]
    if boards["notConnected"]:
        wrong.append(f"{boards['notConnected']} boards are not connected")
    return Told(
        boards=boards["paired"], thieves=plan.thieves, thefts=thefts["injected"],
        thefts_seen=thefts["right"],
        sessions_lost=max(0, boards["over"] - thefts["injected"]), violations=wrong)


def sent(said: dict) -> Sent:
    telemetry = said["telemetry"]
    return Sent(telemetry["made"], telemetry["acknowledged"], telemetry["notJudged"])
