"""What a test holds of a Kafka: its own reads and writes, and what it refuses at the call."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Event, Thread

import pytest
from confluent_kafka import Consumer
from stepdown.client.errors import KafkaError
from stepdown.producer import Producer
from stepdown.testing import Kafka, running
from stepdown.testing.control_client import ControlFailed, HttpControl
from stepdown.testing.elsewhere import connect
from stepdown.testing.running_brokers import Running
from support.deadline import DEADLINE_S


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with running() as broker:
        yield broker


@contextmanager
def consuming(kafka: Kafka, topic: str, group: str, **settings: str) -> Iterator[Queue[bytes | None]]:
    """A member of a group in a thread, and the values that it has read; it commits them when it leaves."""
    usual = {"bootstrap.servers": kafka.bootstrap, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0}
    consumer = Consumer({**usual, **settings})
    consumer.subscribe([topic])
    values: Queue[bytes | None] = Queue()
    is_over = Event()

    def poll() -> None:
        while not is_over.is_set():
            message = consumer.poll(0.02)
            if message is not None and message.error() is None:
                values.put(message.value())

    thread = Thread(target=poll)
    thread.start()
    try:
        yield values
    finally:
        is_over.set()
        thread.join()
        consumer.close()


def test_what_is_produced_has_the_time_of_the_broker(kafka: Kafka) -> None:
    """After `clock.advance("2h")` a record of `produce` was two hours old."""
    kafka.clock.advance("2h")
    (record,) = kafka.produce("stamped", b"x")
    assert record.timestamp >= int(time.time() * 1000) + 3_600_000
    assert kafka.records("stamped") == [record]


@pytest.mark.parametrize("is_idempotent", [False, True])
async def test_a_duplicate_is_one_for_an_idempotent_producer_too(is_idempotent: bool) -> None:
    """The broker saw that it had the records of an idempotent producer: the fault fired and had no effect."""
    async with running() as kafka:
        await kafka.create_topic("t", partitions=2)
        await kafka.faults.duplicate(topic="t", partition=1)
        async with Producer(kafka.bootstrap, enable_idempotence=is_idempotent) as producer:
            for value in (b"a", b"b"):
                await producer.send("t", value, partition=0)
                await producer.send("t", value, partition=1)
        assert [record.value for record in await kafka.records("t", 0)] == [b"a", b"b"]
        assert [record.value for record in await kafka.records("t", 1)] == [b"a", b"a", b"b"]
        await kafka.faults.assert_fired()


async def test_a_duplicate_is_not_for_transactions() -> None:
    """Readers would have seen a copy outside of the transaction before it was committed."""
    async with running() as kafka:
        await kafka.create_topic("t")
        fault = await kafka.faults.duplicate()
        async with Producer(kafka.bootstrap, transactional_id="tx") as producer:
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send("t", b"a")
        assert await fault.hits() == 0
        assert [record.value for record in await kafka.records("t")] == [b"a"]


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda kafka: kafka.produce("one", b"x", partition=7), "one has 1 partition, from 0 on, and none with .* 7"),
        (lambda kafka: kafka.records("one", 7), "none with the number 7"),
        (lambda kafka: kafka.records("one", isolation="committed"), "isolation is read_uncommitted or read_committed"),
        (lambda kafka: kafka.wait_for_group("g", "stabel"), "a group is Stable, Empty, .* not 'stabel'"),
        (lambda kafka: kafka.requests.of("Prodce"), "did you mean Produce"),
        (lambda kafka: running(brokers=0), "at least one broker"),
        (lambda kafka: running(data="nowhere"), "there is no folder nowhere"),
    ],
)
def test_nonsense_is_an_error_at_the_call(kafka: Kafka, act: Callable[[Kafka], object], said: str) -> None:
    """Some of it was taken silently, and the test waited for what could not come."""
    kafka.produce("one", b"x")
    with pytest.raises(ValueError, match=said):
        act(kafka)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_one_broker_comes_back_on_its_port_with_its_data(end: str) -> None:
    """A single broker could not be stopped: "there is no POST /brokers/stop"."""
    with running() as kafka:
        kafka.produce("t", b"a")
        address = kafka.bootstrap
        getattr(kafka.cluster, end)(1)
        with pytest.raises(ControlFailed, match="broker 1 does not run: "):
            kafka.cluster.kill(1)
        with pytest.raises(ConnectionError, match="no broker answers"):
            kafka.records("t")
        with pytest.raises(ControlFailed, match="no broker runs"):
            kafka.partition("t")
        kafka.cluster.start(1)
        with pytest.raises(ControlFailed, match="runs already"):
            kafka.cluster.start()
        kafka.produce("t", b"b")
        assert [record.value for record in kafka.records("t")] == [b"a", b"b"]
        assert (kafka.bootstrap, kafka.partition("t").leader) == (address, 1)
        with pytest.raises(ControlFailed, match="there is no broker 2"):
            kafka.cluster.stop(2)


def test_a_full_disk_is_over_after_a_restart() -> None:
    with running() as kafka:
        fault = kafka.faults.disk("full", topic="t")
        with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
            kafka.produce("t", b"refused")
        kafka.cluster.kill()
        fault.remove()
        kafka.cluster.start()
        (record,) = kafka.produce("t", b"a")
        assert kafka.records("t") == [record]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_consumer_that_has_fetched_misses_nothing(protocol: str) -> None:
    """With `latest` it missed what was produced after `wait_for_group`, ten times of ten: it had no position yet."""
    with running(config={"group.coordinator.rebalance.protocols": "classic,consumer"}) as kafka:
        kafka.create_topic("t", partitions=3)
        kafka.produce("t", b"before")
        settings = {"group.protocol": protocol, "auto.offset.reset": "latest"}
        with consuming(kafka, "t", "g", **settings) as values:
            group = kafka.wait_for_consumers("g", timeout=DEADLINE_S)
            assert sum(len(member.partitions) for member in group.members) == 3
            for index in range(3):
                kafka.produce("t", str(index), partition=index)
            assert sorted(values.get(timeout=DEADLINE_S) or b"" for _ in range(3)) == [b"0", b"1", b"2"]


def test_what_a_wait_did_not_find_is_told(kafka: Kafka) -> None:
    kafka.produce("told", b"x")
    waits: list[tuple[Callable[[], object], str]] = [
        (lambda: kafka.wait_for_leader("told", other_than=1, timeout=0), "told-0 is led by 1 in epoch 0"),
        (lambda: kafka.wait_for_isr("told", 0, {1, 2}, timeout=0), r"ISR \[1\], .* after 0 s; expected: ISR \[1, 2\]"),
        (lambda: kafka.wait_for_offset_lag("nobody", timeout=0), "group nobody has no partitions"),
        (lambda: kafka.wait_for_consumers("nobody", timeout=0), "there is no group nobody"),
    ]
    for wait, said in waits:
        with pytest.raises(AssertionError, match=said):
            wait()
    with consuming(kafka, "told", "some"):
        kafka.wait_for_consumers("some", timeout=DEADLINE_S)
        with pytest.raises(AssertionError, match="group some is Stable with 1 member, not Stable with 2"):
            kafka.wait_for_consumers("some", 2, timeout=0)


def test_the_lag_of_a_group_is_waited_for(kafka: Kafka) -> None:
    kafka.produce("lag", b"a", b"b")
    with consuming(kafka, "lag", "lagging") as values:
        assert [values.get(timeout=DEADLINE_S) for _ in range(2)] == [b"a", b"b"]
    assert kafka.wait_for_offset_lag("lagging", timeout=DEADLINE_S) == {("lag", 0): 0}
    kafka.produce("lag", b"c")
    assert kafka.offset_lag("lagging") == {("lag", 0): 1}
    with pytest.raises(AssertionError, match="group lagging is behind in lag-0 by 1 after"):
        kafka.wait_for_offset_lag("lagging", timeout=0)


def test_topics_and_groups_are_deleted_over_http() -> None:
    """A broker in another process kept what every test left: neither it nor the control port could delete."""
    brokers = Running(config={"stepdown.control.listen": "127.0.0.1:0"})
    with brokers, connect(brokers.bootstrap, HttpControl(brokers.control_address)) as kafka:
        kafka.control.ask("POST", "topics/create", {"topic": "t", "partitions": 2, "config": {"retention.ms": 5}})
        assert kafka.partition("t", 1).leader == 1
        kafka.produce("old", b"x")
        with consuming(kafka, "old", "g"):
            kafka.wait_for_consumers("g", timeout=DEADLINE_S)
            with pytest.raises(ControlFailed, match="group g has members"):
                kafka.control.ask("POST", "groups/delete", {"group": "g"})
        kafka.wait_for_group("g", "Empty", timeout=DEADLINE_S)
        kafka.control.ask("POST", "groups/delete", {"group": "g"})
        kafka.control.ask("POST", "topics/delete", {"topic": "t"})
        for path, body, said in (
            ("groups/delete", {"group": "g"}, "there is no group g"),
            ("topics/delete", {"topic": "t"}, "there is no topic t"),
            ("topics/create", {"topic": "old"}, "old"),
        ):
            with pytest.raises(ControlFailed, match=said):
                kafka.control.ask("POST", path, body)
        assert kafka.records("t") == []
        kafka.delete_topic("old")
        assert kafka.records("old") == []


@pytest.mark.parametrize("number", [1, 3])
def test_reset_leaves_nothing_of_the_test_before(number: int) -> None:
    """A broker that lives longer than a test kept topics, groups, faults and time of each test."""
    with running(brokers=number) as kafka:
        kafka.produce("t", b"a")
        with consuming(kafka, "t", "g"):
            kafka.wait_for_consumers("g", timeout=DEADLINE_S)
        kafka.faults.error("Fetch", 6)
        kafka.clock.advance("2d")
        kafka.clock.pause()
        kafka.cluster.kill(1)
        kafka.reset()
        assert (kafka.records("t"), kafka.group("g").state) == ([], "Dead")
        assert (list(kafka.faults), list(kafka.requests)) == ([], [])
        assert kafka.requests.lines() == ["reset: topics, groups, transactions, faults and the clock are as new"]
        assert abs(kafka.clock.now_ms - int(time.time() * 1000)) < 86_400_000
        assert [record.offset for record in kafka.produce("t", b"b")] == [0]


@pytest.mark.parametrize("number", [1, 3])
def test_only_a_client_that_deletes_the_topic_of_groups_is_warned_of(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Each reset between two tests warned that all groups are gone."""
    with running(brokers=number) as kafka:
        for expected, delete in enumerate((kafka.reset, lambda: kafka.delete_topic("__consumer_offsets"))):
            caplog.clear()
            kafka.produce("t", b"a")
            with consuming(kafka, "t", "g"):
                kafka.wait_for_consumers("g", timeout=DEADLINE_S)
            delete()
            warned = [record.message for record in caplog.records if "are gone" in record.message]
            assert len(warned) == expected, warned


