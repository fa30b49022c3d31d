"""The load on an authority: `postern simulate`, a span at a time."""

import json
import subprocess
import time

import processes

_MIXES = ("heartbeat", "refresh")
# Spans that one simulation has room for, of each mix.
_SPANS = 100


class Load:
    """A running `postern simulate`."""

    def __init__(self, house, boards: int, plan):
        self._house = house
        self._boards = boards
        self._next = 0
        self._words = house.folder / "simulate.err"
        argv = house.site.others([
            *house.cli, "simulate", "--boards", str(boards), "--broker", house.uri,
            "--in-flight", str(min(plan.in_flight, boards)), "--spread", "0s",
            "--duration", f"{plan.seconds}s", "--step", "--lifetime", "1d", "--json",
            *(word for _ in range(_SPANS) for mix in _MIXES for word in ("--mix", mix))])
        with self._words.open("wb") as words:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, text=True)

    def pair(self) -> None:
        """Returns when every board holds its session; `claims` has what that took."""
        begin, before = time.monotonic(), self._house.used()
        end = begin + 60 + self._boards / 10
        done = f"✓ {self._boards} of {self._boards} boards hold their sessions"
        while done not in self._words.read_text(errors="replace"):
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the boards did not all get a session: "
                                   + self._words.read_text(errors="replace")[-500:])
            time.sleep(0.02)
        seconds = time.monotonic() - begin
        self.claims = _costs(before, self._house.used(), self._boards) | {
            "count": self._boards, "rate": self._boards / seconds}

    def measure(self, mix: str) -> dict:
        """One span of load; its figures with the processor's time for each request."""
        while _MIXES[self._next] != mix:
            self._step()
        written, lost = self._house.written_bytes(), self._house.lost_races()
        before, maker = self._house.used(), self._own_seconds()
        said = self._step()
        after = self._house.used()
        written = self._house.written_bytes() - written
        lost = self._house.lost_races() - lost
        kind = said["heartbeats" if mix == "heartbeat" else "refreshes"]
        # That an authority on a part of a core puts some off is what it is to do.
        wrong = said["violations"] + [
            error for error in said["errors"]
            if error["layer"] != "claim" and "refused with 155" not in error["text"]]
        if wrong:
            raise RuntimeError(f"{mix}: {wrong}")
        count, seconds = max(1, kind["answered"]), max(said["seconds"], 1e-9)
        costs = _costs(before, after, count)
        busy = sum(after[name] - before[name] for name in ("authority", "postgres")
                   if name in after)
        return {
            "mix": mix, "rate": kind["perSecond"], "p50": kind["p50Ms"], "p90": kind["p90Ms"],
            "p99": kind["p99Ms"], "count": kind["answered"], "repeated": kind["repeated"],
            "request_bytes": said["requestBytes"], "reply_bytes": said["replyBytes"],
            "written_bytes": written / count, "lost_races": lost / count,
            "busy": busy / seconds,
            "maker_us": (self._own_seconds() - maker) * 1e6 / count,
        } | costs

    def close(self) -> None:
        if self._process.stdin.closed:
            return
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _own_seconds(self) -> float:
        return processes.processor_seconds(self._process.pid)

    def _step(self) -> dict:
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("postern simulate ended")
        self._next = (self._next + 1) % len(_MIXES)
        return json.loads(line)


def _costs(before: dict, after: dict, count: int) -> dict[str, float]:
    """Microseconds of a processor for each of `count`, by program."""
    return {f"{name}_us": (after[name] - before[name]) * 1e6 / count for name in after}
