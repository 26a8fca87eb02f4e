"""Kafka 3.9.1 and the broker under test, each over its own copy of the corpus."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support.broker import BrokerProcess, broker_under_test
from support.clients_raw import Raw
from support.kafka import ApacheKafka
from support.kafka_corpus import TOPIC_CONFIGS, copy_of_corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A connection to each."""

    kafka: Raw
    ours: Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Brokers:
    """The two processes."""

    kafka: BrokerProcess
    ours: BrokerProcess


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Both running, with the same topic configs."""
    kafka_folder, our_folder = tmp_path_factory.mktemp("kafka"), tmp_path_factory.mktemp("ours")
    kafka = ApacheKafka(copy_of_corpus(kafka_folder))
    ours = broker_under_test(copy_of_corpus(our_folder))
    kafka.start()
    try:
        ours.start()
        try:
            with Raw(ours.address) as client:
                for topic in ("zstd-topic", "refused"):
                    assert client.set_topic_config(topic, TOPIC_CONFIGS[topic]) == 0
            yield Brokers(kafka=kafka, ours=ours)
        finally:
            ours.stop()
    finally:
        kafka.stop()


@pytest.fixture
def pair(brokers: Brokers) -> Iterator[Pair]:
    with Raw(brokers.kafka.address) as kafka, Raw(brokers.ours.address) as ours:
        yield Pair(kafka=kafka, ours=ours)
