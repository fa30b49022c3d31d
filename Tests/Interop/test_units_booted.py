"""The units as they are shipped, under a real systemd: a board is paired inside the sandbox."""

import shutil
from pathlib import Path

import pytest

from bench.booted import BootedMachine

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
AGENT = ROOT / "Devices" / "linux-generic" / "postern-agent.service"
AUTHORITY = ROOT / "Provisioning" / "postern-authority.service"
JOURNEY = Path(__file__).with_name("bench") / "units_journey.sh"

# Only where the program lies, and a watchdog and restarts that a test can wait for.
_CHANGE = """\
[Service]
ExecStart=
ExecStart=/postern/bin/{} {}
WatchdogSec=8
RestartSec=200ms
"""

_CONFIGURATION = {
    "agent.toml": 'name = "booted"\n[uplink]\nuri = "mqtt://127.0.0.1:1884"\n',
    "authority.toml": (
        '[http]\nlisten = "127.0.0.1:8080"\npublic_url = "http://127.0.0.1:8080"\n'
        '[broker]\nlisten = "127.0.0.1:1884"\n'),
}


@pytest.fixture(scope="module")
def facts(programs, tmp_path_factory) -> dict[str, str]:
    machine = BootedMachine()
    etc = tmp_path_factory.mktemp("etc")
    for name, text in _CONFIGURATION.items():
        (etc / name).write_text(text)
    machine.show(etc, "/postern/etc")
    machine.show(programs, "/postern/bin")
    # Programs that are not linked statically have Swift's libraries where its compiler is.
    swift = shutil.which("swift")
    folder = Path(swift).resolve().parents[2] if swift else Path("/")
    if folder != Path("/"):
        machine.show(folder)
    for unit, verb in ((AGENT, "run"), (AUTHORITY, "serve")):
        machine.show(unit, f"/etc/systemd/system/{unit.name}")
        machine.file(f"/etc/systemd/system/{unit.name}.d/test.conf",
                     _CHANGE.format(unit.stem, verb))
    machine.file("/etc/sysusers.d/postern.conf",
                 "u postern -\nu postern-authority -\n")
    try:
        said = machine.run(JOURNEY.read_text(), 400)
    finally:
        machine.close()
    print(said)
    lines = [line.removeprefix("FACT ") for line in said.splitlines() if line.startswith("FACT ")]
    return dict(line.partition("=")[::2] for line in lines)


@pytest.mark.parametrize("name,value", [
    ("agent", "active"), ("authority", "active"),
    # A credential that is not there is nothing that keeps from starting.
    ("credentials", ""),
    ("user", "postern"), ("state_mode", "700"), ("seccomp", "2"),
    ("capabilities", "0000000000000000"),
    ("paired", "0"), ("forwarded", "0"), ("idle", "0 0"),
    ("agent_restarted", "0"), ("authority_restarted", "0"), ("watchdogs", "2"),
    ("still_paired", "0"), ("after_crashes", "0"), ("stopped", "success"),
    # Bad configuration ends with 78, and is not tried again.
    ("refused", "78 0"), ("refused_state", "failed"),
    ("with_credential", "active"), ("credential", "postern.storage-key"),
    ("with_master_key", "active"), ("by_hand", "1"), ("by_unit", "1"),
])
def test_systemd_says(facts, name, value):
    assert facts.get(name) == value, facts


def test_status_lines(facts):
    assert facts["status"].startswith("session available;"), facts
    assert facts["status"].endswith("; 0 waiting; uplink connected")
    assert facts["authority_status"] == "1 of 1 boards up; 1 sessions; broker connected"
