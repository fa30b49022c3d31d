"""The demo's steps, in order. A step that fails says why in one sentence."""

import json
import textwrap
import time
from urllib.parse import unquote

import programs
from authority import ADMINISTRATOR, Authority
from board import Board
from evidence import Secret, hkdf, unb64
from ledger import Ledger
from programs import StepFailed, until
from progress import say, step

REFUSED_CLASSES = ("_User", "_Session", "_Role", "Camera")
_READINGS, _PACE = 20, 0.05


class Demo:
    """The state that the steps share."""

    def __init__(self, authority: Authority, board: Board):
        self.authority, self.board = authority, board
        self.secrets: list[Secret] = []
        self.traces: list[tuple[str, bytes]] = []
        self.session = ""
        self.held = 0

    @property
    def ledger(self) -> Ledger:
        return self.board.ledger

    @property
    def missing(self) -> set[int]:
        """Readings that were accepted and have not reached the consumer."""
        return self.ledger.accepted.keys() - set(self.authority.consumer.sequences)

    def know(self, name: str, value: bytes | str, is_broker_password: bool = False) -> None:
        secret = Secret.of(name, value, is_broker_password)
        if not any(secret.plain in known.forms for known in self.secrets):
            self.secrets.append(secret)

    def look_at_processes(self) -> None:
        """Keeps arguments and environments of all running programs, for the search at the end."""
        self.traces += programs.traces()

    def run(self) -> None:
        for one in (self.start_authority, self.start_board, self.claim, self.send_readings,
                    self.try_the_forbidden, self.cut_the_power, self.revoke):
            one()
            self.look_at_processes()

    # The steps.

    def start_authority(self) -> None:
        authority = self.authority
        with step(1, "the authority starts, its mosquitto with it") as notes:
            authority.start()
            authority.login()
            self.know("the administrator's password", authority.password)
            self.know("the administrator's session token", authority.token)
            who = json.loads(authority.command("whoami", "--json"))
            if who.get("username") != ADMINISTRATOR:
                raise StepFailed(f"whoami does not say {ADMINISTRATOR}",
                                 authority.folder / "postern.log")
            notes += [f"HTTP at {authority.url}, MQTT at 127.0.0.1:{authority.broker.port}",
                      f'administrator "{ADMINISTRATOR}" made and logged in']

    def start_board(self) -> None:
        board = self.board
        with step(2, "a board starts: its own mosquitto, postern-agent, a pairing code") as notes:
            board.start_broker()
            board.start_agent()
            _, notice = board.wait_session("unavailable")
            if notice["reason"] != "unclaimed":
                raise StepFailed(f"a new board reports {notice['reason']}", board.agent.log)
            self.url = json.loads(board.command("pair", "--json"))["url"]
            drawn = board.command("pair")
            if self.url not in drawn:
                raise StepFailed("`postern-agent pair` does not show the claim URL",
                                 board.agent.log)
            notes += drawn.strip("\n").split("\n")
        self._know_claim()

    def claim(self) -> None:
        authority, board = self.authority, self.board
        with step(3, "postern claim provisions it with a restricted session") as notes:
            authority.command("claim", "-", "--duration", "30d", "--json", stdin=self.url + "\n")
            _, notice = board.wait_session("available")
            self.session = notice["session"]["objectId"]
            rows = authority.rows("sessions", "list")
            row = next((r for r in rows if r.get("objectId") == self.session), None)
            if row is None or row.get("restricted") is not True:
                raise StepFailed(f"`postern sessions list` does not show {self.session}")
            boards = authority.rows("boards", "list")
            iid = self.fields["i"]
            if not any(r.get("installationId") == iid for r in boards):
                raise StepFailed(f"`postern boards list` does not show {iid}")
            self.iid = iid
            days = (notice["session"]["expiresAt"] - notice["session"]["createdAt"]) / 86400
            notes += [f"board {iid}",
                      f"session {self.session}, restricted, for {days:.0f} days; "
                      f"in `postern boards` and `postern sessions`"]
            self._wait_settled()

    def send_readings(self) -> None:
        authority = self.authority
        with step(4, f"{_READINGS} readings of this machine's vitals go upstream") as notes:
            watch = authority.watch.start()
            watch.wait(lambda: "watching" in watch.said, "it watches")
            self.board.run_vitals("run", "--count", _READINGS, "--every", _PACE)
            self._wait_forwarded()
            lines = authority.consumer.lines
            if any(x["sid"] != self.session or x["app"] != "vitals" for x in lines):
                raise StepFailed("a reading came without its session or app", watch.log)
            last = lines[-1]
            notes += [f"{len(lines)} arrived at `postern watch`, each with sid={last['sid']}, "
                      f"seq {lines[0]['seq']} to {last['seq']}; the last one:",
                      *textwrap.wrap(last["payload"].replace(",", ", "), 80)]

    def try_the_forbidden(self) -> None:
        names = ", ".join(REFUSED_CLASSES[:3])
        with step(5, f"{names} and {REFUSED_CLASSES[3]} are refused on the board") as notes:
            before = set(self.ledger.outcomes)
            upstream = len(self.authority.broker.heard)
            self.board.run_vitals("try", *REFUSED_CLASSES)
            writes = self.ledger.writes
            for number, line in self.ledger.outcomes.items():
                if number in before:
                    continue
                said = line["outcome"]
                if not all(said.get(key) for key in ("code", "rule", "error")):
                    raise StepFailed(f"{writes[number]['class']} was not refused with code, "
                                     f"rule and reason: {said}", self.board.agent.log)
                notes += textwrap.wrap(
                    f"{said['class']:<9} {said['code']}  {said['rule']}: {said['error']}", 80,
                    subsequent_indent=" " * 15)
            # A reading behind them: once it is upstream, whatever came before it would be.
            self.board.run_vitals("run", "--count", 1)
            self._wait_forwarded()
            leaked = [p.topic for _, p in self.authority.broker.messages(upstream)
                      if any(f"/data/{name}/" in p.topic for name in REFUSED_CLASSES)]
            if leaked:
                raise StepFailed(f"{leaked[0]} reached the upstream broker")
            notes.append("none of these writes reached the upstream broker")

    def cut_the_power(self) -> None:
        board = self.board
        with step(6, "killed with SIGKILL while the network is away, started again") as notes:
            app = board.vitals("run", "--count", 150, "--every", 0.03)
            self._wait_more_accepted(20)
            board.uplink.cut()
            self._wait_more_accepted(20)
            mark = len(board.bus.heard)
            board.agent.kill()
            killed = self.ledger.tally
            begun = time.monotonic()
            board.agent.start()
            heard, notice = board.wait_session("available", since=mark)
            if notice["session"]["objectId"] != self.session:
                raise StepFailed("another session came back", board.agent.log)
            board.finish(app)
            offline = max(self.ledger.accepted)
            if offline in self.authority.consumer.sequences:
                raise StepFailed("the agent reached the upstream broker while the network was cut")
            waiting = len(self.ledger.accepted) - len(set(self.authority.consumer.sequences))
            board.uplink.open()
            self._wait_forwarded(60)
            notes += [
                f"session back after {1000 * (heard.at - begun):.0f} ms, with no network",
                f"{killed.accepted} accepted before the kill, {self.ledger.tally.accepted} after; "
                f"{waiting} waited for the network",
                f"all {len(self.ledger.accepted)} arrived upstream: "
                f"{self.authority.consumer.gaps} missing, "
                f"{self.authority.consumer.duplicates} twice"]

    def revoke(self) -> None:
        board, authority = self.board, self.authority
        with step(7, "the administrator revokes the session: no write passes") as notes:
            app = board.vitals("run", "--every", 0.02, "--until-refused")
            self._wait_more_accepted(10)
            begun = time.time()
            authority.command("sessions", "revoke", self.session)
            first = until(lambda: self.ledger.first_refused(209, begun),
                          "a write to be refused with 209", 10, board.agent.log)
            delay = first["time"] - begun
            board.finish(app)
            _, notice = board.wait_session("unavailable", since=self._last_available())
            if notice.get("reason") != "revoked" or notice.get("code") != 209:
                raise StepFailed(f"postern/session says {notice}", board.agent.log)
            late = [seq for seq, line in self.ledger.accepted.items()
                    if line["time"] > first["time"] + 0.1]
            if late:
                raise StepFailed(f"seq {late[0]} was accepted after the first 209",
                                 board.agent.log)
            self._count_held()
            notes.append(f"first 209 after {1000 * delay:.0f} ms, including the start of the "
                         f"command; rule {first['outcome']['rule']}")

    # What they lean on.

    def _know_claim(self) -> None:
        fragment = self.url.partition("#")[2]
        self.fields = {k: unquote(v) for k, _, v in
                       (part.partition("=") for part in fragment.split("&"))}
        secret, iid = unb64(self.fields["c"]), self.fields["i"].encode()
        self.know("the claim secret", secret)
        self.know("the key of the provisioning", hkdf(secret, iid, b"postern/v1 claim"))
        self.know("the board's first broker password",
                  hkdf(secret, iid, b"postern/v1 broker"), True)

    def _wait_settled(self) -> None:
        """Until the board is on the broker with the password that its provisioning brought."""
        until(lambda: len(self.board.uplink.passwords) > 1 and self._is_up(),
              "the board to come with its new password", 30, self.board.agent.log,
              self.authority.server.log)

    def _is_up(self) -> bool:
        """Whether the board's last word upstream is `up` and `available`."""
        said = [p.payload for h, p in self.board.uplink.messages()
                if h.upward and p.topic.endswith("/status")]
        last = json.loads(said[-1]) if said and said[-1] else {}
        return last.get("status") == "up" and last.get("session") == "available"

    def _wait_more_accepted(self, more: int) -> None:
        goal = len(self.ledger.accepted) + more
        until(lambda: len(self.ledger.accepted) >= goal, f"{more} more readings accepted", 30,
              self.board.agent.log)

    def _wait_forwarded(self, seconds: float = 30) -> None:
        try:
            until(lambda: not self.missing, "", seconds)
        except StepFailed:
            raise StepFailed(
                f"{len(self.missing)} accepted readings did not arrive upstream; the first is "
                f"seq {min(self.missing)}", self.board.agent.log,
                self.authority.watch.log) from None

    def _last_available(self) -> int:
        """The point in the bus's record of the last message that the session is available."""
        heard, _ = [n for n in self.board.session_notices() if n[1]["state"] == "available"][-1]
        return self.board.bus.heard.index(heard)

    def _count_held(self) -> None:
        """Readings that were accepted last stay on the board, for this user's next session there.
        A reading may be held and forwarded, if the revocation came before its PUBACK."""
        def is_accounted() -> bool:
            self.held = self.board.status()["queue"]["messages"]
            return len(self.missing) <= self.held

        until(is_accounted, "every accepted reading to be forwarded or held", 15,
              self.board.agent.log)
