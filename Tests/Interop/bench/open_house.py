"""A house whose broker is somebody else's: whoever runs it may do everything there."""

import secrets
from pathlib import Path

from postern_contract import topics

from .broker import Broker
from .house import House
from .link import Link, Login


class OpenHouse(House):
    """Its authority uses a broker of another's, who lets everybody do everything."""

    def __init__(self, folder: Path, evidence, programs, settings: str = ""):
        self.foreign = Broker("foreign", folder / "foreign", "allow_anonymous true").start()
        super().__init__(folder, evidence, programs, settings)
        self.port = self.foreign.port

    def rogue(self) -> Link:
        """The broker's owner: hears all, and may say all."""
        return Link(Login(self.foreign.port, f"rogue-{secrets.token_hex(4)}"),
                    subscribe=("#",), journal=self.evidence.journal, stays=True).open()

    def data_topic(self, board, class_name: str = "Reading") -> str:
        return topics.data(board.iid, class_name, "create")

    def start(self) -> None:
        self.port = self.foreign.port
        super().start()

    def close(self) -> None:
        super().close()
        self.foreign.close()

    def _write_config(self, settings: str, http: str) -> Path:
        config = super()._write_config(settings, http)
        path = config / "authority.toml"
        own = (f'mode = "embedded"\nlisten = "127.0.0.1:{self.port}"\n'
               'access = "dynamic-security"\n')
        text = path.read_text()
        assert own in text
        path.write_text(text.replace(
            own, f'mode = "external"\nuri = "mqtt://127.0.0.1:{self.foreign.port}"\n'
                 'access = "none"\n'))
        return config
