"""Flashes cards with prepared claims, and starts a board from each in its own network namespace.

    python3 Devices/simulated/demo/cards.py [--cards N] [--auto-accept] BINARIES

It needs `unshare --net`: root, or user namespaces. Nothing is changed in the machine's own network:
the bridge is in a new namespace, too, and each namespace ends with its last process.
"""

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

import programs
from board import _mosquitto
from progress import say, step, tail
from programs import Program, StepFailed, write_private

_HOME, _BRIDGE = "10.77.0.1", "cards0"
# A bridge without a fixed one changes its hardware address when a port comes.
_HARDWARE = "02:00:00:00:00:01"
_LIMIT = 120

_AUTHORITY = """\
name = "Home"
state_dir = "{state}"
[http]
listen = "{home}:8443"
public_url = "https://{home}:8443"
[broker]
mode = "embedded"
listen = "{home}:8883"
[tls]
own = true
hosts = ["{home}"]
"""

# No name and no [uplink]: both come with the claim's file.
_AGENT = """\
state_dir = "{folder}/state"
run_dir = "{folder}/run"
[bus]
uri = "mqtt://127.0.0.1:1883"
"""

# No other program is in the board's namespace.
_BUS = "listener 1883 127.0.0.1\nallow_anonymous true\nlog_dest stderr\n{user}\n"


class Home:
    """The authority with its page and its broker, at the bridge's address."""

    def __init__(self, folder: Path, binaries: Path):
        self._folder, self._binaries = folder, binaries
        self._config, self._profile = folder / "etc", folder / "profile"
        for made in (folder, self._config, self._profile):
            made.mkdir(mode=0o700)
        write_private(self._config / "authority.toml",
                      _AUTHORITY.format(state=folder / "state", home=_HOME), 0o640)
        self._password = write_private(folder / "password", secrets.token_urlsafe(24) + "\n")
        self.server = Program("authority", self._authority("serve"), folder)

    def start(self) -> None:
        fingerprint = programs.run(
            self._authority("init", "--admin", "ada", "--password-file", self._password, "--tls"),
            self._folder / "init.log").strip()
        self.server.start().wait(lambda: "ready" in self.server.said, "it says ready", 60)
        self.command("login", "--username", "ada", "--password-file", self._password,
                     "--ca-fingerprint", fingerprint)

    def command(self, *arguments: object) -> str:
        """Runs a command of the person. Returns its stdout."""
        argv = [self._binaries / "postern", "--authority", f"https://{_HOME}:8443",
                "--profile-dir", self._profile, *arguments]
        return programs.run(argv, self._folder / "postern.log")

    def rows(self, *arguments: object) -> list[dict]:
        return json.loads(self.command(*arguments, "--json"))

    def _authority(self, *arguments: object) -> list:
        return [self._binaries / "postern-authority", "--config-dir", self._config, *arguments]


class Card:
    """A board that starts from a flashed card: its namespace, its bus and its agent."""

    def __init__(self, number: int, folder: Path, binaries: Path, claim: Path):
        self.name = claim.stem
        self._number, self._folder = number, folder
        self._config = folder / "etc"
        for made in (folder, self._config, folder / "run"):
            made.mkdir(mode=0o700)
        write_private(self._config / "agent.toml", _AGENT.format(folder=folder), 0o640)
        self.claim = self._config / "claim"
        shutil.copy(claim, self.claim)
        bus = write_private(folder / "mosquitto.conf", _BUS.format(
            user="user root" if os.geteuid() == 0 else ""))
        # The process of the bus is the first of the namespace.
        self._bus = Program(f"bus-{number}", [
            "unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", _mosquitto(),
            "-c", bus], folder)
        self._binary = binaries / "postern-agent"
        self.agent: Program | None = None

    def power_on(self) -> None:
        self._bus.start().wait(self._is_apart, "its namespace")
        self._plug()
        self._bus.wait(lambda: "running" in self._bus.said, "it runs")
        self.agent = Program(f"agent-{self._number}", self._inside(
            self._binary, "--config-dir", self._config, "run"), self._folder).start()

    def fingerprint(self) -> str | None:
        """What the board shows; None while it does not ask."""
        out = programs.run(
            self._inside(self._binary, "--config-dir", self._config, "status", "--json"),
            self._folder / "status.log", ok=(0, 1, 3, 4, 5))
        joining = json.loads(out or "{}").get("joining")
        return joining and joining["fingerprint"]

    def _is_apart(self) -> bool:
        return os.readlink(f"/proc/{self._bus.pid}/ns/net") != os.readlink("/proc/self/ns/net")

    def _plug(self) -> None:
        port = f"card{self._number}"
        address = f"10.77.0.{10 + self._number}/24"
        for argv in (
            ["ip", "link", "add", port, "type", "veth", "peer", "name", "eth0",
             "netns", self._bus.pid],
            ["ip", "link", "set", port, "master", _BRIDGE, "up"],
            self._inside("ip", "address", "add", address, "dev", "eth0"),
            self._inside("ip", "link", "set", "eth0", "up"),
        ):
            programs.run(argv, self._folder / "network.log")

    def _inside(self, *argv: object) -> list:
        return ["nsenter", f"--net=/proc/{self._bus.pid}/ns/net", *argv]


