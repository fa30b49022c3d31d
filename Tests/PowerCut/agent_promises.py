"""The promises of the agent, as they can be seen from outside it."""

import bisect

from agent_traffic import Traffic
from cuts import Moment


class AgentPromises:
    """After a power cut at a moment:

    - every write that was answered with its `seq`, and every one whose PUBACK left, is there with
      its number and payload, unless the upstream broker has confirmed it (or another user has
      taken the board over);
    - nothing is there that was not read from the bus, and nothing twice;
    - no number that was given away can be given again;
    - a write that the local broker will deliver again keeps its number: the window has it;
    - so does one that its app repeats: its key is there, although the write may have left;
    - session, claim, trust, identity and memory are those that were durable when the agent last
      said anything, or those of a change that was in progress since.
    """

    needs_all = True

    def __init__(self, traffic: Traffic):
        self._answers = _Course(traffic.answers)
        self._acknowledged = _Course(traffic.acknowledged)
        self._taken = _Course((t.at, t) for t in traffic.taken)
        self._sent = _Course(traffic.sent)
        self._confirmed = _Course(traffic.confirmed)
        self._takeovers = _Course((at,) for at in traffic.takeovers)
        self._speeches = traffic.speeches
        self._whole: list[tuple[int, dict]] = []
        self._view: _View | None = None

    def look(self, moment: Moment, facts: dict) -> None:
        self._whole.append((moment.end, facts["records"]))
        self._view = None

    def broken(self, moment: Moment, facts: dict) -> list[str]:
        if facts.get("error"):
            return [f"does not open: {facts['error']}"]
        if self._view is None:
            self._view = self._seen_at(moment.end)
        return [
            *(f"damaged: {d}" for d in facts["damaged"] + facts["integrity"]),
            *self._view.writes_broken(facts), *self._view.records_broken(facts["records"]),
        ]

    def _seen_at(self, end: int) -> "_View":
        view = _View()
        since = max((at for at, in self._takeovers.until(end)), default=-1)
        view.confirmed = {seq: payload for _, seq, payload in self._confirmed.until(end)}
        gone = set(view.confirmed.values())
        view.answered = {
            seq: payload for at, seq, payload in self._answers.until(end) if at > since}
        view.acknowledged = {
            taken.payload for at, taken in self._acknowledged.until(end)
            if at > since and taken.payload not in gone}
        view.given = max((n for at, n, _ in (*self._answers.until(end), *self._sent.until(end))),
                         default=0)
        done = {taken for _, taken in self._acknowledged.until(end)}
        for _, taken in self._taken.until(end):
            view.known.add(taken.payload)
            if taken not in done:
                view.repeated[taken.payload] = taken.packet_id
        view.records = self._records(end)
        return view

    def _records(self, end: int) -> list[dict]:
        """The records of the whole states since the agent last spoke, the last before included."""
        spoken = bisect.bisect_left(self._speeches, end)
        last = self._speeches[spoken - 1] if spoken else -1
        first = max((n for n, (at, _) in enumerate(self._whole) if at > last), default=0)
        while first > 0 and self._whole[first - 1][0] > last:
            first -= 1
        return [records for _, records in self._whole[first:]]


class _Course:
    """What happened, each with its instant first, up to any instant."""

    def __init__(self, happenings):
        self._all = sorted(happenings, key=lambda h: h[0])
        self._instants = [h[0] for h in self._all]

    def until(self, end: int) -> list:
        return self._all[:bisect.bisect_left(self._instants, end)]


class _View:
    """Everything that counts at one moment."""

    def __init__(self):
        self.answered: dict[int, str] = {}
        self.acknowledged: set[str] = set()
        self.confirmed: dict[int, str] = {}
        self.known: set[str] = set()
        self.repeated: dict[str, int] = {}
        self.given = 0
        self.records: list[dict] = []

    def writes_broken(self, facts: dict) -> list[str]:
        held = {row["seq"]: row["payload"] for row in facts["rows"]}
        payloads = [row["payload"] for row in facts["rows"]]
        broken = [
            f"lost: write {seq} was answered" for seq, payload in self.answered.items()
            if seq not in self.confirmed and held.get(seq) != payload]
        there = set(payloads)
        lost = self.acknowledged - there
        if lost:
            broken.append(f"lost: {len(lost)} writes whose PUBACK left")
        if there - self.known:
            broken.append(f"unknown: {len(there - self.known)} writes nobody made")
        if len(there) < len(payloads):
            broken.append("twice: one write has two numbers")
        keyed = {seq for _, seq in facts["keys"]}
        broken += [
            f"key: write {seq} would be stored again" for seq in self.answered if seq not in keyed]
        if facts["last"] < max([self.given, *held]):
            broken.append(f"number: {facts['last']} is last where {self.given} was given")
        window = {(packet_id, seq) for packet_id, seq in facts["window"]}
        for seq, payload in held.items():
            packet_id = self.repeated.get(payload)
            if packet_id is not None and (packet_id, seq) not in window:
                broken.append(f"window: write {seq} would come again under another number")
        return broken

    def records_broken(self, held: dict) -> list[str]:
        if held in self.records:
            return []
        allowed = self.records[0]
        names = sorted(n for n in {*held, *allowed} if held.get(n) != allowed.get(n))
        return [f"{'session' if 'session' in names else 'record'}: {', '.join(names)} of no "
                f"state since the agent last spoke"]
