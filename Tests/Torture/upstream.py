"""The upstream broker, who listens behind it, and how it is made to fail."""

import os
from pathlib import Path

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from authority_player import AuthorityPlayer
from authority_records import board_rules
from bench.broker import AccessFiles, Broker
from bench.evidence import Evidence
from bench.link import Login
from bench.waiting import until
from ledger import Ledger
from postern_contract import topics

_PASSWORD = "of the torture, not of the contract"
_DATA = f"{topics.ROOT}/+/data/#"


class QuietBroker(Broker):
    """It keeps what waits for the consumer through a restart, and logs no message."""

    def _write_config(self) -> None:
        lines = [f"listener {self.port} 127.0.0.1", "log_dest stderr", "log_type error",
                 "log_type warning", "log_type notice", "log_type information",
                 "max_queued_messages 0", "max_inflight_messages 200", *self.settings]
        if os.geteuid() == 0:
            lines.append("user root")
        self.config.write_text("\n".join(lines) + "\n")


class Consumer:
    """Reads all data, with a session that outlives the broker's restarts."""

    def __init__(self, port: int, ledger: Ledger):
        self.ledger = ledger
        self.connects = 0
        self._client = paho.Client(
            paho.CallbackAPIVersion.VERSION2, "consumer", protocol=paho.MQTTv5)
        self._client.username_pw_set("consumer", _PASSWORD)
        self._client.reconnect_delay_set(1, 1)
        self._client.on_connect = self._connected
        self._client.on_message = self._heard
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = 0xFFFF_FFFF
        self._client.connect("127.0.0.1", port, keepalive=30, clean_start=False,
                             properties=properties)
        self._client.loop_start()
        until(lambda: self.connects, "the consumer to subscribe")

    @property
    def is_up(self) -> bool:
        return self._client.is_connected()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _connected(self, client, userdata, flags, code, properties) -> None:
        if not code.is_failure:
            if self.connects and not flags.session_present:
                self.ledger.fault("the test's own", "the broker forgot the consumer's session")
            client.subscribe(_DATA, qos=1)
            self.connects += 1

    def _heard(self, client, userdata, message) -> None:
        user = dict(getattr(message.properties, "UserProperty", []))
        if "sid" not in user:
            self.ledger.fault("data without sid and seq", message.topic)
            return
        id_ = int.from_bytes(message.payload[:8], "big")
        self.ledger.arrive(user["sid"], int(user["seq"]), user["app"], id_, message.payload)


class TorturedUpstream:
    """A mosquitto with an authority that is played, and a consumer; the board comes by a proxy."""

    def __init__(self, folder: Path, evidence: Evidence, ledger: Ledger):
        self.access = AccessFiles(folder / "upstream")
        self.access.admit("authority", _PASSWORD, [f"readwrite {topics.ROOT}/#"])
        self.access.admit("consumer", _PASSWORD, [f"read {topics.ROOT}/#"])
        self.broker = QuietBroker(
            "upstream", folder / "upstream", *self.access.settings,
            "persistence true", f"persistence_location {folder / 'upstream'}/").start()
        self.access.broker = self.broker
        login = Login(self.broker.port, "authority", "authority", _PASSWORD)
        self.authority = AuthorityPlayer(login, self.access, evidence).open()
        self.consumer = Consumer(self.broker.port, ledger)

    def stop(self) -> None:
        """Ends it in order: what it acknowledged and the consumer lacks is on disk."""
        self.broker.stop()

    def resume(self) -> None:
        """Starts it again; both who listen there are back when it returns."""
        before = self.consumer.connects
        self.broker.start()
        until(lambda: self.consumer.connects > before and self.authority.link.is_up,
              "the consumer and the authority to come back", 20)

    def refuse_data(self, iid: str) -> None:
        """The board may say anything but data: its PUBACK is 0x87 from now on."""
        self._set_rules(iid, board_rules(iid)[:3])

    def allow_data(self, iid: str) -> None:
        self._set_rules(iid, board_rules(iid))

    def _set_rules(self, iid: str, rules: list[str]) -> None:
        # Read again while the consumer is away, the list would cost it what waits for it.
        until(lambda: self.consumer.is_up, "the consumer at the broker")
        self.access.set_rules(iid, rules)

    def set_receive_maximum(self, count: int) -> None:
        """Takes effect with the next start."""
        kept = [s for s in self.broker.settings if not s.startswith("max_inflight_messages")]
        self.broker.settings = (*kept, f"max_inflight_messages {count}")

    def close(self) -> None:
        self.authority.close()
        self.consumer.close()
        self.broker.close()
