"""A life of the real agent between two real brokers, recorded."""

import random
import time
from contextlib import closing
from pathlib import Path

import system_calls
from agent_traffic import Ledger
from bench.agent_bench import AgentBench
from bench.evidence import Evidence
from bench.waiting import until
from journal import EAT_MY_DATA, recording
from postern_contract import topics
from system_calls import Order


class RecordedBench(AgentBench):
    """The agent has `prefix` before its argv, and its other commands have it too if they shall."""

    def __init__(
        self, folder: Path, programs: Path, prefix: list[str], *, has_commands: bool = True
    ):
        self._prefix, self._has_commands = prefix, has_commands
        super().__init__(folder, Evidence(), programs)
        # The agent's first start makes it.
        self.state.rmdir()

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def _argv(self, *arguments: str) -> list:
        is_recorded = self._has_commands or arguments == ("run",)
        return [*(self._prefix if is_recorded else []), *super()._argv(*arguments)]


def environment(variables: dict[str, str]) -> list[str]:
    """A prefix that sets these for the program alone, and not for who starts it."""
    return ["env", *(f"{name}={value}" for name, value in variables.items())]


class Life:
    """The steps of the recorded run. Each message is another, so that none passes for another."""

    def __init__(self, bench: RecordedBench, seed: int, count: int):
        """`count` messages make a round of them."""
        self.bench = bench
        self._round = count
        self._random = random.Random(seed)
        self._writes: dict[bytes, bytes] = {}
        self._takeovers: set[bytes] = set()
        self._count = 0

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.bench.bus.port, self.bench.port, self._writes, self._takeovers)

    def run(self) -> None:
        """From the first start to the last."""
        board = self.bench.live()
        self._app = self.bench.app()
        self._one_at_a_time(self._round)
        self._all_at_once(self._round)
        self._silently(board, self._round // 4)
        self.bench.command("session", "refresh", "--json")
        self._without_uplink(board)
        self._revoked_while_writes_wait(board)
        self._claimed_again(board, "ada")
        self._one_at_a_time(8)
        self._without_network(8)
        self._taken_over(board)
        self._all_at_once(8)
        self._drained()
        self.bench.agent.stop()

    def run_briefly(self) -> None:
        """First start, and writes one at a time, many at once, and without an answer."""
        board = self.bench.live()
        self._app = self.bench.app()
        self._one_at_a_time(self._round)
        self._all_at_once(4 * self._round)
        self._silently(board, self._round)
        self._drained()
        self.bench.agent.stop()

    def _payload(self) -> bytes:
        self._count += 1
        return b"%d " % self._count + self._random.randbytes(self._random.randrange(20, 400))

    def _send(self) -> bytes:
        payload = self._payload()
        correlation = self._app.send(
            topics.app("thermo", "create", "Reading"), payload, key=f"write {self._count}",
            wait=False)
        self._writes[correlation] = payload
        return correlation

    def _answered(self, correlations: list[bytes]) -> None:
        for correlation in correlations:
            found = until(lambda: self._app.answer_to(correlation), "an answer", 20)
            assert "seq" in found, found

    def _one_at_a_time(self, count: int) -> None:
        for _ in range(count):
            self._answered([self._send()])

    def _all_at_once(self, count: int) -> None:
        self._answered([self._send() for _ in range(count)])

    def _silently(self, board, count: int) -> None:
        """Without a response topic: what is promised begins with the PUBACK."""
        for _ in range(count):
            payload = self._payload()
            self._app.write_silently("Reading", payload, wait=False)
        self.bench.wait_data(board, payload)

    def _drained(self) -> None:
        until(lambda: self.bench.status()["queue"]["messages"] == 0, "the queue to drain", 30)

    def _without_network(self, count: int) -> None:
        self.bench.stop_broker()
        self._one_at_a_time(count // 2)
        self._all_at_once(count // 2)

    def _without_uplink(self, board) -> None:
        """Writes wait; the agent is killed and finds them again; then they leave."""
        self._without_network(self._round)
        self._kill()
        self.bench.start()
        self._one_at_a_time(4)
        self.bench.resume_broker(board.iid)
        self._drained()

    def _kill(self) -> None:
        """When it has nothing to do, so that nothing happens that is not recorded."""
        self._quiet(lambda: [p.stat().st_mtime_ns for p in sorted(self.bench.state.rglob("*"))])
        self.bench.agent.kill()

    @staticmethod
    def _quiet(look) -> None:
        seen = object()

        def is_still() -> bool:
            nonlocal seen
            time.sleep(0.3)
            before, seen = seen, look()
            return before == seen

        until(is_still, "nothing to happen", 20)

    def _revoked_while_writes_wait(self, board) -> None:
        """The session ends and its tokens go; what waits is kept."""
        self._without_network(8)
        entry = self.bench.access.withhold(board.iid)
        self._start_broker()
        mark = self.bench.watcher.mark()
        board.revoked = "by the administrator"
        self.bench.authority.send_revoked(board, board.login.id, board.revoked)
        # Inbox, outbox and status are left to it.
        self.bench.access.readmit(board.iid, (entry[0], entry[1][:3]))
        self._farewell(board, mark)

    def _farewell(self, board, mark: int) -> None:
        self.bench.wait_session("unavailable", since=mark, timeout=30)
        until(lambda: board.login is None, "the farewell", 30)
        # One that is said again would have the broker read its files while they change.
        self._quiet(lambda: len(self.bench.authority.requests))

    def _start_broker(self) -> None:
        self.bench.broker.start()
        for client in ("observer", "authority"):
            sign = f"Sending SUBACK to {client}"
            until(lambda: sign in self.bench.broker.program.log, f"{client} to listen again", 20)

    def _claimed_again(self, board, username: str) -> None:
        mark = self.bench.watcher.mark()
        self.bench.authority.admit(self.bench.pair("--new"), username)
        self.bench.authority.provision(board)
        if username != "ada":
            self._takeovers.add(board.provision_payload)
        self.bench.authority.wait_live(board, timeout=60)
        self.bench.wait_session("available", since=mark, timeout=60)
        until(lambda: self.bench.is_settled(board.iid), "the new password", 60)
        self._drained()

    def _taken_over(self, board) -> None:
        """Another user claims the board while writes of the first still wait."""
        entry = self.bench.access.withhold(board.iid)
        self._start_broker()
        board.revoked = "by the administrator"
        mark = self.bench.watcher.mark()
        self.bench.authority.send_revoked(board, board.login.id, board.revoked)
        self.bench.access.readmit(board.iid, (entry[0], entry[1][:3]))
        self._farewell(board, mark)
        self._claimed_again(board, "grace")


def record(
    folder: Path, programs: Path, library: Path, log: Path, *, syncs: bool, seed: int, count: int
) -> Ledger:
    """Plays a life with the agent under the recorder, or under eatmydata and the recorder."""
    folder.mkdir()
    prefix = environment(recording(library, folder / "state", log, syncs=syncs))
    with closing(RecordedBench(folder, programs, prefix)) as bench:
        life = Life(bench, seed, count)
        life.run()
        return life.ledger


def trace(
    folder: Path, programs: Path, log: Path, *, syncs: bool, seed: int, count: int
) -> Order:
    """Plays a short life under strace, and looks at the order of its system calls."""
    folder.mkdir()
    eaten = [] if syncs else environment({"LD_PRELOAD": EAT_MY_DATA})
    prefix = [*system_calls.prefix(log), *eaten]
    with closing(RecordedBench(folder, programs, prefix, has_commands=False)) as bench:
        Life(bench, seed, count).run_briefly()
        port = bench.bus.port
    return system_calls.check(log, folder / "state", port)
