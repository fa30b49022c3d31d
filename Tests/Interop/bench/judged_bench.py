"""A real `postern-agent` whose upstream broker answers as a test wants."""

import json
import secrets

from .agent_bench import AgentBench
from .agent_board import AgentBoard
from .judge import JudgingBroker
from .upstream import Upstream
from .waiting import until


class JudgedBench(AgentBench):
    """An agent whose upstream broker answers as the test wants; the authority's does not."""

    def __init__(self, folder, evidence, programs, *, delay: float = 0.0, upstream=(), **options):
        Upstream.__init__(self, folder, evidence)
        if upstream:
            self.broker.stop()
            self.broker.settings += upstream
            self.broker.start()
            for client in ("observer", "authority"):
                sign = f"Sending SUBACK to {client}"
                until(lambda: sign in self.broker.program.log, f"{client} to listen", 60)
        self.way = JudgingBroker(self.port, delay=delay)
        AgentBoard.__init__(self, folder, evidence, programs, self.way.port, **options)

    def close(self) -> None:
        super().close()
        self.way.close()

    def fill(self, count: int, size: int = 64) -> list[int]:
        """The numbers of so many writes, sent without waiting in between."""
        app = self.app("filler")
        sent = [app.send("postern/app/filler/create/Reading", (b"%d " % n).ljust(size, b"."),
                         wait=False) for n in range(count)]
        until(lambda: len(app.link.heard) >= count, f"{count} answers", 60)
        told = {m.correlation: json.loads(m.payload)["seq"] for m in app.link.heard}
        return [told[one] for one in sent]

    def wait_empty(self, timeout: float = 60.0) -> dict:
        """Until the queue is empty, and the observer has heard all that left it."""
        now = until(lambda: (now := self.status())["queue"]["messages"] == 0 and now,
                    "an empty queue", timeout)
        # What the observer says itself comes to it behind all that.
        mark = secrets.token_hex(8)
        self.observer.publish("interop/heard", mark)
        self.observer.wait(lambda m: m.payload == mark.encode(), "all that left", timeout=60)
        return now

    def arrived(self) -> list[int]:
        return [int(m.user["seq"]) for m in self.data_heard()]

    def assert_buried(self, expected: dict[int, str]) -> None:
        """The dead letters are these and no others, each with such words as its reason."""
        shown = json.loads(self.command("queue", "show", "--dead", "--json", ok=(0, 3)))
        found = {letter["seq"]: letter["reason"] for letter in shown["deadLetters"]}
        assert found.keys() == expected.keys()
        for seq, words in expected.items():
            assert words in found[seq]
