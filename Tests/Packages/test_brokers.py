"""The brokers of newer releases of Debian, mosquitto 2.0.21 and 2.1, with the configuration that
we ship for the demo's board and for a broker of the person's own. The board's own broker and the
authority's go through `test_first_five_minutes.py`."""

import re
import shutil
import subprocess

import pytest

from booted_system import BootedSystem, may_boot
from clean_system import NEXT, ROOT, CleanSystem
from conftest import in_releases

SHIPPED = ROOT / "Provisioning/broker"
ADMINISTRATOR = "broker-administrator"
AUTHORITY = "words-of-the-authority"
# The broker's host name in the commands of Provisioning/broker/README.md.
HOST = "broker.example"
OUTBOX = "postern/v1/any/outbox"


@pytest.fixture(scope="module", params=in_releases("trixie", NEXT))
def machine(request, tmp_path_factory, packages):
    if not may_boot():
        pytest.skip("nobody may boot a system here: no broker was started")
    system = CleanSystem(tmp_path_factory.mktemp("broker") / "root", request.param)
    system.install("mosquitto-clients", "openssl", "python3", *packages.values())
    for folder in ("Devices/simulated", "Provisioning/broker"):
        shutil.copytree(ROOT / folder, system.path(f"/postern/{folder}"))
    with system.path("/etc/hosts").open("a") as hosts:
        hosts.write(f"127.0.0.1 localhost {HOST}\n")
    booted = BootedSystem(system)
    yield booted
    booted.close()
    system.close()


def test_the_broker_is_the_one_of_the_release(machine):
    version = machine.attempt("mosquitto", "-h").stdout.split()[2]
    wanted = {"trixie": "2.0.2", NEXT: "2.1"}[machine.system.suite]
    assert version.startswith(wanted)


def test_the_demo_runs(machine):
    shown = machine.run("python3", "-B", "/postern/Devices/simulated/demo", "/usr/bin")
    assert "Done in" in shown


def test_a_broker_of_ones_own_starts_with_our_file(machine):
    """As Provisioning/broker/README.md says it, word for word."""
    machine.run("sh", "-ec", f"""
        cd /etc/mosquitto/certs
        openssl req -x509 -newkey ed25519 -nodes -days 2 -subj /CN={HOST} \\
            -addext subjectAltName=DNS:{HOST} -keyout broker.key -out broker.pem 2>/dev/null
        cp broker.pem ca.pem
        chown mosquitto broker.key
        rm -f /etc/mosquitto/conf.d/postern.conf
        # Debian's file has its own place for what is kept.
        sed '/^persistence/d' /postern/Provisioning/broker/mosquitto.conf \\
            > /etc/mosquitto/conf.d/ours.conf
        : > /var/log/mosquitto/mosquitto.log
        {commands(0).replace("json admin", f"json admin {ADMINISTRATOR}")}
    """)
    machine.wait_active("mosquitto.service")
    machine.run("sh", "-ec", f"""
        cd /etc/mosquitto/certs
        {commands(1).replace("-u admin", f"-u admin -P {ADMINISTRATOR}").replace(
            "createClient postern-authority", f"createClient postern-authority -p {AUTHORITY}")}
    """)
    said = machine.run("cat", "/var/log/mosquitto/mosquitto.log")
    assert re.findall(r"future version|deprecated", said, re.IGNORECASE) == []


def test_it_lets_nobody_in_without_a_login(machine):
    assert publish(machine, "x", "").returncode != 0
    assert publish(machine, "x", "-u postern-authority -P wrong").returncode != 0


def test_it_lets_a_client_do_what_its_role_says_and_no_more(machine):
    login = f"-u postern-authority -P {AUTHORITY}"
    allowed = publish(machine, "postern/v1/any/inbox", login)
    assert allowed.returncode == 0 and "Not authorized" not in allowed.stderr
    assert "Not authorized" in publish(machine, OUTBOX, login).stderr


def commands(number: int) -> str:
    """A block of the page's commands."""
    blocks = re.findall(r"(?:^    .*\n)+", (SHIPPED / "README.md").read_text(), re.MULTILINE)
    return blocks[number]


def publish(machine, topic: str, login: str) -> subprocess.CompletedProcess:
    return machine.attempt(
        "sh", "-c", f"mosquitto_pub -V 5 -q 1 --cafile /etc/mosquitto/certs/ca.pem -h {HOST} "
        f"-p 8883 {login} -t '{topic}' -m x")
