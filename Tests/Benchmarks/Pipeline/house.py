"""Sets everything up in a temporary folder, and takes it down."""

import json
import os
from pathlib import Path

from authority_player import AuthorityPlayer
from bench.broker import AccessFiles
from bench.evidence import Evidence
from bench.link import Login
from bench.program import Program, free_port, run
from brokers import (TOPICS, Certificates, LocalBroker, Mosquitto, Upstream, bridge, of_a_board,
                     saving)
from loads import compiled
from peers import CARD_MS, Peer

APP_TOPIC = "postern/app/thermo/create/Reading"
ANSWERS = "postern/app/thermo/answers"
_PASSWORD = "of the benchmark"


class House:
    """The upstream with an authority that is played, and what is built around them."""

    def __init__(self, folder: Path, agent: Path, *, is_unix: bool):
        self.folder = folder
        self.binary = agent
        self.is_unix = is_unix
        self.agents: dict[str, Agent] = {}
        self._brokers: list[Mosquitto] = []
        self.authority: AuthorityPlayer | None = None
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self.certificates = Certificates.made(self.folder / "tls")
        access = AccessFiles(self.folder / "access")
        access.admit("authority", _PASSWORD, [])
        self.upstream = Upstream(self.folder, self.certificates, access.passwords)
        self._brokers.append(self.upstream)
        # Whoever the player lets in, the broker is to know of at once.
        access.broker = self.upstream
        login = Login(self.upstream.port, "authority", "authority", _PASSWORD)
        self.authority = AuthorityPlayer(login, access, Evidence()).open()

    def agent(self, kind: str, link: str, durability: str, env: dict | None = None) -> Peer:
        """A board with a session: its own broker, and a real agent over this link."""
        name = f"{kind}-{link}"
        persistence = ["persistence true", f"persistence_location {self.folder}/{name}-bus/"]
        bus = self._local(f"{name}-bus", [*of_a_board(), *persistence])
        outbox = "" if durability == "always" else f'[outbox]\ndurability = "{durability}"\n'
        settings = f'[bus]\nuri = "{bus.uri}"\n{self._uplink(link)}{outbox}'
        agent = Agent(self.folder / name, self.binary, settings, env)
        self.agents[name] = agent
        iid = agent.provision(self.authority)
        return Peer(
            kind, link, bus.address, f"127.0.0.1:{self.upstream.port}", APP_TOPIC,
            f"postern/v1/{iid}/data/#", agent.program, (bus.program,), ANSWERS)

    def agent_on_card(self, link: str) -> Peer:
        """The same with a disk that takes longer for each sync."""
        slow = compiled(self.folder / "slow_sync.so", ["-shared", "-fPIC"], "slow_sync.c")
        env = {"LD_PRELOAD": str(slow), "SYNC_MS": str(CARD_MS)}
        peer = self.agent("agent-card", link, "always", env)
        peer.share = 0.25
        return peer

    def bridge(self, name: str, link: str, in_flight: int) -> Peer:
        """A broker that bridges and keeps nothing on disk."""
        limits = [f"max_inflight_messages {in_flight}", "max_queued_messages 0"]
        return self._bridging(f"{name}-{link}", name, link, limits)

    def saving_bridge(self, link: str) -> Peer:
        """A broker that bridges and saves all that it holds at each change."""
        name = "bridge-saving"
        limits = ["max_inflight_messages 20", "max_queued_messages 0"]
        peer = self._bridging(name, name, link, [*limits, *saving(self.folder / name)])
        peer.share = 0.015
        return peer

    def second_broker(self, link: str) -> Peer:
        """A broker that is no bridge, and a second one that bridges from it to upstream."""
        port = free_port()
        # A bridge of this version reaches no Unix socket.
        first = self._local("first", [*of_a_board(), f"listener {port} 127.0.0.1"])
        lines = ["max_inflight_messages 20", "max_queued_messages 0",
                 *bridge("second-in", port, "in"), *self._bridge_up("second-out", link)]
        second = self._local("second", lines)
        return self._peer("bridge-second", link, first, second, (first.program,))

    def _bridging(self, name: str, kind: str, link: str, settings: list[str]) -> Peer:
        broker = self._local(name, [*settings, *self._bridge_up(name, link)])
        return self._peer(kind, link, broker, broker)

    def _peer(self, kind: str, link: str, broker: LocalBroker, worker: LocalBroker,
              before: tuple[Program, ...] = ()) -> Peer:
        return Peer(kind, link, broker.address, f"127.0.0.1:{self.upstream.port}", APP_TOPIC,
                    TOPICS, worker.program, before)

    def _local(self, name: str, settings: list[str]) -> LocalBroker:
        broker = LocalBroker(name, self.folder, settings, is_unix=self.is_unix)
        self._brokers.append(broker)
        return broker

    def _bridge_up(self, name: str, link: str) -> list[str]:
        if link == "plain":
            return bridge(name, self.upstream.port, "out")
        return bridge(name, self.upstream.tls_port, "out", self.certificates.authority)

    def _uplink(self, link: str) -> str:
        if link == "plain":
            return f'[uplink]\nuri = "mqtt://127.0.0.1:{self.upstream.port}"\nspread = "0s"\n'
        return (f'[uplink]\nuri = "mqtts://localhost:{self.upstream.tls_port}"\n'
                f'ca_file = "{self.certificates.authority}"\nspread = "0s"\n')

    def close(self) -> None:
        """Ends every process, whatever state it is in."""
        for agent in self.agents.values():
            agent.program.close()
        if self.authority:
            self.authority.close()
        for broker in reversed(self._brokers):
            broker.program.close()


class Agent:
    """One `postern-agent` with its configuration and its state in a folder of its own."""

    def __init__(self, folder: Path, binary: Path, settings: str, env: dict | None):
        self.config, state, runtime = folder / "etc", folder / "state", folder / "run"
        for made in (folder, self.config, state, runtime):
            made.mkdir(mode=0o700)
        path = self.config / "agent.toml"
        path.write_text(
            f'name = "benchmark"\nstate_dir = "{state}"\nrun_dir = "{runtime}"\n'
            + settings)
        os.chmod(path, 0o640)
        self.command = [str(binary), "--config-dir", str(self.config)]
        self.program = Program("agent", [*self.command, "run"], folder, env)

    def start(self) -> None:
        self.program.start()
        self.program.wait_ready(lambda: "ready" in self.program.log, "to say ready")

    def provision(self, authority: AuthorityPlayer) -> str:
        """Paired, started and claimed; the installation id."""
        shown = run([*self.command, "pair", "--json"])
        if shown.returncode != 0:
            raise RuntimeError(f"pair: {shown.stderr}")
        self.start()
        board = authority.claim(json.loads(shown.stdout)["url"])
        authority.wait_live(board, 40)
        return board.iid
