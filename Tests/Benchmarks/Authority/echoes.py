"""The echo in C under the same load, on the authority's core."""

import json
import subprocess
from pathlib import Path

import cores
import processes
from loads import compiled

from house import House
from plan import Plan

_ROOT = "postern/v1-echo"
HERE = Path(__file__).resolve().parent


class Echoes:
    def __init__(self, folder: Path, house: House):
        self._house = house
        self._echo, self._ask = (
            compiled(folder / name, [str(HERE / f"{name}.c"), "-lmosquitto"])
            for name in ("echo", "ask"))

    def turn(self, sizes: dict, plan: Plan) -> dict:
        """One span of load beside the authority, which has nothing to do meanwhile but to
        drop what it cannot open: so another topic root is used."""
        house, root = self._house, _ROOT
        echo = subprocess.Popen(
            cores.first([str(self._echo), str(house.port), root,
                           str(round(sizes["reply_bytes"]))]),
            stdout=subprocess.PIPE, text=True)
        try:
            if echo.stdout.readline().strip() != "ready":
                raise RuntimeError("the echo did not connect")
            before, broker = processes.processor_seconds(echo.pid), house.broker_seconds()
            done = subprocess.run(
                cores.others([
                    str(self._ask), str(house.port), root, str(max(plan.boards, plan.in_flight)),
                    str(plan.in_flight), str(round(sizes["request_bytes"])),
                    str(plan.seconds)]),
                capture_output=True, text=True, timeout=plan.seconds + 60)
            if done.returncode != 0:
                raise RuntimeError(done.stderr.strip())
            said = json.loads(done.stdout)
            used = processes.processor_seconds(echo.pid) - before
            broker = house.broker_seconds() - broker
        finally:
            echo.kill()
            echo.wait()
            echo.stdout.close()
        each = 1e6 / max(1, said["count"])
        return {"rate": said["count"] / said["seconds"], "p50": said["p50_ms"],
                "p95": said["p95_ms"], "p99": said["p99_ms"], "echo_us": used * each,
                "broker_us": broker * each, "busy": used / said["seconds"]}
