"""`postern-agent pair` as a person sees it who sits before the board."""

import os
import pty
import re
import threading

from postern_contract.claim_url import ClaimURL

from .agent_board import AgentBoard
from .waiting import until

CODE = re.compile(r"or type ([B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}) at (\S+)")


class Screen:
    """`pair` on a terminal of its own. What it shows is read all the time."""

    def __init__(self, board: AgentBoard, base: str, *more: str, env: dict | None = None):
        argv = [str(word) for word in board._argv("pair", *more)]
        self.child, self._terminal = pty.fork()
        if self.child == 0:
            try:
                os.execve(argv[0], argv, os.environ | {"POSTERN_CLAIM_BASE": base} | (env or {}))
            finally:
                os._exit(127)
        self.shown, self.status = "", None
        self._board = board
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        parts = b""
        while True:
            try:
                read = os.read(self._terminal, 4096)
            except OSError:
                break
            if not read:
                break
            parts += read
            self.shown = parts.decode(errors="replace").replace("\r\n", "\n")
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])

    def wait(self, words: str) -> str:
        until(lambda: words in self.shown, f"the screen to show {words!r}", 60,
              lambda: self.shown[-2000:])
        return self.shown

    def url(self) -> str:
        """The claim URL; its secret is put down as evidence."""
        self.wait("#v=1&")
        until(lambda: self._line() is not None, "the whole claim URL", 60)
        url = self._line()
        self._board.evidence.add_secret("a claim secret", ClaimURL.parse(url).claim_secret)
        return url

    def _line(self) -> str | None:
        lines = self.shown.split("\n")[:-1]
        return next((line for line in lines if "#v=1&" in line), None)

    def code(self) -> str:
        self.url()
        self.wait("waiting for a person")
        return CODE.search(self.shown).group(1)

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode() + b"\n")

    def end(self) -> str:
        until(lambda: self.status is not None, "`pair` to end", 90, lambda: self.shown[-2000:])
        os.close(self._terminal)
        return self.shown
