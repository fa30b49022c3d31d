"""How much is measured."""

from dataclasses import dataclass


@dataclass
class Plan:
    boards: int
    in_flight: int
    # Of each span of load.
    seconds: int
    rounds: int
    # The fleet beside which sessions are stored, and how many are stored in all.
    few: int
    stored: int

    @staticmethod
    def full() -> "Plan":
        return Plan(boards=10_000, in_flight=256, seconds=20, rounds=3, few=1000,
                    stored=1_000_000)

    @staticmethod
    def short() -> "Plan":
        return Plan(boards=200, in_flight=64, seconds=4, rounds=1, few=100, stored=10_000)