@pytest.mark.parametrize("number", [1, 3])
def test_the_end_of_a_test_leaves_only_what_an_application_needs(number: int) -> None:
    """Between tests that share topics, faults ended, and a clock that stood and brokers that were stopped did not."""
    with running(brokers=number) as kafka:
        kafka.produce("t", b"a")
        kafka.faults.error("Heartbeat", 27)
        kafka.clock.advance("2d")
        kafka.clock.pause()
        before_ms = kafka.clock.now_ms
        kafka.cluster.kill(1)
        with pytest.raises(AssertionError, match=r"armed and never fired.*: error REBALANCE_IN_PROGRESS, api="):
            kafka.end_test()
        assert (list(kafka.faults), kafka.control.ask("GET", "clock")["paused"]) == ([], False)
        assert kafka.clock.now_ms >= before_ms, "time went back for what is kept"
        assert [record.value for record in kafka.records("t")] == [b"a"]
        assert len(kafka.control.ask("GET", "brokers")["brokers"]) == number
        kafka.end_test()


@pytest.mark.parametrize("number", [1, 3])
def test_topics_are_there_at_the_start(number: int) -> None:
    """Each test had to make them itself, or to change `num.partitions` for all."""
    with running(brokers=number, topics={"orders": 3, "users": 1}) as kafka:
        assert [kafka.partition("orders", index).index for index in range(3)] == [0, 1, 2]
        assert len(kafka.partition("users").replicas) == number


def test_a_topic_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    config = {"stepdown.topics": "orders:2:1, users"}
    for _ in range(2):
        with Running(log_dir=tmp_path, config=config) as kafka:
            kafka.produce("orders", b"x", partition=1)
            kafka.partition("users")
    with Running(log_dir=tmp_path) as kafka:
        assert len(kafka.records("orders")) == 2
