"""Runs the load, a small C program that is compiled for the run."""

import json
import secrets
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path


class Broken(Exception):
    """The benchmark itself did not work."""


def compiled(target: Path, options: list[str], *sources: str) -> Path:
    """Builds the sources, which stand beside this file, into `target`."""
    here = Path(__file__).resolve().parent
    compiler = shutil.which("cc") or shutil.which("clang")
    if not compiler:
        raise Broken("there is no C compiler")
    done = subprocess.run(
        [compiler, "-O2", *options, "-o", target, *(here / name for name in sources)],
        capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"{target.name} does not compile:\n{done.stderr}")
    return target


class Load:
    """The compiled program; each call is one run of it."""

    def __init__(self, folder: Path):
        self.program = compiled(folder / "load", [], "load.c", "mqtt.c")

    def flow(self, peer, **limits) -> dict:
        """Publishes and counts; the arrival of all is checked by the program."""
        said = self._run(["flow", *_route(peer), *_limits(limits)], limits)
        if said["disordered"] and peer.is_ordered:
            raise Broken(f"{peer.name}: {said['disordered']} out of order")
        return said

    def starts(self, peer, command: list[str], count: int) -> list[float]:
        """Milliseconds from exec until the session is on the bus, of each of `count` starts."""
        argv = ["start", "--publish", peer.address, "--topic", "postern/session",
                *_limits({"count": count}), "--", *command]
        return self._run(argv, {})["milliseconds"]

    @contextmanager
    def backlog(self, peer, **limits):
        """A run in three parts: subscribed; then `fill`; then `drain`."""
        argv = [self.program, "backlog", *_route(peer), *_limits(limits)]
        if peer.answers:
            argv += ["--answers", peer.answers]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        try:
            backlog = Backlog(peer, process)
            backlog.told()
            yield backlog
        finally:
            process.kill()
            process.communicate()

    def _run(self, argv: list[str], limits: dict) -> dict:
        done = subprocess.run([self.program, *argv], capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise Broken(f"{done.stderr.strip()} ({argv[0]} {limits})")
        return json.loads(done.stdout)


class Backlog:
    def __init__(self, peer, process: subprocess.Popen):
        self._peer = peer
        self._process = process

    def told(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            raise Broken(f"{self._peer.name}: {self._process.stderr.read().strip()}")
        return json.loads(line)

    def fill(self) -> dict:
        """Returns when all was taken: answered where answers are asked for."""
        self._go_on()
        return self.told()

    def drain(self, resume) -> dict:
        """Calls `resume` and returns when all has arrived."""
        self._go_on()
        resume()
        return self.told()

    def _go_on(self) -> None:
        self._process.stdin.write("\n")
        self._process.stdin.flush()


def _route(peer) -> list[str]:
    return ["--publish", peer.address, "--consume", peer.upstream, "--topic", peer.topic,
            "--filter", peer.filter, "--run", str(secrets.randbelow(1 << 32))]


def _limits(limits: dict) -> list[str]:
    return [text for name, value in limits.items() for text in (f"--{name}", str(value))]
