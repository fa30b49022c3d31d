"""One table: the agent's figures, the peers', their ratio, and the budget beside it."""

from dataclasses import dataclass
from statistics import median

from peers import AGENTS, BRIDGES, CARD_MS

DURABILITY = {
    "agent": "always", "agent-spill": "spill", "agent-card": f"always, sync + {CARD_MS} ms",
}
# The budgets are for this machine's disk.
BOUND = ("agent", "agent-spill")
TITLES = {
    "bridge-20": "bridge, 20 in flight", "bridge-unlimited": "bridge, unlimited",
    "bridge-second": "bridge behind a broker", "bridge-saving": "bridge that saves",
}


@dataclass(frozen=True)
class Measure:
    """A figure that agent and peers have in common, and the ratio that is wanted of it."""

    part: str
    figure: str
    title: str
    form: str
    budget: float
    is_more_better: bool
    # Against which peer the budget is, and what it is against a bridge that saves.
    saving_budget: float | None = None

    def keeps(self, ratio: float, budget: float) -> bool:
        return ratio >= budget if self.is_more_better else ratio <= budget


MEASURES = (
    Measure("flow", "rate", "messages/s", "{:,.0f}", 1.0, True, 15),
    Measure("flow", "worker_us", "CPU µs a message", "{:.1f}", 1.0, False),
    Measure("flow", "board_us", "the same, with the agent's broker", "{:.1f}", 0, False),
    Measure("latency", "p50_us", "one at a time, p50 µs", "{:,.0f}", 0, False),
    Measure("latency", "p99_us", "one at a time, p99 µs", "{:,.0f}", 0, False),
    Measure("latency", "written", "one at a time, bytes to disk", "{:,.0f}", 0, False),
    Measure("flow", "written", "flow, bytes to disk a message", "{:,.0f}", 0, False),
    Measure("backlog", "rate", "backlog drained, messages/s", "{:,.0f}", 0, True),
    # The agent has answered each; the bridge's broker holds them in memory.
    Measure("backlog", "fill_rate", "backlog taken, messages/s", "{:,.0f}", 0, True),
    Measure("backlog", "pss", "PSS with the backlog, MB", "{:.1f}", 0, False),
    Measure("backlog", "rss", "RSS with the backlog, MB", "{:.1f}", 0, False),
    Measure("idle", "wakeups_per_second", "idle wake-ups a second", "{:.2f}", 0, False),
)


class Table:
    """Medians over the rounds; a ratio is taken within its round first."""

    def __init__(self, rows: list[dict], binary: dict):
        self._rows = rows
        self._binary = binary
        self.lines: list[dict] = []
        agents = [a for a in AGENTS if any(r["peer"] == a for r in rows)]
        for measure in MEASURES:
            for agent in agents:
                for link, size in self._places(measure, agent):
                    self.lines.append(self._line(measure, agent, link, size))
        for agent in agents:
            self.lines += self._absolute(agent) if agent in BOUND else []

    def _places(self, measure: Measure, agent: str) -> list[tuple[str, int]]:
        found = {(r["link"], r["bytes"]): None for r in self._rows
                 if r["part"] == measure.part and r["peer"] == agent}
        return list(found)

    def _values(self, measure: Measure, peer: str, link: str, size: int) -> dict[int, float]:
        """The figure by its round."""
        return {r["round"]: r[measure.figure] for r in self._rows
                if (r["part"], r["peer"], r["link"], r["bytes"])
                == (measure.part, peer, link, size)}

    def _line(self, measure: Measure, agent: str, link: str, size: int) -> dict:
        ours = self._values(measure, agent, link, size)
        line = {"what": measure.title, "durability": DURABILITY[agent], "link": link,
                "bytes": size, "agent": median(ours.values()), "peers": {},
                "form": measure.form, "budget": "", "kept": None}
        for peer in BRIDGES:
            theirs = self._values(measure, peer, link, size)
            both = [r for r in ours if theirs.get(r)]
            if both:
                line["peers"][peer] = {
                    "value": median(theirs[r] for r in both),
                    "ratio": median(ours[r] / theirs[r] for r in both)}
        return line | (self._verdict(measure, line["peers"]) if agent in BOUND else {})

    def _verdict(self, measure: Measure, peers: dict) -> dict:
        sign = "≥" if measure.is_more_better else "≤"
        budgets = {"bridge-20": measure.budget, "bridge-saving": measure.saving_budget}
        due = {p: b for p, b in budgets.items() if b and p in peers}
        if not due:
            return {}
        words = [f"{sign} {b:g} ×" + (" saving" if p == "bridge-saving" else "")
                 for p, b in due.items()]
        kept = all(measure.keeps(peers[p]["ratio"], b) for p, b in due.items())
        return {"budget": ", ".join(words), "kept": kept}

    def _absolute(self, agent: str) -> list[dict]:
        """Those that the budget bounds by a number."""
        def values(part: str, figure: str) -> list[float]:
            return [r[figure] for r in self._rows if r["part"] == part and r["peer"] == agent]

        def at_256(part: str, figure: str, peer: str = agent) -> list[float]:
            return [r[figure] for r in self._rows
                    if (r["part"], r["peer"], r["link"], r["bytes"])
                    == (part, peer, "plain", 256)]

        # A sync, and half as much again as the way through two brokers that keep nothing.
        syncs, way = values("sync", "p50_us"), at_256("latency", "p50_us", "bridge-second")
        least = median(syncs) + 1.5 * median(way) if syncs and way else 0
        found = [
            ("one sync of 4 KiB, p50 µs", syncs, 0, "{:,.0f}"),
            ("one at a time, 256 B, p50 µs", at_256("latency", "p50_us"), least, "{:,.0f}"),
            ("one at a time, 256 B, bytes to disk", at_256("latency", "written"), 4608, "{:,.0f}"),
            ("flow, 256 B, bytes to disk a message", at_256("flow", "written"),
             1.3 * 256 + 64, "{:,.0f}"),
            ("opening a long queue, ms", values("open", "milliseconds"), 300, "{:,.0f}"),
            ("PSS, TLS connected, backlog queued, MB", values("backlog", "pss"), 10, "{:.1f}"),
            ("start to session published, ms", values("start", "milliseconds"), 50, "{:.1f}"),
            ("wake-ups a second, idle", values("idle", "wakeups_per_second"), 1, "{:.2f}"),
        ]
        if agent == "agent":
            size = self._binary["stripped"] / 1e6
            found.append(("stripped binary, MB", [size], 16, "{:.1f}"))
        return [
            {"what": what, "durability": DURABILITY[agent], "link": "", "bytes": 0,
             "agent": median(all_), "peers": {}, "form": form,
             "budget": f"≤ {budget:,.0f}" if budget else "",
             "kept": median(all_) <= budget if budget else None}
            for what, all_, budget, form in found if all_
        ]

    def __str__(self) -> str:
        heads = ["what", "durability", "uplink", "bytes", "agent", *TITLES.values(), "budget", ""]
        rows = [heads, ["---", "---", "---", "--:", "--:", *["--:"] * len(TITLES), "---", "---"]]
        rows += [self._cells(line) for line in self.lines]
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)

    def _cells(self, line: dict) -> list[str]:
        form = line["form"].format
        cells = [line["what"], line["durability"], line["link"], str(line["bytes"] or ""),
                 form(line["agent"])]
        for peer in TITLES:
            found = line["peers"].get(peer)
            cells.append(f"{form(found['value'])} · **{found['ratio']:.2f} ×**" if found else "")
        kept = {True: "✓", False: "✗", None: ""}[line["kept"]]
        return [*cells, line["budget"], kept]
