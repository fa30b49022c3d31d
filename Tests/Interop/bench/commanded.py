"""A board's app that takes commands."""

import json

from postern_contract import topics

from .agent_board import AgentBoard
from .link import Link, Message

POLICY = """\
default = "allow"
[app.heater]
commands = true
command_rate = "100/s"
command_fields = { celsius = "number(5..30)" }
"""


class Heater:
    """Logged in at the bus as `heater`; it answers each command with what it set."""

    def __init__(self, board: AgentBoard):
        self.heard: list[dict] = []
        self.answers = True
        self._link = Link(
            board.app_login("heater"), subscribe=(topics.app("heater", "command"),),
            on_message=self._command, journal=board.evidence.journal).open()

    def close(self) -> None:
        self._link.close()

    def _command(self, message: Message) -> None:
        command = json.loads(message.payload)
        self.heard.append(command)
        if self.answers:
            answer = json.dumps({"set": command["command"]["celsius"]}).encode()
            self._link.publish(topics.app("heater", "answer", command["id"]), answer, wait=False)
