"""The mosquittos of the benchmark: upstream, the board's own, and those that bridge."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.broker import mosquitto_path
from bench.program import Program, accepts, free_port
from bench.waiting import until

# What is not to be the limit of any peer.
UNBOUNDED = ("max_inflight_messages 0", "max_queued_messages 0")
# What a board's broker has from Devices/linux-generic. Not the bounds of its queue: a backlog is
# published at full speed.
_SHIPPED = Path(__file__).resolve().parents[3] / "Devices" / "linux-generic" / "mosquitto.conf"
_TAKEN = ("max_inflight_messages ", "max_packet_size ", "autosave_interval ")
TOPICS = "postern/app/#"


class Mosquitto:
    """One broker with `settings`, quiet but for what a reload is known by."""

    def __init__(self, name: str, folder: Path, settings: list[str]):
        self.name = name
        self.folder = folder / name
        self.folder.mkdir(parents=True)
        config = self.folder / "mosquitto.conf"
        lines = [*settings, "allow_anonymous true", "log_dest stderr", "log_type error",
                 "log_type warning", "log_type notice", "log_type information"]
        if os.geteuid() == 0:
            lines.append("user root")
        config.write_text("\n".join(lines) + "\n")
        self.program = Program(name, [mosquitto_path(), "-c", config], self.folder)

    @property
    def pid(self) -> int:
        return self.program.pid

    def start(self, is_ready) -> "Mosquitto":
        self.program.start().wait_ready(is_ready, "to listen")
        return self

    def reload(self) -> None:
        """Has the password file read again; done when this returns."""
        before = self.program.log.count("Reloading config")
        self.program.reload()
        until(lambda: self.program.log.count("Reloading config") > before, "the reload")


class Upstream(Mosquitto):
    """A plain and a TLS listener; it lets in anybody, and by password those that give one."""

    def __init__(self, folder: Path, certificates: "Certificates", passwords: Path):
        self.port, self.tls_port = free_port(), free_port()
        super().__init__("upstream", folder, [
            f"listener {self.port} 127.0.0.1", f"listener {self.tls_port} 127.0.0.1",
            f"cafile {certificates.authority}", f"certfile {certificates.certificate}",
            f"keyfile {certificates.key}", f"password_file {passwords}", *UNBOUNDED,
        ])
        self.start(lambda: accepts(self.port) and accepts(self.tls_port))


class LocalBroker(Mosquitto):
    """A broker that the publisher reaches, over a Unix socket or over TCP loopback."""

    def __init__(self, name: str, folder: Path, settings: list[str], *, is_unix: bool):
        path = folder / name / "bus.sock"
        if is_unix:
            self.address, self.uri = str(path), f"unix:{path}"
            listener = f"listener 0 {path}"
        else:
            port = free_port()
            self.address, self.uri = f"127.0.0.1:{port}", f"mqtt://127.0.0.1:{port}"
            listener = f"listener {port} 127.0.0.1"
        super().__init__(name, folder, [listener, *settings])
        self.start(path.exists if is_unix else lambda: accepts(port))


def bridge(name: str, port: int, direction: str, ca: Path | None = None) -> list[str]:
    """One connection of a bridge: QoS 1, kept through an outage, otherwise as mosquitto has it."""
    lines = [
        f"connection {name}", f"address localhost:{port}", f"topic {TOPICS} {direction} 1",
        "cleansession false", "notifications false", "restart_timeout 1",
        f"remote_clientid {name}", f"local_clientid local.{name}",
    ]
    return lines + ([f"bridge_cafile {ca}"] if ca else [])


def of_a_board() -> list[str]:
    """The settings of a broker that serves a board as shipped."""
    lines = [line for line in _SHIPPED.read_text().splitlines() if line.startswith(_TAKEN)]
    if len(lines) != len(_TAKEN):
        raise RuntimeError(f"{_SHIPPED.name} has not one each of: {', '.join(_TAKEN)}")
    return [*lines, "max_queued_messages 0"]


def saving(folder: Path) -> list[str]:
    """A broker that saves all that it holds at each change."""
    return ["persistence true", f"persistence_location {folder}/",
            "autosave_on_changes true", "autosave_interval 1"]


@dataclass(frozen=True)
class Certificates:
    """An authority of one run and its certificate for localhost, both of P-256."""

    authority: Path
    certificate: Path
    key: Path

    @staticmethod
    def made(folder: Path) -> "Certificates":
        folder.mkdir()
        made = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        _openssl("req", "-x509", *curve, "-subj", "/CN=benchmark", "-keyout", folder / "ca.key",
                 "-out", made.authority)
        request, names = folder / "server.csr", folder / "names"
        names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        _openssl("req", "-new", *curve, "-subj", "/CN=localhost", "-keyout", made.key,
                 "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", made.authority, "-CAkey",
                 folder / "ca.key", "-CAcreateserial", "-days", "2", "-extfile", names,
                 "-out", made.certificate)
        return made


def _openssl(*arguments) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stderr}")
