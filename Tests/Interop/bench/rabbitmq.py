"""A real RabbitMQ with its MQTT plugin, as any user, on ports of its own, and a house on it."""

import secrets
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
        self.port, self.amqp_port = port, free_port()
        self._epmd_port = free_port()
        for name in ("mnesia", "log", "home"):
            (folder / name).mkdir(parents=True)
        self.config = folder / "rabbitmq.conf"
        self.config.write_text(_settings(port, self.amqp_port, questions))
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


def _settings(port: int, amqp_port: int, questions: str) -> str:
    """What `Provisioning/broker/rabbitmq.conf` has, on these ports and without TLS."""
    shipped = Path(__file__).resolve().parents[3] / "Provisioning" / "broker" / "rabbitmq.conf"
    kept = [line for line in shipped.read_text().splitlines()
            if line and not line.startswith(("#", "ssl_options", "mqtt.listeners",
                                             "listeners.", "auth_http."))]
    asked = [f"auth_http.{name}_path = {questions}/{name}"
             for name in ("user", "vhost", "resource", "topic")]
    return "\n".join([
        f"listeners.tcp.1 = 127.0.0.1:{amqp_port}",
        f"mqtt.listeners.tcp.1 = 127.0.0.1:{port}",
        "auth_http.http_method = post", *asked, *kept, ""])


class RabbitHouse(House):
    """A house whose boards meet at RabbitMQ, which asks the authority about each of them."""

    def __init__(self, folder: Path, evidence: Evidence, programs: Path):
        self.rabbit: RabbitMQ | None = None
        super().__init__(folder, evidence, programs)

    def start(self) -> None:
        if self.rabbit is None:
            self.rabbit = RabbitMQ(self.folder / "rabbitmq", self.port, self.questions)
            self.evidence.ours.add(self.rabbit.config)
            self.rabbit.start()
        super().start()

    @property
    def questions(self) -> str:
        secret = self.access_secret.read_text()
        return f"http://127.0.0.1:{self.http_port}/postern/v1/broker/rabbitmq/{secret}"

    def _broker_lines(self) -> str:
        self.access_secret = self._write_password("access-secret")
        self.broker_password = self._write_password("broker-password")
        return (f'mode = "external"\nuri = "mqtt://127.0.0.1:{self.port}"\naccess = "http"\n'
                f'access_secret_file = "{self.access_secret}"\nusername = "authority"\n'
                f'password_file = "{self.broker_password}"\n')

    def close(self) -> None:
        super().close()
        if self.rabbit is not None:
            self.rabbit.close()

    def logs(self) -> list[tuple[str, str]]:
        return [*super().logs(), ("rabbitmq", self.rabbit.log if self.rabbit else "")]
