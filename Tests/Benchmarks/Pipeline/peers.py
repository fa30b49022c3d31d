"""The ways from a program on the board to a consumer that are measured beside one another."""

from dataclasses import dataclass

from bench.program import Program
LINKS = ("plain", "tls")
AGENTS = ("agent", "agent-spill", "agent-card")
BRIDGES = ("bridge-20", "bridge-unlimited", "bridge-second", "bridge-saving")
NAMES = AGENTS + BRIDGES
# How much longer a sync takes on the card.
CARD_MS = 20
# What adds nothing to the comparison.
LEFT_OUT = {("bridge-second", "tls"), ("bridge-saving", "tls"), ("agent-card", "tls")}


@dataclass
class Peer:
    """One way: where the load publishes, what it reads upstream, and who works in between."""

    name: str
    link: str
    address: str
    upstream: str
    topic: str
    filter: str
    # Who forwards: what the agent's processor time is compared by.
    worker: Program
    # Who else the messages pass before upstream.
    before: tuple[Program, ...] = ()
    # Where the outcome of a write is answered, for a peer that promises it.
    answers: str | None = None
    is_ordered: bool = True
    # The part of the messages that it gets: little of them where it is slow.
    share: float = 1.0


class Peers:
    """The peers of one run, each with processes of its own; the upstream is one for all."""

    def __init__(self, house, names: tuple[str, ...], links: tuple[str, ...]):
        makers = {
            "agent": lambda link: house.agent("agent", link, "always"),
            "agent-spill": lambda link: house.agent("agent-spill", link, "spill"),
            "agent-card": house.agent_on_card,
            "bridge-20": lambda link: house.bridge("bridge-20", link, 20),
            "bridge-unlimited": lambda link: house.bridge("bridge-unlimited", link, 0),
            "bridge-second": house.second_broker,
            "bridge-saving": house.saving_bridge,
        }
        self.all = [makers[name](link) for name in NAMES if name in names
                    for link in LINKS if link in links and (name, link) not in LEFT_OUT]

    def of(self, link: str) -> list[Peer]:
        return [p for p in self.all if p.link == link]
