"""A full disk: the authority names it wherever somebody may look, and the agent answers on."""

import json
import os
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from agent_fixtures import make_bench  # noqa: F401, a fixture
from bench.authority_bench import AuthorityBench
from bench.program import run
from bench.waiting import until
from postern_contract import topics
from test_agent_keys import may_unshare

KIB = 12 * 1024


def fill(disk: Path) -> Path:
    path = disk / "filling"
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
    return path


class SmallDisk(AuthorityBench):
    """An authority whose state is on a small disk, in a mount namespace of its own."""

    def _write_config(self, settings: str, http: str) -> Path:
        config = super()._write_config(settings, http)
        with (config / "authority.toml").open("a") as file:
            file.write(f'[metrics]\nlisten = "unix:{self.folder}/metrics.sock"\n')
        state = self.folder / "state"
        self._keeper = subprocess.Popen(
            ["unshare", "-m", "sh", "-c",
             f'mount -t tmpfs -o size={KIB}k,mode=0700 none "{state}" && echo && exec cat'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._keeper.stdout.readline() == b"\n"
        return config

    def _authority(self, *arguments) -> list:
        return ["nsenter", "-t", self._keeper.pid, "-m", *super()._authority(*arguments)]

    @property
    def disk(self) -> Path:
        return Path(f"/proc/{self._keeper.pid}/root{self.folder}/state")

    def get(self, path: str) -> tuple[int, dict, dict]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}") as answer:
                return answer.status, json.load(answer), dict(answer.headers)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error), dict(error.headers)

    def close(self) -> None:
        super().close()
        self._keeper.stdin.close()
        self._keeper.wait(10)


@pytest.fixture(scope="module")
def small(tmp_path_factory, evidence, programs):
    if os.geteuid() != 0 or not may_unshare():
        pytest.skip("only root can mount a small disk")
    bench = SmallDisk(tmp_path_factory.mktemp("small"), evidence, programs)
    yield bench
    bench.close()


def test_a_full_disk_is_called_that(small):
    filling = fill(small.disk)

    def refusal() -> str:
        done = small.cli("users", "add", "bob", "--password-file", small.password_file)
        return done.stderr if done.returncode == 1 else ""

    words = until(lambda: "disk is full" in (words := refusal()) and words, "a refusal", 60)
    assert "the authority's disk is full" in words and "wait 10 s" in words
    status, health, headers = small.get("/postern/v1/health")
    assert (status, health) == (503, {"status": "store-full"})
    assert headers["Retry-After"] == "10"
    assert "disk full: SQLite 13" in small.server.log
    metrics = run(["curl", "-s", "--unix-socket", small.folder / "metrics.sock",
                   "http://localhost/metrics"]).stdout
    assert "postern_authority_disk_full 1\n" in metrics
    doctor = run(small._authority("doctor", "--json"))
    check = next(c for c in json.loads(doctor.stdout)["checks"] if c["id"] == "disk-space")
    assert check["result"] == "failed" and "is full" in check["found"], check

    filling.unlink()
    until(lambda: small.cli("users", "add", "bob", "--password-file",
                            small.password_file).returncode == 0, "room to be used again", 60)
    until(lambda: small.get("/postern/v1/health")[:2] == (200, {"status": "ok"}), "its health")


def test_a_wrong_topic_is_answered_while_writes_wait_for_the_disk(make_bench):
    if os.geteuid() != 0 or not may_unshare():
        pytest.skip("only root can mount a small disk")
    bench = make_bench()
    board = bench.live()
    app = bench.app()
    bench.agent.stop()
    state, kept = bench.folder / "state", bench.folder / "kept"
    state.rename(kept)
    state.mkdir()
    bench.agent.argv = [
        "unshare", "-m", "sh", "-c",
        f'mount -t tmpfs -o size=64m,mode=0700 none "{state}" && cp -a "{kept}/." "{state}" '
        '&& exec "$0" "$@"',
        *bench.agent.argv,
    ]
    bench.start()
    filling = fill(Path(f"/proc/{bench.agent.pid}/root{state}"))
    write = app.send(topics.app("thermo", "create", "Reading"), b"waits")
    until(lambda: bench.status()["queueFault"], "the write to wait", 60)
    wrong = [app.send(topics.app("thermo", "stray"), b"") for _ in range(50)]
    until(lambda: all(app.answer_to(one) for one in wrong), "an answer to each wrong topic", 60)
    assert {app.answer_to(one)["code"] for one in wrong} == {105}
    assert app.answer_to(write) is None and bench.status()["queueFault"]

    filling.unlink()
    until(lambda: app.answer_to(write), "the write to be stored", 60)
    bench.wait_data(board, b"waits")
