"""The first five minutes with the packages, on a machine that its own systemd has booted: an
authority with TLS of its own, a board that is set up and paired, a message from a program on it.
Then what comes later: a reboot, an upgrade, the end. The tests are steps, in this order."""

import json
import re
import subprocess

import pytest

from booted_system import BootedSystem

# What a person adds on the way: the program on the board has its clients from here.
BESIDE = ["mosquitto-clients"]
AUTHORITY = "https://localhost:8443"
BUS = "/run/postern-bus/bus.sock"
READING = {"celsius": 21.5}


class Machine:
    """The machine, and what a person at it has seen so far."""

    def __init__(self, system, packages):
        self.system = system
        self.names = list(packages)
        # The booted machine has no network but its own: what it will need is fetched before.
        place = system.path("/packages")
        place.mkdir(exist_ok=True)
        for path in packages.values():
            (place / path.name).write_bytes(path.read_bytes())
        self.files = [f"/packages/{path.name}" for path in packages.values()]
        system.run("apt-get", "install", "-y", "-q", "--download-only",
                   "--no-install-recommends", *self.files, *BESIDE)
        self.booted = BootedSystem(system)
        self.fingerprint = self.url = self.thermo = ""

    def run(self, *argv, text: str | None = None) -> str:
        return self.booted.run(*argv, text=text)

    def reboot(self) -> None:
        self.booted.close()
        self.booted = BootedSystem(self.system)

    def status(self) -> dict:
        return json.loads(self.booted.attempt("postern-agent", "status", "--json").stdout or "{}")

    def session(self) -> str:
        return self.status().get("state", "")

    def wait_session(self) -> None:
        self.booted.wait(lambda: self.session() == "available", "a session", 60)

    def publish(self, *where: str, user: str = "thermo", login: str | None = None):
        """As a program on the board does it; its password is in a file of its own."""
        login = f"-u thermo\n-P {self.thermo}\n" if login is None else login
        self.run("sh", "-c", f"install -D -m 600 -o {user} /dev/stdin /run/{user}/mosquitto_pub",
                 text=login)
        return self.booted.attempt(
            "runuser", "-u", user, "--", "env", f"XDG_CONFIG_HOME=/run/{user}",
            "mosquitto_pub", "-V", "5", "-q", "1", *where,
            "-t", "postern/app/thermo/create/Reading", "-m", json.dumps(READING))

    def message_arrives(self) -> None:
        """`postern watch` shows the message that a program sends by the Unix socket."""
        watch = self.booted.start("postern", "watch", "--json", "--count", "1")
        try:
            # Until it has subscribed nothing is kept for it, so the program says it again.
            for _ in range(60):
                assert self.publish("--unix", BUS).returncode == 0
                if _ended(watch):
                    break
            said, words = watch.communicate(timeout=5)
        finally:
            watch.kill()
            watch.wait()
        assert json.loads(json.loads(said.splitlines()[0])["payload"]) == READING, said + words


@pytest.fixture(scope="module")
def machine(system, packages) -> Machine:
    made = Machine(system, packages)
    yield made
    made.booted.close()


def test_the_packages_install(machine):
    machine.run("apt-get", "install", "-y", "-q", "--no-install-recommends",
                *machine.files, *BESIDE)
    assert machine.booted.is_active("mosquitto.service")
    for unit in ("postern-agent.service", "postern-authority.service"):
        # Neither has a configuration, so neither starts, and neither has failed.
        assert not machine.booted.is_active(unit)
        assert machine.run("systemctl", "is-enabled", unit) == "enabled\n"
    assert machine.run("systemctl", "--failed", "--quiet", "--no-legend") == ""


def test_the_boards_broker_asks_who_is_there(machine):
    machine.thermo = machine.run("postern-agent-app", "add", "thermo").strip()
    machine.run("useradd", "--system", "--groups", "postern-apps", "thermo")
    for where in (["--unix", BUS], ["-h", "127.0.0.1"]):
        assert machine.publish(*where).returncode == 0
        for wrong in ("", "-u thermo\n-P wrong\n"):
            assert machine.publish(*where, login=wrong).returncode != 0
    # The socket is for the group alone, whatever the login.
    assert machine.publish("--unix", BUS, user="nobody").returncode != 0


def test_an_authority_begins_with_tls_of_its_own(machine):
    machine.run("sh", "-c", "umask 077; cat > /root/password", text="words of sixteen signs\n")
    machine.fingerprint = machine.run(
        "postern-authority", "init", "--tls", "--host", "localhost", "--name", "Home",
        "--admin", "ada", "--password-file", "/root/password").strip()
    machine.run("systemctl", "start", "postern-authority.service")
    machine.booted.wait_active("postern-authority.service")


def test_a_board_is_set_up(machine):
    machine.run("postern-agent", "setup", "--name", "shed", "--uplink", "mqtts://localhost:8883",
                "--claim-base", f"{AUTHORITY}/claim", "--ca-fingerprint", machine.fingerprint)
    machine.run("systemctl", "start", "postern-agent.service")
    machine.booted.wait_active("postern-agent.service")
    assert machine.session() == "unavailable"


def test_it_pairs(machine):
    machine.url = json.loads(machine.run("postern-agent", "pair", "--json"))["url"]
    assert machine.url.startswith(f"{AUTHORITY}/claim#v=1&i=")
    machine.run("postern", "--authority", AUTHORITY, "login", "--username", "ada",
                "--password-file", "/root/password", "--ca-fingerprint", machine.fingerprint)
    machine.run("postern", "claim", "-", text=machine.url)
    machine.wait_session()


def test_a_programs_message_goes_through(machine):
    machine.message_arrives()


def test_a_reboot_needs_nobody(machine):
    board = machine.status()
    machine.reboot()
    for unit in ("mosquitto.service", "postern-authority.service", "postern-agent.service"):
        machine.booted.wait_active(unit)
    machine.wait_session()
    assert machine.status()["installationId"] == board["installationId"]
    machine.message_arrives()


def test_an_upgrade_restarts_what_runs(machine):
    before = machine.run("systemctl", "show", "-P", "MainPID", *_units())
    machine.run("apt-get", "install", "-y", "-q", "--reinstall", *machine.files)
    after = machine.run("systemctl", "show", "-P", "MainPID", *_units())
    assert not set(before.split()) & set(after.split()) and "0" not in after.split()
    machine.wait_session()
    machine.message_arrives()


def test_no_secret_stands_in_the_journal(machine):
    journal = machine.run("journalctl", "--no-pager", "-q")
    secrets = [machine.thermo, re.search(r"&c=([^&]+)", machine.url)[1],
               machine.run("cat", "/etc/postern/bus-password").strip()]
    assert [secret for secret in secrets if secret in journal] == []


def test_what_is_removed_stops(machine):
    machine.run("apt-get", "remove", "-y", "-q", *machine.names)
    assert not any(machine.booted.is_active(unit) for unit in _units())
    # The board's broker goes on as it was configured.
    machine.run("systemctl", "restart", "mosquitto.service")
    assert machine.publish("--unix", BUS).returncode == 0


def test_a_purge_gives_the_broker_back(machine):
    machine.run("apt-get", "purge", "-y", "-q", *machine.names)
    assert machine.booted.is_active("mosquitto.service")
    assert machine.publish("-h", "127.0.0.1", login="").returncode == 0
    assert machine.run("systemctl", "--failed", "--quiet", "--no-legend") == ""


def _units() -> list[str]:
    return ["postern-agent.service", "postern-authority.service"]


def _ended(process) -> bool:
    try:
        process.wait(0.5)
        return True
    except subprocess.TimeoutExpired:
        return False
