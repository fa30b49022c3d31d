"""Programs on the board: they write, ask for an answer, and keep a book of both."""

import json
import random
import threading
import time

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from bench.link import Login
from ledger import Ledger
from postern_contract import topics

APPS = ("thermo", "meter", "door", "cam")
# (share, least, most) bytes of a payload; 8 of them are the id.
_SIZES = ((30, 8, 64), (30, 64, 256), (30, 256, 1024), (9, 1024, 8192), (1, 8192, 60_000))
_BURSTS = (1, 5, 20, 100, 300)
# What may be unanswered at a time: below the bus's max_queued_messages, which drops silently.
WINDOW = 1500


class Program:
    """One of them, logged in under its own name."""

    def __init__(self, login: Login, ledger: Ledger, health: "Health | None" = None):
        self.name = login.username
        self.ledger = ledger
        self._health = health
        self._answers = topics.app(self.name, "answers")
        self._unacknowledged: dict[int, int] = {}
        self._early: set[int] = set()
        self._client = paho.Client(
            paho.CallbackAPIVersion.VERSION2, login.client_id, protocol=paho.MQTTv5,
            transport="unix")
        self._client.username_pw_set(login.username, login.password)
        self._client.max_inflight_messages_set(400)
        self._client.reconnect_delay_set(1, 1)
        self._client.on_connect = self._connected
        self._client.on_message = self._heard
        self._client.on_publish = self._published
        # What it is answered outlives a restart of the bus.
        durable = Properties(PacketTypes.CONNECT)
        durable.SessionExpiryInterval = 0xFFFF_FFFF
        self._client.connect(
            str(login.socket), 1, keepalive=30, clean_start=False, properties=durable)
        self._client.loop_start()

    @property
    def is_up(self) -> bool:
        return self._client.is_connected()

    def send(self, id_: int, attempt: int, payload: bytes) -> None:
        properties = Properties(PacketTypes.PUBLISH)
        properties.ResponseTopic = self._answers
        properties.CorrelationData = id_.to_bytes(8, "big") + attempt.to_bytes(4, "big")
        self.ledger.attempt(id_)
        info = self._client.publish(
            topics.app(self.name, "create", "Reading"), payload, qos=1, properties=properties)
        # No lock: paho calls back with one of its own in hand. The PUBACK may be here already.
        self._unacknowledged[info.mid] = id_
        if info.mid in self._early:
            self._early.discard(info.mid)
            self._unacknowledged.pop(info.mid, None)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _connected(self, client, userdata, flags, code, properties) -> None:
        # paho sends once more what the broker has not acknowledged.
        for id_ in list(self._unacknowledged.values()):
            self.ledger.attempt(id_)
        wanted = [self._answers] + ([topics.BUS_HEALTH] if self._health else [])
        client.subscribe([(topic, paho.SubscribeOptions(qos=1)) for topic in wanted])

    def _published(self, client, userdata, mid, code, properties) -> None:
        if self._unacknowledged.pop(mid, None) is None:
            self._early.add(mid)

    def _heard(self, client, userdata, message) -> None:
        if message.topic == topics.BUS_HEALTH:
            self._health.heard(message.payload)
            return
        correlation = getattr(message.properties, "CorrelationData", b"")
        self.ledger.answered(int.from_bytes(correlation[:8], "big"), json.loads(message.payload))


class Health:
    """The agent's own word on the bus."""

    def __init__(self):
        self.last: dict = {}

    def heard(self, payload: bytes) -> None:
        if payload:
            self.last = json.loads(payload)


class Publisher:
    """Sends what it is asked to, in bursts, never more unanswered than a window.

    After `patience` seconds without an answer a message is sent again, under its old id.
    """

    def __init__(self, logins: list[Login], ledger: Ledger, seed: int, patience: float):
        self.patience = patience
        self.ledger = ledger
        self.health = Health()
        self.programs = [
            Program(login, ledger, None if n else self.health) for n, login in enumerate(logins)]
        self.draw = random.Random(seed)
        self.window = WINDOW
        self._kept: dict[int, tuple[Program, bytes]] = {}
        self._next = 1
        self._budget = 0
        self._rate = 1000.0
        self._wake = threading.Condition()
        self._is_closed = False
        self._looked = 0.0
        self._thread = threading.Thread(target=self._pump, daemon=True)
        self._thread.start()

    def offer(self, count: int, seconds: float) -> None:
        """Has so many more messages sent, at a mean pace that takes so long."""
        with self._wake:
            self._budget += count
            self._rate = max(count / max(seconds, 0.01), 1)
            self._wake.notify()

    def withdraw(self) -> int:
        """Takes back what was not sent yet, and says how much that was."""
        with self._wake:
            left, self._budget = self._budget, 0
            return left

    @property
    def is_done(self) -> bool:
        return self._budget == 0 and not self.outstanding

    @property
    def outstanding(self) -> int:
        return len(self.ledger.sent) - self.ledger.acknowledged

    def close(self) -> None:
        with self._wake:
            self._is_closed = True
            self._wake.notify()
        self._thread.join(10)
        for program in self.programs:
            program.close()

    def _pump(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._is_closed or self._budget, 0.25)
                if self._is_closed:
                    return
                burst = min(self._budget, self.draw.choice(_BURSTS),
                            self.window - self.outstanding)
                self._budget -= max(burst, 0)
            for _ in range(burst):
                self._send_new()
            self._send_again()
            time.sleep(max(burst, 1) / self._rate if burst > 0 else 0.02)

    def _send_new(self) -> None:
        id_, self._next = self._next, self._next + 1
        _, least, most = self.draw.choices(_SIZES, [share for share, *_ in _SIZES])[0]
        payload = id_.to_bytes(8, "big") + self.draw.randbytes(self.draw.randint(least, most) - 8)
        program = self.draw.choice(self.programs)
        self.ledger.open(id_, program.name, payload)
        self._kept[id_] = (program, payload)
        program.send(id_, 1, payload)

    def _send_again(self) -> None:
        """Once a second; what has its answer is forgotten."""
        now = time.monotonic()
        if now - self._looked < 1:
            return
        self._looked = now
        for id_, (program, payload) in list(self._kept.items()):
            entry = self.ledger.sent[id_]
            if entry.is_acknowledged:
                del self._kept[id_]
            elif now - entry.at > self.patience and program.is_up:
                program.send(id_, entry.attempts + 1, payload)