def main() -> int:
    order = _arguments()
    if not order.inside:
        return _enter()
    try:
        with programs.temporary_folder("postern-cards-") as folder:
            say(f"{order.cards} cards, in {folder}\n")
            try:
                seconds = _play(folder, order)
            except StepFailed as failure:
                say(f"\n✗  {failure}")
                for log in failure.logs:
                    tail(log)
                return 1
    except KeyboardInterrupt:
        say("\nstopped")
        return 130
    say(f"\n{order.cards} boards on the page, {seconds:.1f} s after their power came on; "
        "all programs have ended, and the folder is removed")
    return 0


def _enter() -> int:
    """Goes on in a new network namespace."""
    rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    unshare = ["unshare", *rights, "--net"]
    done = subprocess.run([*unshare, "true"], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        say(f"✗  no network namespace can be made here: {done.stderr.strip()}")
        return 77
    sys.stdout.flush()
    os.execvp(unshare[0], [*unshare, sys.executable, __file__, "--inside", *sys.argv[1:]])


def _play(folder: Path, order: argparse.Namespace) -> float:
    home = Home(folder / "home", order.binaries)
    with step(1, f"a bridge, and the authority at {_HOME}"):
        for argv in (["link", "set", "lo", "up"],
                     ["link", "add", _BRIDGE, "address", _HARDWARE, "type", "bridge"],
                     ["address", "add", f"{_HOME}/24", "dev", _BRIDGE],
                     ["link", "set", _BRIDGE, "up"]):
            programs.run(["ip", *argv], folder / "network.log")
        home.start()
    with step(2, f"`postern claims prepare --count {order.cards}` writes a file for each card"):
        files = folder / "files"
        home.command("claims", "prepare", "--count", order.cards, "--out", files,
                     "--name", "barn-{n}", *(["--auto-accept"] if order.auto_accept else []))
    with step(3, "each card is flashed: an image, and one of the files") as notes:
        cards = [Card(number, folder / file.stem, order.binaries, file)
                 for number, file in enumerate(sorted(files.iterdir(), key=_by_number), 1)]
        notes.append(f"such as {cards[0].claim}")
    begun = time.monotonic()
    with step(4, "power on: each board starts in a network namespace of its own"):
        for card in cards:
            card.power_on()
    logs = [home.server.log, cards[0].agent.log]
    if not order.auto_accept:
        with step(5, "the boards ask to join, and show the fingerprints of the list") as notes:
            _wait(lambda: _compare(home, cards), "each board to ask", begun, logs)
            notes += [f"{card.name:<8} {card.fingerprint()}" for card in cards]
        with step(6, "`postern claims accept --all`"):
            home.command("claims", "accept", "--all", "--yes")
    last = 5 if order.auto_accept else 7
    with step(last, "the boards are on the page, available") as notes:
        _wait(lambda: _arrived(home, cards), "each board to be available", begun, logs)
        notes.append("no card has its claim's file any more")
    return time.monotonic() - begun


def _compare(home: Home, cards: list[Card]) -> bool:
    """Whether all boards ask, each with the fingerprint that it shows itself."""
    asking = {row["name"]: row["board"]["fingerprint"] for row in home.rows("claims", "list")
              if row["state"] == "asking"}
    if len(asking) < len(cards):
        return False
    for card in cards:
        if (shown := card.fingerprint()) != asking[card.name]:
            raise StepFailed(f"{card.name} shows {shown}, and the list {asking[card.name]}")
    return True


def _arrived(home: Home, cards: list[Card]) -> bool:
    available = {row["name"] for row in home.rows("boards", "list")
                 if row["status"] == "up" and row["sessionAvailable"]}
    if available != {card.name for card in cards}:
        return False
    for card in cards:
        if card.claim.exists():
            raise StepFailed(f"{card.claim} is still there", card.agent.log)
    return True


def _by_number(file: Path) -> int:
    return int(file.stem.removeprefix("barn-"))


def _wait(condition, what: str, begun: float, logs: list[Path]) -> None:
    programs.until(condition, what, begun + _LIMIT - time.monotonic(), *logs)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cards", description=__doc__.split("\n\n")[0])
    parser.add_argument("--cards", type=int, default=10, choices=range(1, 101), metavar="N",
                        help="how many, 1 to 100; 10 if not given")
    parser.add_argument("--auto-accept", action="store_true",
                        help="nobody compares fingerprints: each board gets its session at once")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("binaries", type=programs.binaries,
                        help="the folder with the three built programs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
