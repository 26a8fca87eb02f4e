"""A plugin for the integration tests of kafka-python: their `KafkaFixture` starts stepdown in their own process.

    python -m pytest -p support.kafka_python_fixture test/integration

The settings are the ones that the fixture gives to Kafka, with the keystores that it makes by keytool.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from kafka import KafkaAdminClient
from stepdown.broker.broker import Broker
from stepdown.config import load
from stepdown.testing.loop_thread import LoopThread
from test.integration import fixtures


class Child:
    """In place of the process that the tests ask for its log."""

    def dump_logs(self) -> None:
        """It is in pytest's."""


def open_broker(self: Any) -> None:
    if self.running:
        return
    if self.tmp_dir is None:
        self.tmp_dir = fixtures.py.path.local.mkdtemp()
    settings = {
        "listeners": f"{self.transport}://{self.host}:0",
        "log.dirs": str(self.tmp_dir.join("data")),
        "num.partitions": str(self.partitions),
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "2",
        **dict(_lines(self._sasl_config(), self._ssl_config(), self._acl_config())),
    }
    settings.pop("sasl.mechanism.inter.broker.protocol", None)
    if self.sasl_enabled:
        name = f"listener.name.{self.transport.lower()}.{self.sasl_mechanism.lower()}.sasl.jaas.config"
        settings[name] = self._jaas_config().strip()
    loaded = load(overrides=[f"{key}={text}" for key, text in settings.items()])
    self._thread = LoopThread()
    self._broker = self._thread.run(_started(loaded))
    if self.sasl_enabled and self.sasl_mechanism.startswith("SCRAM"):
        self._broker.scram_credentials.set_passwords([(self.broker_user, self.broker_password)])
    self.port = self._broker.address.port
    self.child = Child()
    self.running = True


async def _started(loaded: Any) -> Broker:
    broker = Broker(loaded.settings, loaded.layers)
    await broker.start()
    return broker


def stop_broker(self: Any) -> None:
    if self.running:
        self._thread.run(self._broker.stop())
        self._thread.stop()
        self.running = False


def topic_names(self: Any) -> list[str]:
    with contextlib.closing(KafkaAdminClient(**self._enrich_client_params({}))) as admin:
        return list(admin.list_topics())


def _lines(*texts: str) -> Iterator[tuple[str, str]]:
    for line in "\n".join(texts).split("\n"):
        name, equals, text = line.partition("=")
        if equals:
            yield name, text


fixtures.KafkaFixture.open = open_broker
fixtures.KafkaFixture.start = open_broker
fixtures.KafkaFixture.stop = stop_broker
fixtures.KafkaFixture.get_topic_names = topic_names
