"""Two RabbitMQ nodes in one cluster, as `Provisioning/broker` has them, and a house on them.

They listen on 127.0.0.1 and 127.0.0.2, on the same ports. `broker.test` is the name of both, in a
mount namespace of the programs that are to know it.
"""

import os
import secrets
from pathlib import Path

from board_player import BoardPlayer

from .evidence import Evidence
from .house import House, HouseBoard
from .link import Link, Login
from .program import Program, free_port, run
from .rabbitmq import SHIPPED, NameServer, RabbitMQ, in_these_places, make_certificate
from .waiting import until

NAME = "broker.test"
_TOOLS = Path("/usr/lib/rabbitmq/bin")


class ClusterNode(RabbitMQ):
    """One of them. What they share is the cluster's: name server, cookie, certificate, ports."""

    def __init__(self, cluster: "Cluster", number: int, questions: str):
        self._cluster = cluster
        self.number, self.host = number, f"127.0.0.{number}"
        self.id = secrets.token_hex(4)
        super().__init__(cluster.folder / f"node-{number}", cluster.port, questions)
        cookie = self.folder / "home" / ".erlang.cookie"
        cookie.write_text(cluster.cookie)
        cookie.chmod(0o400)

    def join(self, nodes: list["ClusterNode"]) -> None:
        """To be called before the start."""
        definitions = self.folder / "definitions.json"
        definitions.write_text((SHIPPED / "rabbitmq-definitions.json").read_text())
        more = self.folder / "conf.d"
        more.mkdir()
        places = {f"rabbit@broker-{node.number}": node.name for node in nodes}
        places["/etc/rabbitmq/definitions.json"] = str(definitions)
        (more / "20-cluster.conf").write_text(in_these_places("rabbitmq-cluster.conf", places))

    def launch(self) -> None:
        """Starts it without waiting for it."""
        self.program.start()

    def kill(self) -> None:
        """SIGKILL, as a power cut would have it."""
        self.program.kill()

    def rejoin(self) -> None:
        """What `CLUSTERS.md` has an operator run on a node that was lost."""
        done = run([SHIPPED / "rabbitmq-rejoin"], timeout=120, env=self._tools)
        assert done.returncode == 0, done.stderr

    def control(self, *arguments: str) -> str:
        """The output of `rabbitmqctl`."""
        done = run([_TOOLS / "rabbitmqctl", "--quiet", *arguments], timeout=240, env=self._tools)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def running(self) -> str:
        """The names of the nodes that it sees, as Erlang writes a list."""
        return self.control("eval", "rabbit_nodes:all_running().")

    def leads(self) -> bool:
        """Whether it is the leader of the vote on client ids."""
        return self.name in self.control("eval", "ra_leaderboard:lookup_leader(mqtt_node).")

    @property
    def _tools(self) -> dict:
        return self._environment() | {"PATH": f"{_TOOLS}:{os.environ['PATH']}"}

    def _environment(self) -> dict:
        return super()._environment() | {"RABBITMQ_CONFIG_FILES": str(self.folder / "conf.d")}

    def _name_server(self) -> NameServer:
        self.name = f"postern-{self.number}-{self.id}@localhost"
        self.tls_port = self._cluster.tls_port
        return self._cluster.names

    def _certificate(self) -> Path:
        if self.number > 1:
            for name in ("broker.key", "broker.pem"):
                (self.folder / name).write_bytes((self._cluster.first / name).read_bytes())
            return self._cluster.first / "broker.pem"
        return make_certificate(self.folder, f",IP:127.0.0.2,DNS:{NAME}")

    def close(self) -> None:
        if self.program.is_running:
            self.program.stop(30)


class Cluster:
    """The nodes, not started."""

    def __init__(self, folder: Path, port: int, tls_port: int, questions: str):
        self.folder, self.port, self.tls_port = folder, port, tls_port
        folder.mkdir()
        self.first = folder / "node-1"
        self.cookie = secrets.token_hex(16)
        self.names = NameServer(folder)
        self.nodes = [ClusterNode(self, number, questions) for number in (1, 2)]
        for node in self.nodes:
            node.join(self.nodes)

    def start(self) -> None:
        """The first start, one node after the other, as `CLUSTERS.md` says."""
        self.names.start()
        for node in self.nodes:
            node.launch()
            node.wait_ready()
        until(lambda: all(n.name in self.nodes[0].running() for n in self.nodes),
              "the nodes to be one cluster", 60)

    def node(self, number: int) -> ClusterNode:
        return self.nodes[number - 1]

    def other(self, number: int) -> ClusterNode:
        return self.nodes[2 - number]

    def close(self) -> None:
        for node in self.nodes:
            node.close()
        self.names.close()


