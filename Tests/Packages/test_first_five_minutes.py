"""The README as it is written, from the packages to a first program, typed by a person with a
terminal on a machine that its own systemd has booted: the packages of a release, an authority with
TLS of its own, a board that is set up and paired, a message from a program on it. Then what comes
later: a reboot, an upgrade, the end. Each release of Debian goes through all of it, and so do the
mosquitto of each and the configuration that we ship and make for it. The tests are steps, in this
order."""

import json
import re
import shutil
import subprocess

import pytest

from booted_system import BootedSystem, may_boot
from clean_system import ENVIRONMENT
from readme import commands
from terminal import typed

# What the machine has before: who may administer it, and what the program on it sends with.
THERE = ["sudo", "mosquitto-clients"]
UNITS = ["postern-agent.service", "postern-authority.service"]
HOST = "home.local"
PASSWORD = "words of sixteen signs"
BUS = "/run/postern-bus/bus.sock"
READING = {"celsius": 21.5}
# What mosquitto 2.0.21 and 2.1 say of a file or an option that a later version refuses.
REFUSED_LATER = re.compile(r"future version|deprecated", re.IGNORECASE)
CLAIM = re.compile(r"https://\S+/claim#v=1&i=\S+")


class Machine:
    """The machine, ada who sits at it, and what she has seen so far."""

    def __init__(self, system, packages, dist):
        self.system = system
        self.names = list(packages)
        self.source = commands("A source of apt", "Devices/release/README.md")[0]
        self.install = commands("Install")[-1]
        self.authority, self.board, self.pairing = commands("Five minutes to a paired board")
        self.program = commands("Your first program")[0]
        self.fingerprint = self.url = self.thermo = ""
        system.install(*THERE)
        system.run("useradd", "--create-home", "--home-dir", "/srv/ada",
                   "--shell", "/bin/bash", "ada")
        system.path("/etc/sudoers.d/ada").write_text("ada ALL=(ALL) NOPASSWD: ALL\n")
        with system.path("/etc/hosts").open("a") as hosts:
            hosts.write(f"127.0.0.1 localhost {HOST}\n")
        shutil.copytree(dist, system.path("/srv/ada/dist"))
        # The booted machine has no network but its own: what it will need is fetched before.
        system.run("apt-get", "install", "-y", "-q", "--download-only",
                   *(f"/srv/ada/dist/{path.name}" for path in packages.values()))
        self.booted = BootedSystem(system)

    def run(self, *argv, text: str | None = None) -> str:
        return self.booted.run(*argv, text=text)

    def types(self, line: str, leave: str = "", **answers: str) -> str:
        """Ada types a line at her terminal, in her home; what stood on the screen then."""
        command = self.booted.command("runuser", "-u", "ada", "--", "bash", "-c", f"cd; {line}")
        return typed(command, answers | {"[Y/n]": "y"}, ENVIRONMENT | {
            "HOME": "/srv/ada", "USER": "ada", "TERM": "xterm"}, leave)

    def failed(self) -> list[str]:
        """The units that have failed, but for one that wants udev, which no container has."""
        shown = self.run("systemctl", "--failed", "--quiet", "--no-legend", "--plain")
        names = [line.split()[0] for line in shown.splitlines()]
        return [name for name in names if not name.startswith("tpm-udev.")]

    def reboot(self) -> None:
        self.booted.close()
        self.booted = BootedSystem(self.system)

    def status(self) -> dict:
        return json.loads(self.booted.attempt("postern-agent", "status", "--json").stdout or "{}")

    def session(self) -> str:
        return self.status().get("state", "")

    def wait_session(self) -> None:
        self.booted.wait(lambda: self.session() == "available", "a session", 60)

    def publish(self, *where: str, user: str = "thermo", login: str | None = None,
                app: str = "thermo"):
        """As a program on the board does it; its password is in a file of its own."""
        login = f"-u thermo\n-P {self.thermo}\n" if login is None else login
        self.run("sh", "-c", f"install -D -m 600 -o {user} /dev/stdin /run/{user}/mosquitto_pub",
                 text=login)
        return self.booted.attempt(
            "runuser", "-u", user, "--", "env", f"XDG_CONFIG_HOME=/run/{user}",
            "mosquitto_pub", "-V", "5", "-q", "1", *where,
            "-t", f"postern/app/{app}/create/Reading", "-m", json.dumps(READING))

    def message_arrives(self) -> None:
        """`postern watch` shows the message that a program sends by the Unix socket."""
        watch = self.booted.start("runuser", "-u", "ada", "--", "env", "HOME=/srv/ada",
                                  "postern", "watch", "--json", "--count", "1")
        try:
            # Until it has subscribed nothing is kept for it, so the program says it again.
            for _ in range(60):
                assert self.publish("--unix", BUS).returncode == 0
                if _ended(watch):
                    break
            watch.kill()
            said, words = watch.communicate(timeout=60)
        finally:
            watch.kill()
            watch.wait()
        assert said, words
        assert json.loads(json.loads(said.splitlines()[0])["payload"]) == READING


@pytest.fixture(scope="module")
def machine(guest, packages, dist) -> Machine:
    if not may_boot():
        pytest.skip("nobody may boot a system here: the five minutes were not gone through")
    made = Machine(guest, packages, dist)
    yield made
    made.booted.close()


def test_the_release_is_a_source_of_apt(machine):
    for line in machine.source:
        machine.types(line)


