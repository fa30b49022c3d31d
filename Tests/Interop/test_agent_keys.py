"""What keeps the real agent's storage key: chosen at the first start, changed in mid-life."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_fixtures import make_bench  # noqa: F401, a fixture
from bench.chip import Chip
from bench.program import run
from bench.waiting import until
from conftest import assert_nothing_leaked

# An image that was never started has none: then a key file is bound to nothing, and says so.
HAS_ID = re.fullmatch(
    "[0-9a-f]{32}\n", Path("/etc/machine-id").read_text()
    if os.path.exists("/etc/machine-id") else "") is not None


@pytest.fixture
def chips(tmp_path):
    made = []

    def make(name: str = "chip") -> Chip:
        made.append(Chip(tmp_path / name).start())
        return made[-1]

    yield make
    for chip in made:
        chip.close()


def shown(bench) -> dict:
    return json.loads(bench.command("vault", "show", "--json"))


def rekey(bench, source: str) -> dict:
    return json.loads(bench.command("vault", "rekey", "--to", source, "--json"))


def slot(bench) -> str:
    return (bench.folder / "state" / "storage.key").read_text()


def assert_alone(bench) -> None:
    """Nothing of a change is left over."""
    names = sorted(path.name for path in (bench.folder / "state").glob("storage.key*"))
    assert names == ["storage.key"]
    assert (bench.folder / "state" / "storage.key").stat().st_mode & 0o777 == 0o600


def test_first_start_seals_to_the_chip_and_keeps_the_session_through_restarts(make_bench, chips):
    chip = chips()
    bench = make_bench(settings=f'[key]\ntpm = "{chip.transport}"\n')
    bench.live()
    assert "source = tpm2\n" in slot(bench)
    key = bench.status()["key"]
    assert key == {"source": "tpm2", "name": f"the TPM at {chip.transport}", "bound": True}
    session = bench.session_now["session"]["objectId"]
    bench.agent.stop()
    # A chip forgets nothing when its power goes.
    chip.close()
    chip.start()
    bench.start()
    assert bench.wait_session("available")["session"]["objectId"] == session


def test_rekey_keeps_the_session_while_the_agent_runs_and_while_it_does_not(make_bench, chips):
    chip = chips()
    bench = make_bench(settings=f'[key]\ntpm = "{chip.transport}"\n')
    bench.live()
    app = bench.app()
    session = bench.session_now["session"]["objectId"]
    for source, bound in (("file", HAS_ID), ("tpm2", True), ("file", HAS_ID)):
        before = slot(bench)
        assert rekey(bench, source)["source"] == source
        assert f"source = {source}\n" in slot(bench) and slot(bench) != before
        assert_alone(bench)
        assert bench.status()["key"]["bound"] is bound
        assert "seq" in app.write("Reading")
    assert shown(bench)["better"][0] == "tpm2"
    bench.agent.stop()
    # Without --to: what agent.toml names, which is the best that there is.
    assert json.loads(bench.command("vault", "rekey", "--json"))["source"] == "tpm2"
    bench.start()
    assert bench.wait_session("available")["session"]["objectId"] == session
    assert_alone(bench)


def test_a_copy_opens_on_no_other_chip(make_bench, chips):
    chip, other = chips(), chips("other")
    bench = make_bench(settings=f'[key]\ntpm = "{chip.transport}"\n')
    bench.pair()
    config = bench.config / "agent.toml"
    config.write_text(config.read_text().replace(chip.transport, other.transport))
    done = run(bench._argv("pair", "--json"))
    assert done.returncode == 78 and "another TPM" in done.stderr
    assert "ERROR" not in done.stderr
    # A chip that is silent may answer later: that is no wrong configuration.
    other.close()
    done = run(bench._argv("pair", "--json"))
    assert done.returncode == 1 and "no TPM answers" in done.stderr


def test_asked_for_by_name_a_source_must_be_there(make_bench):
    bench = make_bench(settings='[key]\nsource = "tpm2"\ntpm = "swtpm:host=127.0.0.1,port=1"\n')
    done = run(bench._argv("pair", "--json"))
    assert done.returncode == 78 and "no TPM answers" in done.stderr
    assert not (bench.folder / "state" / "storage.key").exists()


def test_credential_of_the_service_keeps_the_key(make_bench, tmp_path):
    folder = tmp_path / "credentials"
    folder.mkdir(mode=0o700)
    secret = os.urandom(32)
    (folder / "postern.storage-key").write_bytes(secret)
    os.chmod(folder / "postern.storage-key", 0o400)
    bench = make_bench(
        settings='[key]\ntpm = "swtpm:host=127.0.0.1,port=1"\n',
        agent_env={"CREDENTIALS_DIRECTORY": str(folder)})
    # First the service: a person's shell, in which `pair` runs, is handed no credential.
    bench.start()
    board = bench.authority.claim(bench.pair())
    bench.authority.wait_live(board)
    bench.wait_session("available")
    until(lambda: bench.is_settled(board.iid), "the agent to come with its new password", 60)
    assert bench.status()["key"]["source"] == "credential"
    # A person's shell has no credential, but the agent that runs has.
    assert shown(bench)["source"] == "credential"
    bench.agent.stop()
    done = run(bench._argv("status", "--json"))
    assert done.returncode == 1 and "systemd passes it to the running service only" in done.stderr
    bench.start()
    bench.wait_session("available")


def test_card_with_a_key_file_opens_on_another_machine_only_with_this_ones_id(
        make_bench, tmp_path):
    if not HAS_ID or not may_unshare():
        pytest.skip("a file of the system cannot be hidden here")
    bench = make_bench(settings='[key]\nsource = "file"\n')
    bench.pair()
    assert bench.status()["key"]["bound"] is True
    other = tmp_path / "machine-id"
    other.write_text("0123456789abcdef0123456789abcdef\n")
    argv = [str(part) for part in bench._argv("pair", "--json")]
    elsewhere = ["unshare", "-m", "sh", "-c",
                 'mount --bind "$0" /etc/machine-id && exec "$@"', str(other), *argv]
    done = run(elsewhere)
    assert done.returncode == 78 and "another machine's id" in done.stderr
    assert run(argv).returncode == 0


def may_unshare() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(
        ["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode == 0


def test_nothing_leaked(evidence):
    assert_nothing_leaked(evidence)
