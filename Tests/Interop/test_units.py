"""The units as text: how exposed they are, what they let the programs do, how these end."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_fixtures import make_bench  # noqa: F401, fixture
from bench.program import run

ROOT = Path(__file__).resolve().parents[2]
UNITS = [ROOT / "Devices" / "linux-generic" / "postern-agent.service",
         ROOT / "Provisioning" / "postern-authority.service"]
AGENT = UNITS[0]
CLAIM = AGENT.with_name("postern-agent-claim.service")
PROOFS = [unit.with_name(f"{unit.stem}-prove{kind}")
          for unit in UNITS for kind in (".service", ".timer")]


def settings(unit: Path, name: str) -> list[str]:
    return [line.partition("=")[2] for line in unit.read_text().splitlines()
            if line.startswith(f"{name}=")]


def analyze(*arguments) -> subprocess.CompletedProcess:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed: the units were not looked at")
    return run([program, *arguments])


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_exposure_is_at_most_one(unit, record_property):
    done = analyze("security", "--offline=true", "--no-pager", "--threshold=10", unit)
    level = re.search(r"Overall exposure level for \S+ (\d+\.\d)", done.stdout)
    record_property(f"exposure of {unit.stem}", level and level[1])
    assert done.returncode == 0, done.stdout
    assert level and float(level[1]) <= 1.0


@pytest.mark.parametrize("unit", [*UNITS, CLAIM, *PROOFS], ids=lambda unit: unit.name)
def test_systemd_understands_every_line(unit, tmp_path):
    # The programs and their pages are not installed where a test runs.
    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text(), flags=re.M)
    text = re.sub(r"^Documentation=.*\n", "", text, flags=re.M)
    if unit.suffix == ".timer":
        # It is nothing without its service.
        (tmp_path / f"{unit.stem}.service").write_text("[Service]\nExecStart=/bin/true\n")
    copy = tmp_path / unit.name
    copy.write_text(text)
    done = analyze("verify", "--man=no", copy)
    # Of systemd 254, which an older one passes over.
    later = [line for line in done.stderr.splitlines()
             if re.search(r"Unknown key (?:name )?'(RestartSteps|RestartMaxDelaySec)'", line)]
    mine = [line for line in done.stderr.splitlines() if unit.stem in line and line not in later]
    assert done.returncode == 0 and not mine, done.stderr


def test_a_prepared_claim_is_handed_over_before_the_agent_starts():
    assert settings(CLAIM, "Before") == [AGENT.name]
    assert CLAIM.name in settings(AGENT, "Wants")[0] and CLAIM.name in settings(AGENT, "After")[0]
    done = analyze("security", "--offline=true", "--no-pager", "--threshold=30", CLAIM)
    assert done.returncode == 0, done.stdout


def test_the_agent_is_started_again_for_ever():
    assert settings(AGENT, "StartLimitIntervalSec") == ["0"]
    assert settings(AGENT, "RestartSteps") == ["8"]
    assert settings(AGENT, "RestartMaxDelaySec") == ["5min"]


def test_the_authority_ends_its_broker_itself():
    assert settings(UNITS[1], "KillMode") == ["mixed"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_the_watchdog_is_asked_for(unit):
    assert settings(unit, "Type") == ["notify"] and settings(unit, "WatchdogSec") == ["60"]
    assert settings(unit, "Restart") == ["on-failure"]
    assert settings(unit, "RestartPreventExitStatus") == ["2 77 78"]


def test_the_agent_ends_as_its_unit_says(make_bench):
    """With a status that a restart cannot mend, where it cannot; and with another where it can."""
    prevented = {int(s) for s in settings(AGENT, "RestartPreventExitStatus")[0].split()}
    bench = make_bench()
    config = bench.config / "agent.toml"
    whole = config.read_text()
    config.write_text(whole + "nonsense = 1\n")
    assert run(bench._argv("run")).returncode == 78
    config.write_text(whole)
    assert run(bench._argv("run", "--nonsense")).returncode == 2
    assert {2, 77, 78} <= prevented
    bench.start()
    # Another agent has the folder: that may pass.
    second = run([bench.binary, "--config-dir", bench.config, "run"])
    assert second.returncode not in prevented | {0}


def groups() -> dict[str, set[str]]:
    """What systemd counts to each group of system calls, groups within it resolved."""
    named: dict[str, list[str]] = {}
    for line in analyze("syscall-filter", "--no-pager").stdout.splitlines():
        text = re.sub(r"\x1b\[[0-9;]*m", "", line)
        if text.startswith("@"):
            name = text.split()[0]
            named[name] = []
        elif text.startswith("    ") and not text.strip().startswith("#") and named:
            named[name].append(text.split()[0])
        elif text.startswith("#"):
            break

    def all_of(name: str) -> set[str]:
        return set().union(*(
            all_of(m) if m.startswith("@") else {m} for m in named.get(name, ())))

    return {name: all_of(name) for name in named}


def allowed(unit: Path) -> set[str]:
    known, calls = groups(), set()
    for line in settings(unit, "SystemCallFilter"):
        members = set().union(*(known.get(m, {m}) for m in line.lstrip("~").split()))
        calls = calls - members if line.startswith("~") else calls | members
    # Those that a program cannot start without are always let pass.
    return calls | known["@default"] | {"execve"}


def test_the_sandbox_lets_the_agent_do_its_work(make_bench, tmp_path):
    """Every system call of a life, from the first start to the last goodbye, is allowed."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: no system call was looked at")
    bench = make_bench()
    trace = tmp_path / "trace"
    bench.agent.argv = ["strace", "-f", "-qq", "-o", str(trace), *bench.agent.argv]
    board = bench.live()
    app = bench.app()
    for n in range(20):
        app.write("Reading", b"%d" % n)
    app.write("_User")
    bench.wait_data(board, b"19")
    assert json.loads(bench.command("queue", "--json", "show", ok=(0, 2)) or "{}") is not None
    # strace hands on no signal: its child is told.
    children = Path(f"/proc/{bench.agent.pid}/task/{bench.agent.pid}/children").read_text()
    subprocess.run(["kill", "-TERM", *children.split()], check=True)
    bench.agent.process.wait(60)
    called = set(re.findall(r"^\d+ +([a-z0-9_]+)\(", trace.read_text(errors="replace"), re.M))
    assert {"poll", "fdatasync", "accept4", "connect"} <= called
    # SQLite gives a new file its database's owner, where it runs as root: the service does not.
    refused = called - allowed(AGENT) - ({"fchown"} if os.geteuid() == 0 else set())
    assert not refused, refused
