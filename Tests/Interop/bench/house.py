"""A house: a real authority with its broker, real boards on cables of their own, and people."""

import functools
import http.client
import json
import sqlite3
import subprocess
from pathlib import Path

from postern_contract import topics

from .agent_board import AgentBoard, App
from .authority_bench import ADMIN, AuthorityBench, Claim
from .cable import Cable
from .evidence import Evidence
from .link import Link, Login, Message
from .program import Program, run
from .waiting import until


class House(AuthorityBench):
    """Its administrator is `admin`; boards and other people come by `add_board` and `user`."""

    def __init__(self, folder: Path, evidence: Evidence, programs: Path, settings: str = ""):
        self.board_folder = folder / "boards"
        self.board_folder.mkdir()
        super().__init__(folder, evidence, programs, settings)
        self.real_boards: list[HouseBoard] = []
        self.admin = Person(self, ADMIN, self.password_file, self.folder / "xdg" / "postern")
        self._consumer: Link | None = None

    # Boards.

    def add_board(self, name: str, **options) -> "HouseBoard":
        self.real_boards.append(HouseBoard(self, name, **options))
        return self.real_boards[-1]

    def live(self, name: str, *claim, owner: "Person | None" = None, **options) -> "HouseBoard":
        """A board with a session, on the broker password that its provisioning brought."""
        return self.live_all({name: owner or self.admin}, *claim, **options)[name]

    def live_all(self, owners: dict[str, "Person"], *claim, **options) -> dict[str, "HouseBoard"]:
        """Boards by their names, each claimed by its owner, all at the same time."""
        boards = {name: self.add_board(name, **options) for name in owners}
        claims = []
        for name, board in boards.items():
            board.owner = owners[name]
            url = board.pair()
            board.start()
            claims.append(board.owner.claim(url, *claim))
        for one in claims:
            one.must_end()
        for board in boards.values():
            board.wait_settled()
        return boards

    # People.

    def user(self, name: str, *rights: str) -> "Person":
        """Another user, logged in; `rights` are options of `users add`."""
        password = self.password(f"{name}-password")
        self.must(self._cli("users", "add", name, *rights, "--password-file", password))
        return Person(self, name, password, self.folder / f"profile-{name}").login()

    def password(self, name: str) -> Path:
        """A file of this name with a new password."""
        return self._write_password(name)

    def audit(self, board: "HouseBoard | None" = None) -> list[dict]:
        """The audit log, the newest first."""
        only = ("--board", board.iid) if board else ()
        return self.cli_json("audit", "--limit", "1000", *only)

    def events(self, event: str, session: str) -> list[dict]:
        return [e for e in self.audit() if (e["event"], e["sessionId"]) == (event, session)]

    def wait_event(self, event: str, session: str, timeout: float = 60.0) -> dict:
        return until(lambda: self.events(event, session), f"{event} in the audit log", timeout)[0]

    def show(self, session: str) -> dict:
        """What `postern sessions show` says."""
        return self.cli_json("sessions", "show", session)

    def age(self, session: str, seconds: int) -> None:
        """Makes a session older than a test can wait for; the authority is stopped."""
        with sqlite3.connect(self.folder / "state" / "authority.db") as database:
            database.execute("UPDATE sessions SET created_at = created_at - ? WHERE id = ?",
                             (seconds * 1000, session))
        database.close()

    @property
    def broker_state(self) -> Path:
        """What the embedded broker wrote down of its accounts."""
        return self.folder / "state" / "broker" / "dynamic-security.json"

    # The upstream broker, as a consumer sees it.

    @property
    def consumer(self) -> Link:
        """Hears all that boards publish, by the login that `postern watch` uses."""
        if self._consumer is None:
            status, access = self.admin.http("POST", "/postern/v1/broker")
            assert status in (200, 201), access
            self.evidence.add_secret("a consumer's broker password", access["password"])
            login = Login(self.port, access["clientId"], access["username"], access["password"])
            self._consumer = Link(login, subscribe=(f"{topics.ROOT}/+/data/#",),
                                  journal=self.evidence.journal, stays=True).open()
        return self._consumer

    def data(self, board: "HouseBoard") -> list[Message]:
        prefix = f"{topics.ROOT}/{board.iid}/data/"
        return [m for m in self.consumer.heard if m.topic.startswith(prefix)]

    def wait_data(self, board: "HouseBoard", payloads: set[bytes], timeout: float = 60.0) -> None:
        def missing() -> set[bytes]:
            return payloads - {m.payload for m in self.data(board)}

        until(lambda: not missing(), "all that was accepted to come upstream", timeout)

    def close(self) -> None:
        for board in self.real_boards:
            board.close()
        if self._consumer is not None:
            self._consumer.close()
        super().close()

    def logs(self) -> list[tuple[str, str]]:
        boards = [(f"{title} of {board.name}", text)
                  for board in self.real_boards for title, text in board.logs()]
        return [*boards, *super().logs()]


