"""A prepared claim at the real `postern-agent`: the file, the join request, the session."""

import hashlib
import json
import os
import shutil
import subprocess
import time

import pytest

from agent_fixtures import bench, make_bench  # noqa: F401, fixtures
from bench.waiting import until
from conftest import assert_nothing_leaked
from postern_contract import topics
from postern_contract.base64url import decode, encode
from postern_contract.claim_url import ClaimURL
from prepared_claims import PreparedClaim

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def fingerprint(device_key: bytes) -> str:
    bits = int.from_bytes(hashlib.sha256(device_key).digest()[:8], "big") >> 4
    text = "".join(LETTERS[bits >> 5 * (11 - n) & 31] for n in range(12))
    return f"{text[:4]}-{text[4:8]}-{text[8:]}"


@pytest.fixture
def prepare(bench):
    made = []

    def new(**members) -> PreparedClaim:
        made.append(PreparedClaim(bench, **members))
        return made[-1]

    yield new
    for claim in made:
        claim.forget()


def test_a_board_asks_is_accepted_and_has_a_session(bench, prepare, evidence):
    claim = prepare()
    file = claim.write(bench.config / "claim")
    bench.start()
    request = claim.wait_request()
    assert not file.exists() and not (bench.folder / "state" / "claim").exists()
    assert request["type"] == "claim.join" and abs(request["iat"] - time.time()) < 60
    assert request["boardName"] == "interop bench"
    shown = fingerprint(decode(request["deviceKey"]))
    status = until(lambda: bench.status() if "asks" in bench.agent.log else None, "asking", 60)
    assert status["joining"] == {"authority": "Player", "expiresAt": claim.file["exp"],
                                 "fingerprint": shown, "state": "asked"}
    assert status["installationId"] == request["installationId"]
    assert status["claimFile"] is None and status["uplink"] == "asks to join Player"
    assert f"asks to join Player; fingerprint {shown}" in bench.command("status", ok=(4,))
    assert shown in bench.agent.log
    # What `pair` shows is the same claim.
    assert json.loads(bench.command("pair", "--json", secret_output=True))["fingerprint"] == shown
    assert ClaimURL.parse(bench.pair()).claim_secret == decode(request["claimSecret"])
    board = bench.authority.claim(claim.url(request))
    bench.authority.wait_live(board)
    bench.wait_session("available")
    until(lambda: bench.is_settled(board.iid), "the agent on its new password", 60)
    assert bench.status()["joining"] is None
    assert bench.app().write("Reading", b"1")["seq"] == 1
    bench.wait_data(board, b"1")
    # It asks no more, also after a restart.
    asked = len(claim.payloads)
    bench.agent.stop()
    since = len(bench.observer.heard)
    bench.start()
    bench.wait_status(board.iid, status="up", since=since)
    assert len(claim.payloads) == asked
    claim.forget()
    assert_nothing_leaked(evidence)


def test_the_login_has_no_will_and_hears_nothing(bench, prepare):
    claim = prepare()
    claim.write(bench.config / "claim")
    bench.start()
    claim.wait_request()
    said = bench.broker.program.log
    assert f"postern-{claim.id}" in said
    assert f"Received SUBSCRIBE from postern-{claim.id}" not in said
    assert topics.status(claim.id) not in said
    bench.agent.stop()
    assert [m.topic for m in bench.observer.heard if claim.id in m.topic] == [claim.topic]


def test_it_asks_again_after_a_restart_with_the_same_secret(bench, prepare):
    claim = prepare()
    claim.write(bench.config / "claim")
    bench.start()
    first = claim.wait_request()
    bench.agent.kill()
    asked = len(claim.payloads)
    bench.start()
    second = claim.wait_request(since=asked)
    assert first["id"] != second["id"]
    assert [second[k] for k in ("installationId", "deviceKey", "claimSecret")] == \
        [first[k] for k in ("installationId", "deviceKey", "claimSecret")]
    # A person who makes a new code replaces the secret, and the authority learns it.
    asked = len(claim.payloads)
    url = ClaimURL.parse(bench.pair("--new"))
    third = claim.wait_request(since=asked)
    assert decode(third["claimSecret"]) == url.claim_secret
    assert third["claimSecret"] != first["claimSecret"]


def test_a_file_that_came_back_after_a_power_cut_is_only_erased(bench, prepare):
    claim = prepare()
    claim.write(bench.config / "claim")
    bench.start()
    claim.wait_request()
    bench.agent.kill()
    file = claim.write(bench.folder / "state" / "claim")
    asked = len(claim.payloads)
    bench.start()
    assert not file.exists()
    claim.wait_request(since=asked)


def test_a_broker_that_lets_nobody_in_is_asked_again_and_again(bench, prepare):
    claim = prepare()
    claim.end()
    claim.write(bench.config / "claim")
    bench.start()
    until(lambda: "prepared claim has ended" in bench.agent.log, "the refusal in the log", 60)
    status = bench.status()
    assert status["joining"]["authority"] == "Player" and status["joining"]["state"] == "refused"
    assert "whose broker refuses its prepared claim" in bench.command("status", ok=(4,))
    claim.open()
    claim.wait_request()