class ClusterHouse(House):
    """A house on both nodes. Its authority knows them by their name, over TLS."""

    def __init__(self, folder: Path, evidence: Evidence, programs: Path):
        self.cluster: Cluster | None = None
        self.people: list[Link] = []
        try:
            super().__init__(folder, evidence, programs)
        except BaseException:
            if self.cluster is not None:
                self.cluster.close()
            raise

    def start(self) -> None:
        if not self.cluster.nodes[0].program.is_running:
            self.cluster.start()
        self._knows_the_name(self.server)
        super().start()

    def add_board(self, name: str, *, at: int | None = None, **options) -> HouseBoard:
        """`at` is the only node that it knows; without, it goes by the name of both."""
        host = NAME if at is None else f"127.0.0.{at}"
        board = super().add_board(name, **options, agent_env={
            "POSTERN_UPLINK_URI": f"mqtts://{host}:{self.cluster.tls_port}",
            "POSTERN_UPLINK_CA_FILE": str(self.cluster.nodes[0].ca_file)})
        if at is None:
            self._knows_the_name(board.agent)
        return board

    def player(self, name: str, at: int) -> "NodePlayer":
        """A played board that knows one node only, and says no farewell."""
        player = NodePlayer(self, name, at)
        self.boards.append(player)
        return player

    def live_player(self, name: str, at: int) -> "NodePlayer":
        player = self.player(name, at)
        claim = self.claim(player.claim_url)
        player.connect(30).wait_held()
        claim.must_end()
        player.settle().beat()
        return player

    def listener(self, at: int) -> Link:
        """What `postern watch` would be, through one node; the one before it is closed."""
        for link in self.people:
            link.close()
        status, access = self.admin.http("POST", "/postern/v1/broker")
        assert status in (200, 201), access
        self.evidence.add_secret("a consumer's broker password", access["password"])
        link = Link(
            Login(self.port, access["clientId"], access["username"], access["password"],
                  version="3.1.1", host=f"127.0.0.{at}"), journal=self.evidence.journal)
        self.people.append(link.open())
        for topic_filter in access["filters"]:
            assert link.subscribe(topic_filter) < 0x80
        return link

    @property
    def questions(self) -> str:
        secret = self.access_secret.read_text()
        return f"http://127.0.0.1:{self.http_port}/postern/v1/broker/rabbitmq/{secret}"

    def _broker_lines(self) -> str:
        self.access_secret = self._write_password("access-secret")
        self.broker_password = self._write_password("broker-password")
        self.cluster = Cluster(
            self.folder / "cluster", self.port, free_port(), self.questions)
        self._hosts = self.folder / "hosts"
        self.names_are("127.0.0.1", "127.0.0.2")
        for node in self.cluster.nodes:
            self.evidence.ours.add(node.config)
        return (f'mode = "external"\nuri = "mqtts://{NAME}:{self.cluster.tls_port}"\n'
                f'ca_file = "{self.cluster.nodes[0].ca_file}"\naccess = "http"\n'
                f'access_secret_file = "{self.access_secret}"\nusername = "authority"\n'
                f'password_file = "{self.broker_password}"\n')

    def names_are(self, *addresses: str) -> None:
        """What the name of the cluster leads to from now on."""
        lines = [f"{address} {NAME}" for address in addresses]
        self._hosts.write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))

    def _knows_the_name(self, program: Program) -> None:
        if "unshare" in program.argv[0]:
            return
        mounted = 'mount --bind "$0" /etc/hosts && exec "$@"'
        own = [] if os.geteuid() == 0 else ["--map-root-user"]
        program.argv = ["unshare", "--mount", *own, "sh", "-c", mounted, str(self._hosts),
                        *program.argv]

    def close(self) -> None:
        for link in self.people:
            link.close()
        super().close()
        if self.cluster is not None:
            self.cluster.close()

    def logs(self) -> list[tuple[str, str]]:
        nodes = self.cluster.nodes if self.cluster else []
        return [*super().logs(), *((f"rabbitmq {n.number}", n.log) for n in nodes)]


class NodePlayer(BoardPlayer):
    """A played board that speaks 3.1.1 with one node."""

    def __init__(self, house: ClusterHouse, name: str, at: int):
        self.at = at
        super().__init__(house.port, house.evidence, name)
        self.says_farewell = False

    def login(self, password: str | None = None) -> Login:
        old = super().login(password)
        return Login(old.port, old.client_id, old.username, old.password, version="3.1.1",
                     host=f"127.0.0.{self.at}")