class HouseBoard(AgentBoard):
    """One board of the house, reached by a cable of its own."""

    def __init__(self, house: House, name: str, **options):
        self.name = name
        self.house = house
        self.owner = house.admin
        self.cable = Cable(house.port)
        folder = house.board_folder / f"{len(house.real_boards)}"
        folder.mkdir()
        super().__init__(folder, house.evidence, house.programs, self.cable.port, name=name,
                         **options)

    @functools.cached_property
    def iid(self) -> str:
        return self.status()["installationId"]

    @property
    def session_id(self) -> str:
        """Of the session that the bus was told of last."""
        return self.session_now["session"]["objectId"]

    def wait_settled(self) -> dict:
        """Until the board is upstream with its session, by its new password: its beat counts."""
        self.wait_session("available")

        def is_settled() -> bool:
            boards = self.house.cli_json("boards", "list", "--everyone")
            mine = next((b for b in boards if b["installationId"] == iid), {})
            log = self.agent.log.rpartition("provisioned by")[2]
            # Of equal lines the agent writes five a minute, so the new one may be left out.
            is_new = ("connected to the upstream broker" in log
                      or "(as expected: " in log and self.is_online())
            return mine.get("status") == "up" and is_new

        iid = self.iid
        until(is_settled, "the board to come with its new password", 60)
        return self.session_now

    def is_online(self) -> bool:
        return self.status()["uplink"] == "connected"

    @property
    def generation(self) -> int:
        """How often its refresh token was rotated, as the authority has it."""
        return self.house.show(self.session_id)["generation"]

    @functools.cached_property
    def thermo(self) -> App:
        return self.app()

    def write(self, payload: bytes = b'{"celsius":20.5}', **options) -> dict:
        return self.thermo.write("Reading", payload, **options)

    def close(self) -> None:
        super().close()
        self.cable.pull()


class Person:
    """A user with a login of their own at the command line."""

    def __init__(self, house: House, name: str, password_file: Path, profile: Path):
        self.house = house
        self.name = name
        self.password_file = password_file
        self.profile = profile

    def login(self) -> "Person":
        """Logs in again; the token before it is worth what it was."""
        self.must("login", "--username", self.name, "--password-file", self.password_file)
        self.house.evidence.add_secret(f"the session token of {self.name}", self.token)
        self.house.evidence.ours.add(self.profile / "profile.json")
        return self

    def cli(self, *arguments, timeout: float = 60.0) -> subprocess.CompletedProcess:
        return self.house._kept(run(self._argv(*arguments), timeout=timeout))

    def must(self, *arguments) -> str:
        done = self.cli(*arguments)
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}:\n{done.stderr}"
        return done.stdout

    def claim(self, url: str, *more) -> Claim:
        """Starts `postern claim`, which waits for the board."""
        house = self.house
        program = Program(f"claim-{len(house.claims)}",
                          self._argv("claim", url, *more, "--json"), house.folder)
        house.claims.append(Claim(program.start()))
        return house.claims[-1]

    @property
    def token(self) -> str:
        """The session token in this person's profile."""
        return json.loads((self.profile / "profile.json").read_text())["sessionToken"]

    def http(
        self, method: str, path: str, body: dict | None = None, *, token: str | None = None
    ) -> tuple[int, dict]:
        """One request as this person; status and JSON of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.house.http_port, timeout=60)
        headers = {"X-Parse-Application-Id": "postern",
                   "X-Parse-Session-Token": token or self.token,
                   "Content-Type": "application/json"}
        try:
            connection.request(
                method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        finally:
            connection.close()

    def _argv(self, *arguments) -> list:
        url = f"http://127.0.0.1:{self.house.http_port}"
        return [self.house.programs / "postern", "--authority", url, "--profile-dir",
                self.profile, *arguments]
