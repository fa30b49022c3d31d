"""How much is measured."""

from dataclasses import dataclass, field


@dataclass
class Plan:
    # Of the fleet that lives beside what is stored.
    boards: int
    in_flight: int
    # Of each span of load.
    seconds: int
    rounds: int
    # Of the fleet that has the store for itself, and how many sessions are stored in all.
    few: int
    stored: int
    # Of a core for each authority, where the growth with the second one is measured, and the
    # requests in flight for both.
    part: float = 0.25
    in_flight_parted: int = 64
    # Whether one authority is measured on all cores, and two beside each other, too.
    on_all_cores: bool = True
    stores: list[str] = field(default_factory=lambda: ["sqlite", "postgres"])

    @staticmethod
    def full() -> "Plan":
        return Plan(boards=10_000, in_flight=256, seconds=10, rounds=3, few=1000,
                    stored=1_000_000)

    @staticmethod
    def short() -> "Plan":
        # An authority hears 20 messages a second of one board, so that few boards are no load.
        return Plan(boards=300, in_flight=64, seconds=2, rounds=1, few=300, stored=10_000,
                    on_all_cores=False)
