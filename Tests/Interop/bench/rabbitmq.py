"""A real RabbitMQ with its MQTT plugin, as any user, on ports of its own, and a house on it."""

import secrets
import subprocess
from pathlib import Path

from .evidence import Evidence
from .house import House
from .program import Program, accepts, free_port

_SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_EPMD = Path("/usr/bin/epmd")
SHIPPED = Path(__file__).resolve().parents[3] / "Provisioning" / "broker"


def missing() -> str:
    """What of Debian's package `rabbitmq-server` is not there; empty when all is."""
    return ", ".join(str(p) for p in (_SERVER, _EPMD) if not p.exists())


class NameServer:
    """Erlang's; Erlang would start one of its own, which would outlive us."""

    def __init__(self, folder: Path):
        self.port = free_port()
        self.environment = {"ERL_EPMD_PORT": str(self.port), "ERL_EPMD_ADDRESS": "127.0.0.1"}
        self._program = Program(
            "epmd", [_EPMD, "-port", str(self.port), "-address", "127.0.0.1"], folder,
            self.environment)

    def start(self) -> None:
        if not self._program.is_running:
            self._program.start()
            self._program.wait_ready(lambda: accepts(self.port), "its port")

    def close(self) -> None:
        if self._program.is_running:
            self._program.stop(30)


class RabbitMQ:
    """One node. Who may do what it asks over HTTP, at `questions`, an address without its end."""

    host = "127.0.0.1"

    def __init__(self, folder: Path, port: int, questions: str):
        self.folder = folder
        self.port, self.tls_port, self.amqp_port = port, free_port(), free_port()
        self.name = f"postern-{secrets.token_hex(4)}@localhost"
        self.names = self._name_server()
        for name in ("mnesia", "log", "home"):
            (folder / name).mkdir(parents=True)
        self.ca_file = self._certificate()
        self.config = folder / "rabbitmq.conf"
        self.config.write_text(self._settings(questions))
        (folder / "enabled_plugins").write_text(
            "[rabbitmq_mqtt,rabbitmq_auth_backend_http].\n")
        self.program = Program("rabbitmq", [_SERVER], folder, self._environment())

    def start(self) -> "RabbitMQ":
        self.names.start()
        self.program.start()
        return self.wait_ready()

    def wait_ready(self, timeout: float = 90.0) -> "RabbitMQ":
        self.program.wait_ready(
            lambda: accepts(self.port, self.host), f"port {self.port}", timeout)
        return self

    def close(self) -> None:
        if self.program.is_running:
            self.program.stop(30)
        self.names.close()

    @property
    def log(self) -> str:
        return self.program.out.read_text() if self.program.out.exists() else ""

    def _certificate(self) -> Path:
        return make_certificate(self.folder)

    def _name_server(self) -> NameServer:
        return NameServer(self.folder)

    def _settings(self, questions: str) -> str:
        """What `Provisioning/broker/rabbitmq.conf` has, in these places; plain MQTT, too."""
        return in_these_places("rabbitmq.conf", {
            "https://authority.example/postern/v1/broker/rabbitmq/<secret>": questions,
            "127.0.0.1:5672": f"127.0.0.1:{self.amqp_port}",
            "mqtt.listeners.tcp = none": f"mqtt.listeners.tcp.1 = {self.host}:{self.port}",
            "mqtt.listeners.ssl.1 = 8883":
                f"mqtt.listeners.ssl.1 = {self.host}:{self.tls_port}",
            "/etc/rabbitmq/ca.pem": str(self.ca_file),
            "/etc/rabbitmq/broker": str(self.folder / "broker"),
        })

    def _environment(self) -> dict:
        loopback = "-kernel inet_dist_use_interface {127,0,0,1}"
        return {
            "HOME": str(self.folder / "home"),
            # A tool that fell would leave one where it was called.
            "ERL_CRASH_DUMP": str(self.folder / "erl_crash.dump"),
            "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": str(self.config),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"{loopback} -start_epmd false",
            # Then the script becomes the node, which so ends with us whatever happens.
            "RABBITMQ_ALLOW_INPUT": "1",
            "RABBITMQ_SERVER_START_ARGS": "-noinput",
        } | self.names.environment


def in_these_places(name: str, places: dict[str, str]) -> str:
    """A file of `Provisioning/broker` with its places and names made those of a test."""
    text = (SHIPPED / name).read_text()
    for there, here in places.items():
        assert there in text, f"{name} has no {there}"
        text = text.replace(there, here)
    return text


def make_certificate(folder: Path, more: str = "") -> Path:
    """A key and a certificate that signs itself, for 127.0.0.1 and `more`; the latter's file."""
    key, file = folder / "broker.key", folder / "broker.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=broker", "-addext",
         f"subjectAltName=IP:127.0.0.1{more}", "-keyout", key, "-out", file],
        check=True, capture_output=True, timeout=30)
    return file


class RabbitHouse(House):
    """A house whose boards meet at RabbitMQ, which asks the authority about each of them.

    The authority comes by TLS, boards in clear unless they are made with `by_tls`.
    """

    def __init__(self, folder: Path, evidence: Evidence, programs: Path):
        self.rabbit: RabbitMQ | None = None
        super().__init__(folder, evidence, programs)

    def start(self) -> None:
        if not self.rabbit.program.is_running:
            self.rabbit.start()
        super().start()

    @property
    def by_tls(self) -> dict:
        """Options of a board that comes by TLS."""
        return {"agent_env": {
            "POSTERN_UPLINK_URI": f"mqtts://127.0.0.1:{self.rabbit.tls_port}",
            "POSTERN_UPLINK_CA_FILE": str(self.rabbit.ca_file)}}

    @property
    def questions(self) -> str:
        secret = self.access_secret.read_text()
        return f"http://127.0.0.1:{self.http_port}/postern/v1/broker/rabbitmq/{secret}"

    def _broker_lines(self) -> str:
        self.access_secret = self._write_password("access-secret")
        self.broker_password = self._write_password("broker-password")
        self.rabbit = RabbitMQ(self.folder / "rabbitmq", self.port, self.questions)
        self.evidence.ours.add(self.rabbit.config)
        return (f'mode = "external"\nuri = "mqtts://127.0.0.1:{self.rabbit.tls_port}"\n'
                f'ca_file = "{self.rabbit.ca_file}"\naccess = "http"\n'
                f'access_secret_file = "{self.access_secret}"\nusername = "authority"\n'
                f'password_file = "{self.broker_password}"\n')

    def close(self) -> None:
        super().close()
        if self.rabbit is not None:
            self.rabbit.close()

    def logs(self) -> list[tuple[str, str]]:
        return [*super().logs(), ("rabbitmq", self.rabbit.log if self.rabbit else "")]
