"""Tiered storage of three Kafka 3.9.1 brokers, large, through an unclean election: its rows are a consumer's.

Once by Kafka's LocalTieredStorage, and by Aiven's plugin where AIVEN_SOURCE names its sources. TIERED_MB says how many
MB of values each writes; `make tiered MB=2000` does it with 2 GB.
"""

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from stepdown.bench.servers.process import wait_until
from support.aiven_plugin import aiven_settings
from support.deadline import DEADLINE_S, JOB_DEADLINE_S
from support.kafka_cluster import ApacheKafkaCluster
from support.kafka_tiered import (
    BLOCK,
    CODECS,
    ROW_CRC,
    Sums,
    await_upload,
    leave_open,
    local_tiered_settings,
    sums,
    tiered_properties,
    tiered_topic,
)
from support.s3 import s3_server

pytestmark = [pytest.mark.java, pytest.mark.slow]

MEGABYTES = int(os.environ.get("TIERED_MB", "100"))
AGAIN = "again"
TOPICS = (AGAIN, *CODECS)
VALUE_BYTES = 1000
RECORDS = MEGABYTES * 1_000_000 // VALUE_BYTES // len(CODECS)
IN_TRANSACTION = 500
LEADER, FOLLOWER = 2, 3
"""Of all topics here; broker 1 is the controller."""
LEVELS = ("read_uncommitted", "read_committed")
CLUSTER = {
    "unclean.leader.election.enable": "true",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "replica.lag.time.max.ms": "15000",
    "broker.session.timeout.ms": "15000",
    "transaction.max.timeout.ms": "900000",
    "controlled.shutdown.enable": "false",
}


@dataclass(frozen=True)
class Written:
    """Stopped brokers: the directory of the last leader, tiered storage, what consumers read by isolation level."""

    log_dir: Path
    tiered: Path
    read: dict[str, Sums]
    lost: int


