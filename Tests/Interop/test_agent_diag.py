"""The real `postern-agent diag collect`: what is in its archive, and that no secret is."""

import base64
import json
import os
import secrets
import stat
import tarfile

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.broker import AccessFiles, Broker
from bench.program import run
from conftest import assert_nothing_leaked
from postern_contract import base64url

KEY = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
"""
APP = "of-thermo-hunter2"


def collect(bench, archive, *more, ok=(0, 3)) -> dict[str, bytes]:
    """The files of an archive by their names."""
    done = run(bench._argv("diag", "collect", "--output", archive, *more), timeout=60)
    bench.evidence.texts.append(("diag", (done.stdout + done.stderr).encode()))
    assert done.returncode in ok, done.stderr
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
        assert all(m.isfile() and not m.name.startswith(("/", ".")) for m in members)
        return {m.name: tar.extractfile(m).read() for m in members}


def forms(value: bytes) -> set[bytes]:
    """A value in all forms of writing."""
    texts = {base64url.encode(value), base64.b64encode(value).decode(), value.hex(),
             value.hex().upper()}
    texts |= {base64.b64encode(value).decode().rstrip("=")}
    return {value} | {t.encode() for t in texts} | {t.encode("utf-16-le") for t in texts}


def every_form(evidence) -> dict[str, set[bytes]]:
    """Of each secret that the tests know: as it is, and written anew."""
    found = {}
    for label, known in evidence.secrets.items():
        found[label] = set().union(*(forms(one) for one in known)) | known
    return found


def assert_clean(files: dict[str, bytes], every: dict[str, set[bytes]]) -> None:
    leaked = {
        f"{label} in {name}" for name, data in files.items()
        for label, written in every.items() if any(form in data for form in written)
    }
    assert leaked == set()


def plant(evidence, log) -> None:
    """A log in which somebody wrote every secret in every form."""
    lines = [b"info: ready", b"warning: upstream: TCP: Connection refused"]
    for written in every_form(evidence).values():
        for form in sorted(written):
            if b"\n" not in form:
                lines.append(b"debug: it said " + form + b" to me")
    lines += [b"thermo's password is " + APP.encode(), b'{"password":"' + APP.encode() + b'"}',
              b"mqtt://thermo:" + APP.encode() + b"@127.0.0.1:1883", KEY.encode()]
    log.write_bytes(b"\n".join(lines) + b"\n")


def test_archive_of_a_running_board_holds_no_secret(make_bench, tmp_path, evidence):
    password = tmp_path / "bus-password"
    secret = "a pass phrase of the bus"
    password.write_text(secret + "\n")
    os.chmod(password, 0o640)
    access = AccessFiles(tmp_path / "guarded")
    access.admit("agent", secret, ["readwrite #"])
    guarded = Broker("guarded", tmp_path / "guarded", *access.settings).start()
    bench = make_bench()
    try:
        agent = bench.config / "agent.toml"
        agent.write_text(agent.read_text().replace(
            f'uri = "mqtt://127.0.0.1:{bench.bus.port}"',
            f'uri = "mqtt://127.0.0.1:{guarded.port}"\nusername = "agent"\n'
            f'password_file = "{password}"', 1) + f"# thermo's password: {APP}\n")
        url = bench.pair()
        bench.start()
        board = bench.authority.claim(url)
        bench.authority.wait_live(board)
        bench.pair("--new")
        evidence.add_secret("the bus password", secret)
        evidence.add_secret("a key", KEY.splitlines()[1])
        evidence.add_secret("the storage key", (bench.folder / "state/storage.key").read_bytes())
        evidence.ours |= {password, bench.folder / "state/storage.key", agent}
        log = tmp_path / "some.log"
        plant(evidence, log)
        evidence.ours.add(log)
        # Nobody can know a person's word for a secret but by the name before it.
        evidence.add_secret("an app's password", APP)
        files = collect(bench, tmp_path / "running.tar", "--log", log)
        assert_clean(files, every_form(evidence))
        planted = next(data for name, data in files.items() if name.endswith("some.log"))
        assert b"Connection refused" in planted and b"info: ready" in planted
        assert b"[cut]" in planted and b"[cut]" in files["configuration/agent.toml"]
        assert b"known secret" in files["MANIFEST"]
        assert json.loads(files["status.json"])["state"] == "available"
        report = json.loads(files["doctor.json"])
        assert {"tcp", "session"} <= {check["id"] for check in report["checks"]}
        assert "limit" in json.loads(files["queue.json"])["queue"]
        assert json.loads(files["versions.json"])["kernel"].startswith("Linux")
        bench.agent.stop()
        bench.agent.start()
    finally:
        guarded.close()


def test_archive_of_a_board_that_is_down_or_broken(bench, tmp_path):
    bench.live()
    bench.agent.stop()
    files = collect(bench, tmp_path / "down.tar")
    assert json.loads(files["status.json"])["running"] is False
    assert_clean(files, every_form(bench.evidence))
    bench.evidence.ours.add(bench.config / "agent.toml")
    (bench.config / "agent.toml").write_text(f'nonsense = "x" # password {APP}\n')
    files = collect(bench, tmp_path / "broken.tar", ok=(3,))
    assert b"nonsense" in files["configuration/agent.toml"]
    assert b"nonsense" in files["doctor.txt"]
    assert APP.encode() not in b"".join(files.values())


def test_archive_is_never_written_over_another_file(bench, tmp_path):
    taken = tmp_path / "taken.tar"
    taken.write_text("mine")
    done = run(bench._argv("diag", "collect", "--output", taken))
    assert done.returncode == 2 and taken.read_text() == "mine"
    link = tmp_path / "link.tar"
    link.symlink_to(tmp_path / f"elsewhere-{secrets.token_hex(4)}")
    assert run(bench._argv("diag", "collect", "--output", link)).returncode == 2


def test_no_secret_was_told(evidence):
    assert_nothing_leaked(evidence)
