"""A real RabbitMQ with its MQTT plugin, as any user, on ports of its own, and a house on it."""

import secrets
import subprocess
from pathlib import Path

from .evidence import Evidence
from .house import House
from .program import Program, accepts, free_port

_SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_EPMD = Path("/usr/bin/epmd")


def missing() -> str:
    """What of Debian's package `rabbitmq-server` is not there; empty when all is."""
    return ", ".join(str(p) for p in (_SERVER, _EPMD) if not p.exists())


class RabbitMQ:
    """One node. Who may do what it asks over HTTP, at `questions`, an address without its end."""

    def __init__(self, folder: Path, port: int, questions: str):
        self.folder = folder
        self.port, self.tls_port, self.amqp_port = port, free_port(), free_port()
        self._epmd_port = free_port()
        for name in ("mnesia", "log", "home"):
            (folder / name).mkdir(parents=True)
        self.ca_file = _make_certificate(folder)
        self.config = folder / "rabbitmq.conf"
        self.config.write_text(self._settings(questions))
        (folder / "enabled_plugins").write_text(
            "[rabbitmq_mqtt,rabbitmq_auth_backend_http].\n")
        env = self._environment()
        # Erlang would start one of its own, which would outlive us.
        self.names = Program(
            "epmd", [_EPMD, "-port", str(self._epmd_port), "-address", "127.0.0.1"], folder, env)
        self.program = Program("rabbitmq", [_SERVER], folder, env)

    def start(self) -> "RabbitMQ":
        self.names.start()
        self.names.wait_ready(lambda: accepts(self._epmd_port), "its port")
        self.program.start()
        self.program.wait_ready(lambda: accepts(self.port), f"port {self.port}", 90)
        return self

    def close(self) -> None:
        for program in (self.program, self.names):
            if program.is_running:
                program.stop(30)

    @property
    def log(self) -> str:
        return self.program.out.read_text() if self.program.out.exists() else ""

    def _settings(self, questions: str) -> str:
        """What `Provisioning/broker/rabbitmq.conf` has, in these places; plain MQTT, too."""
        shipped = Path(__file__).resolve().parents[3] / "Provisioning" / "broker" / "rabbitmq.conf"
        text = shipped.read_text()
        for there, here in {
            "https://authority.example/postern/v1/broker/rabbitmq/<secret>": questions,
            "127.0.0.1:5672": f"127.0.0.1:{self.amqp_port}",
            "mqtt.listeners.tcp = none": f"mqtt.listeners.tcp.1 = 127.0.0.1:{self.port}",
            "mqtt.listeners.ssl.1 = 8883": f"mqtt.listeners.ssl.1 = 127.0.0.1:{self.tls_port}",
            "/etc/rabbitmq/ca.pem": str(self.ca_file),
            "/etc/rabbitmq/broker": str(self.folder / "broker"),
        }.items():
            assert there in text, f"{shipped.name} has no {there}"
            text = text.replace(there, here)
        return text

    def _environment(self) -> dict:
        loopback = "-kernel inet_dist_use_interface {127,0,0,1}"
        return {
            "HOME": str(self.folder / "home"),
            "RABBITMQ_NODENAME": f"postern-{secrets.token_hex(4)}@localhost",
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": str(self.config),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": loopback,
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }


def _make_certificate(folder: Path) -> Path:
    """A key and a certificate that signs itself, for 127.0.0.1; the latter's file."""
    key, file = folder / "broker.key", folder / "broker.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=broker", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", file],
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
