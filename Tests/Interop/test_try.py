"""`make try`: twice at a time, with the commands that it prints, and nothing left at its end."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import pytest

from bench.program import Program, run
from bench.waiting import until

SCRIPT = Path(__file__).resolve().parents[2] / "Devices/simulated/demo/tryout.py"
FRIGHTENING = re.compile(r"warn|error|fail|insecure|refused:|✗|traceback", re.I)


@pytest.fixture
def tmp_path():
    """A short path, because the agent's socket is in it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def start(programs: Path, folder: Path, name: str, *options: str) -> Program:
    (folder / name).mkdir()
    argv = [sys.executable, SCRIPT, *options, programs]
    return Program("try", argv, folder / name, {"TMPDIR": str(folder / name)}).start()


def ready(trial: Program) -> str:
    """Its output, once everything runs."""
    until(lambda: "It ends with" in trial.out.read_text() or not trial.is_running,
          "everything to run", 120)
    assert trial.is_running, trial.out.read_text() + trial.log
    return trial.out.read_text()


def processes(folder: Path) -> list[str]:
    """Those that still name the folder."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path(f"/proc/{name}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in text:
            found.append(text)
    return found


def finished(trial: Program, folder: Path) -> None:
    until(lambda: not trial.is_running, "it to end", 60)
    said = trial.out.read_text()
    assert trial.process.returncode == 0, said + trial.log
    assert said.endswith("✓  all programs have ended, and the folder is removed\n")
    assert not FRIGHTENING.search(said), said
    assert trial.log == ""
    assert list(folder.glob("postern-try-*")) == [] and processes(folder) == []


def test_two_at_a_time_show_what_they_print(programs, tmp_path):
    one, other = (start(programs, tmp_path, name, "--seconds", "600")
                  for name in ("one", "other"))
    try:
        said, elsewhere = ready(one), ready(other)
        folder = Path(re.search(r"^cd (.*)$", said, re.M)[1])
        assert folder.parent == tmp_path / "one" and str(folder) not in elsewhere
        assert said.count("✓") == 4
        look_around(folder, said)
    finally:
        for trial in (one, other):
            os.kill(trial.pid, signal.SIGINT)
    finished(one, tmp_path / "one")
    finished(other, tmp_path / "other")


def look_around(folder: Path, said: str) -> None:
    for name in ("board/etc/agent.toml", "board/etc/policy.toml", "authority/etc/authority.toml",
                 "board/broker/mosquitto.conf"):
        text = (folder / name).read_text()
        assert "# " in text and "${" not in text.replace("${…}", ""), name
    refused = run([folder / "send", "create/Camera", "{}"])
    assert json.loads(refused.stdout)["rule"].startswith("policy.toml:")
    assert json.loads(run([folder / "send", "create/Reading", '{"celsius": 1}']).stdout)["seq"] > 0
    first = ". ./env && postern-agent-app send thermo create Reading '{\"celsius\": 2}'"
    assert run(["/bin/sh", "-c", f"cd '{folder}' && {first}"], timeout=60).returncode == 0
    assert run([folder / "postern", "watch", "--count", "1"], timeout=60).returncode == 0
    assert run([folder / "postern-agent", "doctor"], timeout=60).returncode == 0
    # The page is there, and takes the password that it shows.
    page = re.search(r"http://\S+", said)[0]
    assert "<html" in urllib.request.urlopen(page).read().decode()
    password = Path(re.search(r"the password is in (\S+)", said)[1]).read_text().strip()
    login = urllib.request.Request(
        f"{page}/parse/login", json.dumps({"username": "ada", "password": password}).encode(),
        {"X-Parse-Application-Id": "postern", "Content-Type": "application/json"})
    assert "sessionToken" in json.loads(urllib.request.urlopen(login).read())
    log = (folder / "board/postern-agent.log").read_text()
    assert "warning" not in log and "error" not in log, log


def test_ends_by_itself_after_its_time(programs, tmp_path):
    trial = start(programs, tmp_path, "timed", "--seconds", "1")
    ready(trial)
    finished(trial, tmp_path / "timed")


def test_failure_is_said_and_leaves_nothing(programs, tmp_path):
    built = tmp_path / "built"
    built.mkdir()
    for name in ("postern", "postern-agent"):
        (built / name).symlink_to(programs / name)
    broken = built / "postern-authority"
    broken.write_text("#!/bin/sh\necho 'no disk' >&2; exit 1\n")
    broken.chmod(0o755)
    done = subprocess.run(
        [sys.executable, SCRIPT, "--seconds", "1", built], capture_output=True, text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)}, timeout=60)
    assert done.returncode == 1 and "ended with status 1" in done.stdout
    assert "no disk" in done.stdout and "Traceback" not in done.stderr
    assert list(tmp_path.glob("postern-try-*")) == []