def test_the_packages_install_from_the_folder(machine):
    for line in machine.install:
        machine.types(line)
    for unit in UNITS:
        # It has no configuration yet, so it does not start, and has not failed.
        assert not machine.booted.is_active(unit)
    assert machine.failed() == []


def test_an_authority_begins_with_tls_of_its_own(machine):
    for line in machine.authority:
        shown = machine.types(line, **{"Password:": PASSWORD, "Again:": PASSWORD})
        found = re.search(r"^(SHA256:)?(?:[0-9A-Fa-f]{2}:?){32}$", shown, re.MULTILINE)
        machine.fingerprint = found[0] if found else machine.fingerprint
    assert machine.fingerprint
    machine.booted.wait_active("postern-authority.service")
    assert machine.booted.is_active("mosquitto.service")


def test_a_board_is_set_up(machine):
    for line in machine.board:
        # The code serves after ^C, too: the next step types its URL.
        shown = machine.types(line, "waiting for a person who claims this board; ^C ends it", **{
            "What is this board called?": "shed",
            "Where is the broker": f"{HOST}:8883",
            "Where is the authority's page?": "",
            "The CA's fingerprint": machine.fingerprint,
            "routes at the authority": ""})
        found = CLAIM.search(shown)
        machine.url = found[0] if found else machine.url
    assert machine.url.startswith(f"https://{HOST}:8443/claim#")
    machine.booted.wait_active("postern-agent.service")
    assert machine.session() == "unavailable"


def test_it_pairs(machine):
    for line in machine.pairing:
        whole = line.replace("FINGERPRINT", machine.fingerprint)
        machine.types(re.sub(r"'https://\S+/claim\S+'", f"'{machine.url}'", whole),
                      **{"Password of ada:": PASSWORD})
    machine.wait_session()
    assert machine.failed() == []


def test_a_first_program_gets_its_login_and_its_answer(machine):
    shown = "".join(machine.types(line) for line in machine.program)
    assert "1" in shown.split()
    assert machine.system.mode("/etc/postern/apps/thermo.password") == "0400 ada:root"
    login = machine.system.read("/etc/postern/apps/thermo.password")
    machine.thermo = re.fullmatch(r"([A-Za-z0-9+/]{32})\n", login)[1]
    machine.run("useradd", "--system", "--groups", "postern-apps", "thermo")
    for where in (["--unix", BUS], ["-h", "127.0.0.1"]):
        assert machine.publish(*where).returncode == 0
        for wrong in ("", "-u thermo\n-P wrong\n"):
            assert machine.publish(*where, login=wrong).returncode != 0
    # The socket is for the group alone, whatever the login.
    assert machine.publish("--unix", BUS, user="nobody").returncode != 0


def test_a_program_speaks_under_its_own_name_only(machine):
    assert "Not authorized" not in machine.publish("--unix", BUS).stderr
    assert "Not authorized" in machine.publish("--unix", BUS, app="pump").stderr


def test_the_authoritys_broker_lets_nobody_in_without_a_login(machine):
    tls = ["-h", HOST, "-p", "8883", "--cafile", "/etc/postern/uplink-ca.pem"]
    for where in (["--unix", "/var/lib/postern-authority/broker/authority.sock"], tls):
        sent = machine.booted.attempt("mosquitto_pub", "-V", "5", *where, "-t", "x", "-m", "x")
        assert "Not authorized" in sent.stderr


def test_no_broker_warns_of_a_later_version(machine):
    bus = machine.run("cat", "/var/log/mosquitto/mosquitto.log")
    assert "running" in bus and REFUSED_LATER.findall(bus) == []
    # The authority's broker says at its start whatever it has to say.
    machine.run("systemctl", "stop", "postern-authority.service")
    started = machine.booted.attempt(
        "runuser", "-u", "postern-authority", "--", "timeout", "5", "mosquitto", "-v", "-c",
        "/var/lib/postern-authority/broker/mosquitto.conf")
    machine.run("systemctl", "start", "postern-authority.service")
    machine.wait_session()
    said = started.stdout + started.stderr
    assert "running" in said and REFUSED_LATER.findall(said) == []


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
    before = machine.run("systemctl", "show", "-P", "MainPID", *UNITS)
    machine.run("apt-get", "install", "-y", "-q", "--reinstall", *machine.names)
    after = machine.run("systemctl", "show", "-P", "MainPID", *UNITS)
    assert not set(before.split()) & set(after.split()) and "0" not in after.split()
    machine.wait_session()
    machine.message_arrives()


def test_no_secret_stands_in_the_journal(machine):
    journal = machine.run("journalctl", "--no-pager", "-q")
    secrets = [PASSWORD, machine.thermo, re.search(r"&c=([^&]+)", machine.url)[1],
               machine.run("cat", "/etc/postern/bus-password").strip()]
    assert [secret for secret in secrets if secret in journal] == []


def test_what_is_removed_stops(machine):
    machine.run("apt-get", "remove", "-y", "-q", *machine.names)
    assert not any(machine.booted.is_active(unit) for unit in UNITS)
    # The board's broker goes on as it was configured.
    machine.run("systemctl", "restart", "mosquitto.service")
    assert machine.publish("--unix", BUS).returncode == 0


def test_a_purge_gives_the_broker_back(machine):
    machine.run("apt-get", "purge", "-y", "-q", *machine.names)
    machine.booted.wait_active("mosquitto.service")
    assert machine.publish("-h", "127.0.0.1", login="").returncode == 0
    assert machine.failed() == []


def _ended(process) -> bool:
    try:
        process.wait(0.5)
        return True
    except subprocess.TimeoutExpired:
        return False
