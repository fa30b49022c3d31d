"""The broker between boards and an authority that is played, with an observer who hears all."""

from pathlib import Path

from authority_player import AuthorityPlayer
from postern_contract import topics

from .broker import AccessFiles, Broker
from .evidence import Evidence
from .link import Link, Login
from .waiting import until

_PASSWORD = "of the bench, not of the contract"


class Upstream:
    """A mosquitto that lets in `authority`, `observer`, and the boards that were claimed."""

    def __init__(self, folder: Path, evidence: Evidence):
        self.access = AccessFiles(folder / "upstream")
        self.access.admit("authority", _PASSWORD, [f"readwrite {topics.ROOT}/#"])
        self.access.admit("observer", _PASSWORD, ["readwrite #"])
        self.broker = Broker(
            "upstream", folder / "upstream", *self.access.settings,
            "persistence true", f"persistence_location {folder / 'upstream'}/",
        ).start()
        self.access.broker = self.broker
        self.observer = Link(
            Login(self.port, "observer", "observer", _PASSWORD), subscribe=("#",),
            journal=evidence.journal, stays=True,
        ).open()
        login = Login(self.port, "authority", "authority", _PASSWORD)
        self.authority = AuthorityPlayer(login, self.access, evidence).open()
        evidence.folders.append(folder)

    @property
    def port(self) -> int:
        return self.broker.port

    def stop_broker(self) -> None:
        self.broker.stop()

    def resume_broker(self, iid: str) -> None:
        """Starts it again; the board is let in once observer and authority listen again."""
        entry = self.access.withhold(iid)
        self.broker.start()
        for client in ("observer", "authority"):
            sign = f"Sending SUBACK to {client}"
            until(lambda: sign in self.broker.program.log, f"{client} to listen again", 60)
        self.access.readmit(iid, entry)

    def close(self) -> None:
        self.authority.close()
        self.observer.close()
        self.broker.close()

    def logs(self) -> list[tuple[str, str]]:
        return [("upstream mosquitto", self.broker.program.log)]
