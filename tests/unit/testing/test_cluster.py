"""Several brokers in a test: leaders die and move, replicas lag, faults hit one of them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Producer as ConfluentProducer
from stepdown.client.errors import KafkaError
from stepdown.producer import Producer
from stepdown.testing import Kafka, running
from stepdown.testing.control_client import ControlFailed
from stepdown.testing.running_brokers import Running
from support.deadline import DEADLINE_S


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with running(brokers=3, config={"min.insync.replicas": 2}) as cluster:
        cluster.create_topic("t")
        yield cluster
        cluster.faults.assert_fired()


def leader(kafka: Kafka) -> int:
    return kafka.partition("t").leader


def values(kafka: Kafka) -> list[bytes | None]:
    return [record.value for record in kafka.records("t")]


def test_what_was_acknowledged_survives_its_leader(kafka: Kafka) -> None:
    kafka.produce("t", b"a")
    first = leader(kafka)
    kafka.cluster.kill(first)
    kafka.clock.advance("10s")
    assert leader(kafka) != first
    kafka.produce("t", b"b")
    assert values(kafka) == [b"a", b"b"]
    kafka.cluster.start()
    kafka.clock.advance("1s")
    kafka.cluster.elect("t")
    assert leader(kafka) == first
    assert values(kafka) == [b"a", b"b"]


async def test_a_producer_finds_the_next_leader() -> None:
    async with running(brokers=3) as kafka:
        await kafka.create_topic("t")
        async with Producer(kafka.bootstrap, retry_backoff_ms=5, reconnect_backoff_ms=5) as producer:
            await producer.send("t", b"a")
            await kafka.cluster.kill(leader_of="t")
            delivery = producer.send("t", b"b")
            await kafka.clock.advance("10s")
            assert (await delivery).offset == 1


def test_too_few_replicas_are_refused_until_they_are_back(kafka: Kafka) -> None:
    kafka.cluster.stop(follower_of="t")
    kafka.cluster.stop(follower_of="t")
    with pytest.raises(KafkaError, match="NOT_ENOUGH_REPLICAS"):
        kafka.produce("t", b"a")
    kafka.cluster.start()
    kafka.clock.advance("1s")
    kafka.produce("t", b"a")
    assert values(kafka) == [b"a"]


def test_a_fault_is_for_one_broker(kafka: Kafka) -> None:
    kafka.cluster.move_leader("t")
    kafka.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", broker=leader(kafka))
    kafka.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", broker=leader(kafka) % 3 + 1, optional=True)
    producer = ConfluentProducer({"bootstrap.servers": kafka.bootstrap, "retry.backoff.ms": 5, "log_level": 0})
    producer.produce("t", b"x")
    assert producer.flush(DEADLINE_S) == 0
    answers = [(each.broker, each.answer) for each in kafka.requests.of("Produce")]
    assert answers == [(leader(kafka), ["NOT_LEADER_OR_FOLLOWER"]), (leader(kafka), [])]


def test_a_client_with_stale_metadata_is_sent_on(kafka: Kafka) -> None:
    kafka.faults.versions("Produce", only="0-9")  # later ones name the new leader, and nobody asks for metadata
    producer = ConfluentProducer({"bootstrap.servers": kafka.bootstrap, "retry.backoff.ms": 5, "log_level": 0})
    producer.produce("t", b"a")
    assert producer.flush(DEADLINE_S) == 0
    kafka.faults.stale_metadata(topic="t", times=2)
    kafka.cluster.move_leader("t")
    producer.produce("t", b"b")
    assert producer.flush(DEADLINE_S) == 0
    assert ["NOT_LEADER_OR_FOLLOWER"] in [each.answer for each in kafka.requests.of("Produce")]
    assert values(kafka) == [b"a", b"b"]


@pytest.mark.parametrize(
    ("action", "fields", "said"),
    [
        ("brokers/kill", {}, "broker is missing"),
        ("brokers/kill", {"broker": 9}, "there is no broker 9"),
        ("brokers/start", {"broker": 1}, "runs already"),
        ("brokers/kill", {"brokr": 1}, "no field 'brokr'; did you mean broker"),
        ("leaders/move", {}, "topic is missing"),
        ("leaders/take", {"topic": "nope"}, "nope"),
    ],
)
def test_what_cannot_be_done_is_said(kafka: Kafka, action: str, fields: dict[str, object], said: str) -> None:
    with pytest.raises(ControlFailed, match=said):
        kafka.control.ask("POST", action, fields)


def test_one_broker_is_no_cluster() -> None:
    with running() as kafka, pytest.raises(ControlFailed, match="leaders/move needs several brokers"):
        kafka.cluster.move_leader("t")


def test_a_cluster_has_one_control_port() -> None:
    cluster = Running(brokers=2, config={"stepdown.control.listen": "127.0.0.1:0"})
    with cluster as kafka:
        assert cluster.control_address.startswith("127.0.0.1:")
        assert len(kafka.bootstrap.split(",")) == 2


def test_a_full_disk_is_that_of_the_broker_that_is_named(kafka: Kafka) -> None:
    """`broker=` of a disk fault was taken and ignored: the disks of all brokers were full."""
    kafka.create_topic("alone", replication_factor=1)
    own = kafka.partition("alone").leader
    other = kafka.faults.disk("full", broker=own % 3 + 1, topic="alone", optional=True)
    kafka.produce("alone", b"a")
    assert other.hits == 0
    fault = kafka.faults.disk("full", broker=own, topic="alone")
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        kafka.produce("alone", b"b")
    assert fault.hits > 0


def test_a_leader_whose_disk_is_full_halts_and_another_one_leads(kafka: Kafka) -> None:
    """It led for ever, and answered every producer KAFKA_STORAGE_ERROR. Kafka halts: nothing acknowledged is lost."""
    kafka.produce("t", b"a")
    first = leader(kafka)
    kafka.faults.disk("full", broker=first)
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        kafka.produce("t", b"refused")
    kafka.clock.advance("11s")
    assert leader(kafka) not in (first, -1)
    kafka.produce("t", b"b")
    assert values(kafka) == [b"a", b"b"]
    kafka.faults.reset()
    kafka.cluster.start(first)
    kafka.clock.advance("2s")
    kafka.cluster.elect("t")
    assert (leader(kafka), values(kafka)) == (first, [b"a", b"b"])


def test_a_fenced_broker_comes_back(kafka: Kafka) -> None:
    """`fence` had no way back but a restart."""
    first = leader(kafka)
    kafka.cluster.fence(first)
    assert leader(kafka) != first
    kafka.cluster.unfence(first)
    kafka.clock.advance("1s")
    kafka.cluster.elect("t")
    assert leader(kafka) == first


def test_helpers_wait_for_a_leader(kafka: Kafka) -> None:
    """They failed with KeyError -1 where an election was about to come."""
    kafka.produce("t", b"a")
    kafka.cluster.take_leader("t")
    with ThreadPoolExecutor() as threads:
        waiting = [
            threads.submit(kafka.produce, "t", b"b", timeout=DEADLINE_S),
            threads.submit(kafka.records, "t", timeout=DEADLINE_S),
        ]
        kafka.clock.advance("1s")
        assert not any(each.done() for each in waiting)
        kafka.cluster.move_leader("t", 1)
        assert [record.offset for record in waiting[0].result()] == [1]
        assert waiting[1].result()[0].value == b"a"
    kafka.cluster.take_leader("t")
    with pytest.raises(KafkaError, match="t-0 has no leader"):
        kafka.produce("t", b"c", timeout=0)


@pytest.mark.parametrize(
    ("action", "fields", "said"),
    [
        ("brokers/kill", {"broker": 1, "leader_of": "t"}, "one of broker, leader_of names the broker"),
        ("brokers/unfence", {"broker": 9}, "there is no broker 9"),
        ("followers/pause", {"broker": 1, "topic": "nope"}, "there is no partition nope-0"),
        ("followers/pause", {"broker": 1, "partition": 1}, "topic is missing"),
        ("faults", {"kind": "drop", "broker": 9}, r"there is no broker 9, only \[1, 2, 3\]"),
        ("faults", {"kind": "disk", "what": "full", "broker": 0}, "there is no broker 0"),
    ],
)
def test_what_means_nothing_is_an_error_at_the_call(
    kafka: Kafka, action: str, fields: dict[str, object], said: str
) -> None:
    """It was taken, and did nothing, or one of two things."""
    with pytest.raises(ControlFailed, match=said):
        kafka.control.ask("POST", action, fields)
