"""Random walks through groups, transactions and fetch sessions on Kafka 3.9.1 and on stepdown, answer by answer.

Left out of the comparison: messages, addresses, times, and the order of lists. A walk ends where Kafka chooses by the
hash of what it made up itself, as it does for the leader of a group whose leader is gone.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.admin import described
from support.broker import BrokerProcess, broker_under_test
from support.consumer_walks import ACTORS as CONSUMERS
from support.consumer_walks import ConsumerWalk
from support.fetch_walks import ACTORS as READERS
from support.fetch_walks import FetchWalk
from support.group_walks import ACTORS, GroupWalk
from support.kafka import ApacheKafka
from support.side_by_side import Side, SideBySide, Unknowable, coordinators_ready
from support.transaction_walks import PARTITIONS, TransactionWalk

pytestmark = pytest.mark.java

PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "offset.metadata.max.bytes": "20",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.cleaner.dedupe.buffer.size": "4194304",
}
UNCOMPARED = frozenset(
    (
        "error_message",
        "host",
        "port",
        "throttle_time_ms",
        "log_append_time_ms",
        "last_timestamp",
        "timestamp",
        "transaction_start_time_ms",
        "records",
    )
)
# Of an empty answer Kafka lists aborted transactions in some cases and has null in others.
UNCOMPARED_IN_FETCHES = (UNCOMPARED - {"timestamp", "records"}) | {"aborted_transactions"}
STEPS = 80


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """Kafka and stepdown, both running and empty."""
    with _running(tmp_path_factory.mktemp("walks"), PROPERTIES) as both:
        yield both


@pytest.fixture(scope="module")
def new_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """Both with the consumer protocol on, for which Kafka has another coordinator."""
    protocols = {"group.coordinator.rebalance.protocols": "classic,consumer"}
    with _running(tmp_path_factory.mktemp("new-walks"), PROPERTIES | protocols) as both:
        yield both


@contextmanager
def _running(folder: Path, properties: Mapping[str, str]) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    with ApacheKafka(folder / "kafka", properties=properties) as kafka:
        ours = broker_under_test(folder / "ours", properties=properties)
        ours.start()
        try:
            for broker in (kafka, ours):
                broker.create_topic("walked", partitions=2)
            yield kafka, ours
        finally:
            ours.stop()


async def _pair(
    brokers: tuple[BrokerProcess, BrokerProcess], actors: int, left_out: frozenset[str] = UNCOMPARED
) -> SideBySide:
    theirs, mine = (Side.at(broker.address) for broker in brokers)
    for side in (theirs, mine):
        await side.connect(actors)
        await coordinators_ready(side)
    return SideBySide(sides=(theirs, mine), left_out=left_out)


@pytest.mark.parametrize("seed", range(24))
async def test_both_lead_a_classic_group_alike(brokers: tuple[BrokerProcess, BrokerProcess], seed: int) -> None:
    pair = await _pair(brokers, ACTORS)
    try:
        await GroupWalk(pair, ("walked", "nope"), seed).run(STEPS)
    except Unknowable:
        assert pair.log
    finally:
        await pair.close()


@pytest.mark.parametrize("seed", range(10))
async def test_both_coordinate_transactions_alike(brokers: tuple[BrokerProcess, BrokerProcess], seed: int) -> None:
    pair = await _pair(brokers, 1)
    topic = f"transactions-{seed}"
    try:
        for broker in brokers:
            broker.create_topic(topic, partitions=PARTITIONS)
        await TransactionWalk(pair, topic, seed).run(STEPS)
    except Unknowable:
        assert pair.log
    finally:
        await pair.close()


async def _create(
    brokers: tuple[BrokerProcess, BrokerProcess], pair: SideBySide, topics: Sequence[str], partitions: int
) -> None:
    """Topics whose ids both sides call `topic-0`, `topic-1` and so on."""
    for broker, side in zip(brokers, pair.sides, strict=True):
        for index, topic in enumerate(topics):
            broker.create_topic(topic, partitions=partitions)
            side.values[f"topic-{index}"] = (await described(side.clients[0], topic)).topic_id


@pytest.mark.parametrize("seed", range(16))
async def test_both_answer_fetches_alike(brokers: tuple[BrokerProcess, BrokerProcess], seed: int) -> None:
    pair = await _pair(brokers, READERS, UNCOMPARED_IN_FETCHES)
    topics = (f"fetched-{seed}-0", f"fetched-{seed}-1")
    try:
        await _create(brokers, pair, topics, PARTITIONS)
        await FetchWalk(pair, topics, seed).run(STEPS)
    finally:
        await pair.close()


@pytest.mark.parametrize("seed", range(20))
async def test_both_lead_a_consumer_group_alike(new_brokers: tuple[BrokerProcess, BrokerProcess], seed: int) -> None:
    pair = await _pair(new_brokers, CONSUMERS, UNCOMPARED | {"assignment", "target_assignment"})
    topics = (f"consumed-{seed}-0", f"consumed-{seed}-1")
    try:
        await _create(new_brokers, pair, topics, 2)
        await ConsumerWalk(pair, topics, seed).run(STEPS)
    except Unknowable:
        assert pair.log
    finally:
        await pair.close()