@pytest.fixture(scope="module", params=[local_tiered_settings, aiven_settings], ids=["kafka", "aiven"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    folder = tmp_path_factory.mktemp("tiered-size")
    tiered = folder / "remote" / "kafka-tiered-storage"
    properties = tiered_properties(request.param(tiered), replicas=3)
    with ApacheKafkaCluster(folder / "kafka", properties | CLUSTER) as cluster:
        leader, follower = cluster.brokers[LEADER], cluster.brokers[FOLLOWER]
        admin = AdminClient({"bootstrap.servers": cluster.brokers[1].address})
        create(admin, TOPICS)
        write(cluster, AGAIN, "none", "of the first topic of this name", RECORDS // 10)
        admin.delete_topics([AGAIN])[AGAIN].result(DEADLINE_S)
        wait_until(
            lambda: AGAIN not in admin.list_topics(timeout=DEADLINE_S).topics,
            "the topic is gone",
            timeout_s=JOB_DEADLINE_S,
        )
        create(admin, (AGAIN,))
        for topic in TOPICS:
            write(cluster, topic, codec_of(topic), "kept", RECORDS * 8 // 10)
        for topic in TOPICS:
            await_replicas(admin, topic, {LEADER, FOLLOWER})
        follower.kill()
        for topic in TOPICS:
            await_replicas(admin, topic, {LEADER})
        lost = sum(write(cluster, topic, codec_of(topic), "lost", RECORDS // 10) for topic in TOPICS)
        for topic in TOPICS:
            await_upload(leader.log_dir / f"{topic}-0", tiered, wait_s=JOB_DEADLINE_S)
        leader.kill()
        follower.start()
        for topic in TOPICS:
            await_replicas(admin, topic, {FOLLOWER})
            write(cluster, topic, codec_of(topic), "of another epoch", RECORDS * 2 // 10)
        leader.start()
        for topic in TOPICS:
            await_replicas(admin, topic, {LEADER, FOLLOWER})
            await_upload(follower.log_dir / f"{topic}-0", tiered, wait_s=JOB_DEADLINE_S)
        for topic in (AGAIN, "lz4"):
            leave_open(cluster.brokers[1].address, topic)
        starts = {topic: epoch_starts(follower.log_dir / f"{topic}-0") for topic in TOPICS}
        read = {level: read_all(cluster.brokers[1].address, level, starts) for level in LEVELS}
    yield Written(follower.log_dir, tiered, read, lost)


def codec_of(topic: str) -> str:
    return topic if topic in CODECS else "lz4"


def create(admin: AdminClient, topics: tuple[str, ...]) -> None:
    config = tiered_topic(max(100_000, MEGABYTES * 1_000_000 // len(CODECS) // 24))
    wanted = [
        NewTopic(topic, num_partitions=1, replica_assignment=[[LEADER, FOLLOWER]], config=config) for topic in topics
    ]
    for made in admin.create_topics(wanted).values():
        made.result(DEADLINE_S)
    for topic in topics:
        await_replicas(admin, topic, {LEADER, FOLLOWER})


def await_replicas(admin: AdminClient, topic: str, in_sync: set[int]) -> None:
    """Return when these replicas are in sync and one of them leads."""

    def is_so() -> bool:
        found = admin.list_topics(topic, timeout=DEADLINE_S).topics[topic].partitions.get(0)
        return found is not None and set(found.isrs) == in_sync and found.leader in in_sync

    wait_until(is_so, f"replicas of {topic}: {in_sync}", timeout_s=JOB_DEADLINE_S)


def write(cluster: ApacheKafkaCluster, topic: str, codec: str, name: str, records: int) -> int:
    """Write records in transactions, of which each fifth is aborted, and a tenth of them in none; how many."""
    words = random.Random(f"{topic} {name}")
    text = b" ".join(b"%x" % words.getrandbits(words.choice((8, 20, 40))) for _ in range(200_000))
    common = {
        "bootstrap.servers": cluster.brokers[1].address,
        "compression.type": codec,
        "linger.ms": 5,
        "batch.size": 64_000,
        "queue.buffering.max.kbytes": 200_000,
    }
    producer = Producer(common | {"transactional.id": f"{topic}-{name}", "transaction.timeout.ms": 600_000})
    producer.init_transactions(JOB_DEADLINE_S)
    plain = Producer(common)
    for first in range(0, records, IN_TRANSACTION):
        producer.begin_transaction()
        for number in range(first, min(first + IN_TRANSACTION, records)):
            at = words.randrange(len(text) - VALUE_BYTES)
            value = None if number % 101 == 0 else text[at : at + VALUE_BYTES]
            key = None if number % 7 == 0 else b"%d" % number
            by = plain if number % 10 == 0 else producer
            by.produce(topic, value, key, partition=0, timestamp=1_700_000_000_000 + number)
        assert producer.flush(JOB_DEADLINE_S) == 0
        end = producer.abort_transaction if first // IN_TRANSACTION % 5 == 4 else producer.commit_transaction
        end(300)
    assert plain.flush(JOB_DEADLINE_S) == 0
    return records


def epoch_starts(log: Path) -> list[int]:
    """The first offsets of the leader epochs of a broker's log."""
    return [int(line.split()[1]) for line in (log / "leader-epoch-checkpoint").read_text().splitlines()[2:]]


def read_all(address: str, level: str, starts: Mapping[str, Sequence[int]]) -> Sums:
    found: Sums = {}
    for topic in TOPICS:
        found |= sums(address, topic, level, starts[topic])
    return found


def stored(spark: SparkSession, path: str, tiered: str, level: str, options: dict[str, str]) -> Sums:
    """The sums of the rows of `kafka-segments`."""
    rows = spark.read.format("kafka-segments").options(**{"isolation.level": level, "tieredPath": tiered}, **options)
    blocks = rows.load(path).selectExpr("topic", f"offset DIV {BLOCK} AS block", f"{ROW_CRC} AS crc")
    found = blocks.groupBy("topic", "block").agg({"*": "count", "crc": "sum"}).collect()
    return {(row[0], row[1]): (row["count(1)"], row["sum(crc)"]) for row in found}


def check(found: Sums, wanted: Sums) -> None:
    differing = sorted(key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key))
    assert not differing, [(key, found.get(key), wanted.get(key)) for key in differing[:10]]


def test_the_election_was_unclean_and_its_loss_lies_in_tiered_storage(written: Written) -> None:
    for topic in TOPICS:
        assert len(epoch_starts(written.log_dir / f"{topic}-0")) > 1, topic
        uploaded = sorted(written.tiered.glob(f"{topic}-*/**/*.log"))
        assert len(uploaded) > 5, topic
    committed, uncommitted = (sum(count for count, _ in written.read[level].values()) for level in reversed(LEVELS))
    assert committed < uncommitted
    assert uncommitted < RECORDS * len(TOPICS) + 10
    print(f"{uncommitted:,} records read, {committed:,} of them committed, {written.lost:,} lost by the election")


@pytest.mark.parametrize("level", LEVELS)
def test_rows_from_a_path_are_those_that_a_consumer_read(spark: SparkSession, written: Written, level: str) -> None:
    check(stored(spark, str(written.log_dir), str(written.tiered), level, {}), written.read[level])


def test_so_are_those_from_an_object_store_that_is_slow_and_fails(spark: SparkSession, written: Written) -> None:
    with s3_server(failing=0.01, latency_s=0.05) as server:
        path, tiered = server.upload(written.log_dir, "local"), server.upload(written.tiered, "tiered")
        for level in LEVELS:
            check(stored(spark, path, tiered, level, server.spark_options), written.read[level])