def test_a_board_with_a_session_takes_no_file(bench, prepare):
    """It erases the one in its own folder, so that it does not take it after its session."""
    board = bench.live()
    claim = prepare()
    bench.agent.stop()
    inner = claim.write(bench.folder / "state" / "claim")
    since = len(bench.observer.heard)
    bench.start()
    assert "erased and not taken: this board has a session" in bench.agent.log
    assert not inner.exists()
    bench.wait_status(board.iid, status="up", since=since)
    file = claim.write(bench.config / "claim")
    status = bench.status()
    assert status["joining"] is None and status["claimFile"] == str(file)
    assert claim.payloads == []
    checks = json.loads(bench.command("doctor", "--json", ok=(0, 1, 3)))["checks"]
    check = next(c for c in checks if c["id"] == "claim-file")
    assert check["result"] == "warning" and str(file) in check["found"]
    assert "has a session" in check["next"]


@pytest.mark.parametrize("spoil, words", [
    (lambda c: c.file.update(secret="short"), "secret is malformed"),
    (lambda c: c.file.pop("sealKey"), "sealKey is missing"),
    (lambda c: c.file.update(pad="x" * 16384), "larger than 16384"),
    (lambda c: c.file.update(ca="none", caFingerprint="SHA256:" + "00" * 32), "ca is no certificate"),
])
def test_a_file_that_cannot_be_used_is_left_and_the_agent_starts(bench, prepare, spoil, words):
    claim = prepare()
    spoil(claim)
    file = claim.write(bench.folder / "state" / "claim")
    bench.start()
    assert words in bench.agent.log
    assert json.loads(file.read_text()) == claim.file
    assert bench.status()["joining"] is None and claim.payloads == []


def test_a_file_that_others_may_write_is_left(bench, prepare):
    claim = prepare()
    file = claim.write(bench.config / "claim", mode=0o664)
    bench.start()
    assert "too open" in bench.agent.log and file.exists()
    assert bench.status()["claimFile"] == str(file) and claim.payloads == []


def test_a_flipped_byte_makes_no_board_of_another(bench, prepare):
    """A secret with a flipped bit is well-formed: the broker refuses it."""
    claim = prepare()
    secret = bytearray(claim.secret)
    secret[7] ^= 1
    claim.file["secret"] = encode(bytes(secret))
    claim.write(bench.config / "claim")
    bench.start()
    until(lambda: "prepared claim has ended" in bench.agent.log, "the refusal in the log", 60)
    assert claim.payloads == []


def test_a_board_without_agent_toml_gets_it_from_the_file(bench, prepare):
    """The boot partition is a folder that is mounted there, in a namespace of the test's own."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root can mount a folder at /boot")
    claim = prepare()
    before = (bench.config / "agent.toml").read_text()
    (bench.config / "agent.toml").write_text(
        "\n".join(line for line in before.splitlines()
                  if not line.startswith(("name", "[uplink]")) and str(bench.port) not in line))
    boot = bench.folder / "boot"
    (boot / "firmware").mkdir(parents=True)
    file = claim.write(boot / "firmware" / "postern-claim", mode=0o755)
    script = 'mount --bind "$1" /boot && shift && exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", boot, *bench._argv("join"), "--json"],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["configured"] is True and said["fault"] is None and said["name"] == "barn-1"
    assert not file.exists()
    text = (bench.config / "agent.toml").read_text()
    assert 'name = "barn-1"' in text and f'uri = "mqtt://127.0.0.1:{bench.port}"' in text
    bench.start()
    assert claim.wait_request()["boardName"] == "barn-1"
    assert not (bench.folder / "state" / "claim").exists()


def test_a_file_that_cannot_be_erased_is_used_and_told_of(bench, prepare):
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root can mount a file read-only")
    claim = prepare()
    file = claim.write(bench.folder / "state" / "claim")
    script = ('mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"')
    bench.agent.argv = ["unshare", "-m", "sh", "-c", script, "sh", str(file),
                        *map(str, bench._argv("run"))]
    bench.start()
    claim.wait_request()
    assert "could not be erased" in bench.agent.log and file.exists()
    assert bench.status()["claimFile"] == str(file)
    assert "is still there" in bench.command("status", ok=(4,))
    # It is not taken twice.
    bench.agent.stop()
    bench.start()
    assert bench.agent.log.count("took the prepared claim") == 0


def test_idle_and_start_cost_nothing(bench):
    """Without a file the agent looks at three names, once."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: no system call was looked at")
    trace = bench.folder / "trace"
    bench.agent.argv = ["strace", "-f", "-qq", "-e", "trace=file", "-o", str(trace),
                        *map(str, bench.agent.argv)]
    bench.start()
    looks = [line for line in trace.read_text().splitlines() if "claim\"" in line]
    assert 3 <= len(looks) <= 5 and all("ENOENT" in line for line in looks), looks
