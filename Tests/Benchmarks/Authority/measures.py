"""What is measured, each in a house of its own."""

import subprocess
import time
from dataclasses import replace
from pathlib import Path

import cores
from echoes import Echoes
from house import House, Site
from plan import Plan
from rows import generate

_MIXES = ("heartbeat", "refresh")


class Measures:
    """`rows` has a row for each span of load, `echo` one for each of the echo's."""

    def __init__(self, folder: Path, programs: Path, plan: Plan, say):
        self._folder = folder
        self._programs = programs
        self._plan = plan
        self._say = say
        self._houses = 0
        self.rows: list[dict] = []
        self.echo: list[dict] = []
        self.claims: list[dict] = []
        self.memory: list[dict] = []
        self.stored: list[dict] = []
        self.starts: list[dict] = []
        self.failures: list[str] = []

    def run(self) -> None:
        plan = self._plan
        for store in plan.stores:
            self._try(self._stored, Site(store))
            if plan.on_all_cores:
                self._try(self._stored, _shared(store))
        if "postgres" in plan.stores and plan.on_all_cores:
            self._try(self._beside, _shared("postgres", 2))
            self._try(self._growth)

    def _try(self, measure, *arguments, **options) -> None:
        """What one measure does not give, the others do."""
        try:
            measure(*arguments, **options)
        except (AssertionError, RuntimeError, OSError, subprocess.SubprocessError) as error:
            self.failures.append(str(error))
            self._say(f"✗ {error}")
            for path in sorted(self._folder.glob(f"house-{self._houses}/*.err")):
                lines = path.read_text(errors="replace").splitlines()[-8:]
                self._say("\n".join([f"--- {path.stem}", *lines]))

    def _house(self, site: Site) -> House:
        self._houses += 1
        return House(self._folder / f"house-{self._houses}", self._programs, site)

    def _name(self, site: Site, boards: int, sessions: int) -> dict:
        name = {"store": site.store, "replicas": site.replicas, "boards": boards,
                "sessions": sessions, "cores": site.cores}
        plural = "authorities" if site.replicas > 1 else "authority"
        self._say(f"{site.store}, {site.replicas} {plural}, {name['cores']} cores, "
                  f"{boards:,} boards, {sessions:,} sessions")
        return name

    def _beside(self, site: Site) -> None:
        """Several authorities, and no more sessions than there are boards."""
        house = self._house(site)
        try:
            few = self._plan.few
            self._load(house, self._name(site, few, few), few)
        finally:
            house.close()

    def _load(self, house: House, name: dict, boards: int):
        """Pairs them through one authority, and measures; the load is left as it is."""
        load = house.fleet(boards, self._plan)
        self.claims.append(name | load.claims)
        house.start()
        # The first span after a pairing or a start is not that of a fleet that lives.
        load.measure("heartbeat")
        self._spans(load, name)
        self.memory.append(name | house.memory())
        return load

    def _spans(self, load, name: dict) -> None:
        for number in range(self._plan.rounds):
            for mix in _MIXES:
                self.rows.append(name | {"round": number} | load.measure(mix))

    def _stored(self, site: Site) -> None:
        """Few sessions; then, beside so many more as are to be stored, another fleet."""
        plan, house = self._plan, self._house(site)
        try:
            self._load(house, self._name(site, plan.few, plan.few), plan.few).close()
            if not self.echo:
                self._say("the echo")
                echoes = Echoes(self._folder, house)
                self.echo = [echoes.turn(self.rows[0], plan) for _ in range(plan.rounds)]
            house.stop()
            name = self._name(site, plan.boards, plan.stored)
            each = generate(house, plan.stored - plan.few - plan.boards)
            self.stored.append(name | {"bytes": each})
            house.start()
            self._load(house, name, plan.boards)
            self._start_again(house, name)
        finally:
            house.close()

    def _start_again(self, house: House, name: dict) -> None:
        """What a start costs, which tells the broker of each board that was claimed lately."""
        house.stop()
        begin = time.monotonic()
        house.start()
        self.starts.append(name | {
            "seconds": time.monotonic() - begin,
            "authority_us": house.used()["authority"] * 1e6 / name["boards"]})

    def _growth(self) -> None:
        """Two authorities, each on a part of a core, and one of them without the other."""
        plan = replace(self._plan, in_flight=self._plan.in_flight_parted)
        site = _shared("postgres", 2)
        house = self._house(site)
        try:
            name = self._name(site, plan.few, plan.few) | {"part": plan.part}
            load = house.fleet(plan.few, plan)
            house.start()
            self._parted(house, load, name)
            self._parted(house, load, name | {"replicas": 1})
        finally:
            house.close()

    def _parted(self, house: House, load, name: dict) -> None:
        for authority in house.authorities[name["replicas"]:]:
            authority.stop_well()
        running = house.pids[:name["replicas"]]
        with cores.Share(running, self._plan.part):
            self._spans(load, name)


def _shared(store: str, replicas: int = 1) -> Site:
    """All of it shares all cores."""
    return Site(store, replicas, cores.any_of_them, cores.any_of_them)
