"""A mosquitto that lets anybody in, and an authority on one core."""

import json
import os
import secrets
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import processes
from bench.broker import Broker
from bench.program import Program, accepts, free_port, run

from plan import Plan

ADMIN = "ada"
ROOT = "postern/v1"


class House:
    """Broker and authority run when it is made, and an administrator is logged in."""

    def __init__(self, folder: Path, programs: Path, plan: Plan):
        self._folder = folder
        self._programs = programs
        self._plan = plan
        config, state = folder / "etc", folder / "state"
        for made in (folder, config, state):
            made.mkdir(mode=0o700)
        self.database = state / "authority.db"
        self._http = free_port()
        # Of all that is logged, nothing for each message.
        self._broker = Broker(
            "broker", folder, "allow_anonymous true", "log_type error",
            "max_inflight_messages 1024", "set_tcp_nodelay true")
        self._broker.program.argv = self.elsewhere(self._broker.program.argv)
        self._broker.start()
        _write(config / "authority.toml", (
            f'name = "Benchmark"\nstate_dir = "{state}"\n'
            f'[http]\nlisten = "127.0.0.1:{self._http}"\npublic_url = "{self._url}"\n'
            f'[broker]\nmode = "external"\nuri = "{self._uri}"\naccess = "none"\n'))
        self._password = folder / "password"
        _write(self._password, secrets.token_urlsafe(24))
        self._command = [str(programs / "postern-authority"), "--config-dir", str(config)]
        self._cli = [str(programs / "postern"), "--profile-dir", str(folder / "profile"),
                     "--authority", self._url]
        self._authority = Program(
            "authority", self.on_core([*self._command, "serve"]), folder)
        try:
            _must([*self._command, "init", "--admin", ADMIN, "--password-file",
                   str(self._password)])
            self.start()
            _must([*self._cli, "login", "--username", ADMIN, "--password-file",
                   str(self._password)])
        except BaseException:
            self.close()
            raise

    @property
    def port(self) -> int:
        return self._broker.port

    @property
    def _url(self) -> str:
        return f"http://127.0.0.1:{self._http}"

    @property
    def _uri(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._authority.start().wait_ready(lambda: accepts(self._http), "to listen", 60)
        # What it tells the broker at its start is not part of any load.
        processes.wait_quiet([self._authority.pid], 120)

    def stop(self) -> None:
        assert self._authority.stop(30) == 0, "the authority did not end well"

    def close(self) -> None:
        self._authority.close()
        self._broker.close()

    def memory(self) -> dict:
        return processes.memory(self._authority.pid) | {
            "database": sum(path.stat().st_size for path in
                            self.database.parent.glob("authority.db*")) / 1e6}

    def used(self) -> dict[str, float]:
        """Seconds of a processor, so far."""
        return {name: processes.processor_seconds(program.pid) for name, program in (
            ("authority", self._authority), ("broker", self._broker.program))}

    def broker_seconds(self) -> float:
        return processes.processor_seconds(self._broker.program.pid)

    @staticmethod
    def on_core(argv: list[str]) -> list[str]:
        """The first core that we may use: the authority's, or the echo's in its turn."""
        return _pinned(argv, lambda cores: cores[:1])

    @staticmethod
    def elsewhere(argv: list[str]) -> list[str]:
        return _pinned(argv, lambda cores: cores[1:])

    @contextmanager
    def fleet(self, boards: int):
        """So many boards, each with its session; see `Fleet`."""
        plan = self._plan
        argv = self.elsewhere([
            *self._cli, "simulate", "--boards", str(boards), "--broker", self._uri,
            "--in-flight", str(plan.in_flight), "--duration", f"{plan.seconds}s", "--step",
            "--lifetime", "1d", "--json",
            *(word for _ in range(100) for mix in ("heartbeat", "refresh")
              for word in ("--mix", mix))])
        with (self._folder / "simulate.err").open("wb") as words:
            process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=words, text=True)
            try:
                yield Fleet(self, process, boards, self._folder / "simulate.err")
            finally:
                process.stdin.close()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                process.stdout.close()


class Fleet:
    """A running `postern simulate`; made when every board holds its session."""

    def __init__(self, house: House, process: subprocess.Popen, boards: int, words: Path):
        self._house = house
        self._process = process
        self._next = "heartbeat"
        begin = time.monotonic()
        end = begin + 60 + boards / 10
        done = f"✓ {boards} boards hold their sessions"
        while done not in words.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the boards did not all get a session")
            time.sleep(0.1)
        self.seconds = time.monotonic() - begin

    def load(self, mix: str) -> dict:
        """One span of load; its figures with the processor's time for each request."""
        while self._next != mix:
            self._step()
        before, maker = self._house.used(), processes.processor_seconds(self._process.pid)
        said = self._step()
        after = self._house.used()
        kind = said["heartbeats" if mix == "heartbeat" else "refreshes"]
        if said["errors"]:
            raise RuntimeError(f"{mix}: {said['errors']}")
        each = 1e6 / max(1, kind["count"])
        maker = processes.processor_seconds(self._process.pid) - maker
        return {
            "mix": mix, "rate": kind["perSecond"], "p50": kind["p50Ms"], "p95": kind["p95Ms"],
            "p99": kind["p99Ms"], "count": kind["count"], "repeated": said["repeated"],
            "request_bytes": said["requestBytes"], "reply_bytes": said["replyBytes"],
            "busy": (after["authority"] - before["authority"]) / max(said["seconds"], 1e-9),
            "maker_us": maker * each,
        } | {f"{name}_us": (after[name] - before[name]) * each for name in after}

    def _step(self) -> dict:
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("postern simulate ended")
        self._next = "refresh" if self._next == "heartbeat" else "heartbeat"
        return json.loads(line)


def _pinned(argv: list[str], choose) -> list[str]:
    cores = choose(sorted(os.sched_getaffinity(0)))
    taskset = shutil.which("taskset")
    if not cores or not taskset:
        return argv
    return [taskset, "-c", ",".join(map(str, cores)), *argv]


def _write(path: Path, text: str) -> None:
    path.touch(0o600)
    path.write_text(text)


def _must(argv: list[str]) -> None:
    done = run(argv, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"{argv[1:4]}: {done.stderr.strip()}")
