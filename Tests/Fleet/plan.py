"""How large a run is, and how long its parts last."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    seed: int
    boards: int
    # Seconds between two heartbeats, and between two refreshes, of one board.
    heartbeat: int
    refresh: int
    # Messages a second of the whole fleet.
    telemetry: int
    # Boards that have a thief, and what else goes wrong meanwhile.
    thieves: int
    faults: str
    # Seconds over which boards that lost their connection come back.
    spread: int
    # Seconds between two events, and how long one that is down stays so.
    between: float
    down: float
    # "postgres" with two authorities, or "sqlite" with one.
    store: str = "postgres"

    @property
    def calm(self) -> float:
        """Seconds within which each board has certainly been heard once more.

        An overloaded authority puts a board off by 30 s and a draw from as much; without an
        answer a board asks again after 10 s and a draw from the spread.
        """
        return 1.1 * self.heartbeat + 1.5 * self.spread + 70

    @property
    def span(self) -> int:
        """Seconds that the boards are told: more than all takes, so that they go on to the end."""
        events = 7 if self.store == "postgres" else 4
        return round(1.4 * (events * (self.between + self.down) + self.spread + self.calm)) + 10

    @property
    def thefts_end(self) -> float:
        """Seconds after which every thief has struck: they do so from 20 % to 40 % of the span."""
        return 0.4 * self.span + 10

    @staticmethod
    def full(seed: int) -> "Plan":
        return Plan(
            seed, boards=10_000, heartbeat=60, refresh=180, telemetry=300, thieves=50,
            faults="lost-replies=2%,replays=2%,storm=90s:10%,skew=1%,thieves=50", spread=30,
            between=45, down=5)

    @staticmethod
    def short(seed: int) -> "Plan":
        return Plan(
            seed, boards=200, heartbeat=4, refresh=6, telemetry=100, thieves=5,
            faults="lost-replies=3%,replays=3%,storm=15s:20%,skew=2%,thieves=5", spread=4,
            between=4, down=1)
