"""A person's phone: the program `Tests/Libraries/SessionApp`, which uses the Swift library."""

import json
import secrets
import subprocess
from pathlib import Path

from .evidence import Evidence
from .program import Program
from .waiting import until


class Phone(Program):
    """Runs until closed or killed. Orders and what they answer are JSON lines."""

    def __init__(self, program: Path, folder: Path, evidence: Evidence):
        name = f"phone-{secrets.token_hex(4)}"
        super().__init__(name, [program], folder)
        self.evidence = evidence
        self.store = folder / "session"
        self._count = 0

    def start(self) -> "Phone":
        self._begun = self.out.stat().st_size if self.out.exists() else 0
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self.process = subprocess.Popen(
                self.argv, stdin=subprocess.PIPE, stdout=out, stderr=err, env=self.env,
                start_new_session=True)
        return self

    @property
    def lines(self) -> list[dict]:
        """What it has said since its start."""
        text = self.out.read_bytes()[self._begun:]
        return [json.loads(line) for line in text.split(b"\n")[:-1]]

    def send(self, act: str, **members) -> int:
        """Gives an order, and does not wait. Returns its number."""
        self._count += 1
        line = json.dumps({"id": self._count, "act": act, **members})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self._count

    def answer(self, number: int, timeout: float = 60.0) -> dict:
        """`{"done": …}` or `{"error": …}`."""
        return until(lambda: next((x for x in self.lines if x.get("id") == number), None),
                     f"the answer to order {number}", timeout, lambda: self._last_words())

    def ask(self, act: str, **members):
        """What the order gives; it must not fail."""
        answer = self.answer(self.send(act, **members))
        assert "done" in answer, answer
        return answer["done"]

    def fault(self, act: str, **members) -> dict:
        """The error of an order, which must fail."""
        answer = self.answer(self.send(act, **members))
        assert "error" in answer, answer
        return answer["error"]

    def open(self, authority: str, kept: bool = True, **options) -> dict:
        """Makes the client. Returns the session that it restored."""
        store = {"store": str(self.store)} if kept else {}
        return self.ask("open", authority=authority, **store, **options)

    def events(self, name: str) -> list[dict]:
        return [line for line in self.lines if line.get("event") == name]

    @property
    def sessions(self) -> list[str]:
        """Each change of the session, in short."""
        return [e["session"].get("reason", "available") for e in self.events("session")]

    def wait(self, condition, what: str, timeout: float = 60.0):
        return until(condition, what, timeout, self._last_words)

    def wait_session(self, last: str) -> list[str]:
        """Until the last change is this one."""
        self.wait(lambda: self.sessions[-1:] == [last], f"the session to be {last}")
        return self.sessions

    def _end(self, sign: int, timeout: float) -> int | None:
        if self.process is not None:
            self.process.stdin.close()
        return super()._end(sign, timeout)

    def close(self) -> None:
        super().close()
        self.evidence.texts += [(f"{self.name}'s output", self.out.read_bytes()),
                                (f"{self.name}'s errors", self.err.read_bytes())]
        self.evidence.texts += [("argv or environment", t) for t in self.traces]
