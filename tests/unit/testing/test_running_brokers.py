"""`stepdown.running()`: a broker for a `with` block, and what a test asks of it."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest
import stepdown
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from stepdown.client.errors import KafkaError
from stepdown.config import ConfigError
from stepdown.testing import TestRecord, running
from stepdown.testing.record_comparison import MOST_CHARACTERS, MOST_LINES
from support.deadline import DEADLINE_S


def values(records: list[TestRecord]) -> list[bytes | None]:
    return [record.value for record in records]


def descriptors_open() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_is_produced_can_be_read() -> None:
    with stepdown.running() as kafka:
        kafka.create_topic("orders", 3, config={"retention.ms": 1000})
        (written, _) = kafka.produce("orders", b"one", None, key="k", headers={"h": "v"}, timestamp=5)
        assert kafka.records("orders")[0] == written
        assert written.key == b"k" and written.headers == (("h", b"v"),) and written.timestamp == 5
        assert values(kafka.records("orders", written.partition)) == [b"one", None]


@pytest.mark.parametrize("brokers", [1, 2])
def test_the_brokers_can_be_looked_at(brokers: int) -> None:
    with running(brokers=brokers, http=True) as kafka, urlopen(f"{kafka.page}api/overview") as answer:
        assert len(json.load(answer)["brokers"]) == brokers


def test_without_http_there_is_no_page() -> None:
    with running() as kafka:
        assert kafka.page == ""


def test_no_thread_descriptor_or_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with running() as kafka:  # what is imported and kept by the first
        kafka.produce("t", b"x")
    threads, descriptors = set(threading.enumerate()), descriptors_open()
    for _ in range(3):
        with running() as kafka:
            kafka.produce("t", b"x")
            assert kafka.records("t")
    assert not set(threading.enumerate()) - threads  # a thread of another test may end meanwhile
    assert descriptors_open() == descriptors
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_setting_is_said_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ConfigError, match=r"log\.retention"), running(config={"log.retntion.ms": 1}):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("begin", [stepdown.running, stepdown.running_async])
def test_a_name_that_running_does_not_have_is_said(begin: Callable[..., object]) -> None:
    """The error named a class of this package."""
    with pytest.raises(TypeError, match=r"^running takes act_as, .*, not htp; did you mean http\?$"):
        begin(htp=True)


def test_errors_of_the_broker_have_their_names() -> None:
    with running() as kafka, pytest.raises(KafkaError) as refused:
        kafka.create_topic("no spaces")
    assert refused.value.code == "INVALID_TOPIC_EXCEPTION"


def test_two_brokers_at_once_know_nothing_of_each_other() -> None:
    with running() as one, running() as other:
        one.produce("t", b"one")
        other.produce("t", b"other")
        assert (values(one.records("t")), values(other.records("t"))) == ([b"one"], [b"other"])


def test_a_log_directory_is_lent_and_stays_as_it_is(tmp_path: Path) -> None:
    from stepdown.testing.running_brokers import Running

    with Running(log_dir=tmp_path) as kafka:
        kafka.produce("t", b"prepared")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for _ in range(2):
        with running(data=tmp_path) as kafka:
            kafka.produce("t", b"more")
            assert values(kafka.records("t")) == [b"prepared", b"more"]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


async def test_the_same_is_awaited_beside_a_client_of_the_loop() -> None:
    async with stepdown.running() as kafka:
        await kafka.create_topic("t")
        consumer = AIOKafkaConsumer(
            "t", bootstrap_servers=kafka.bootstrap, group_id="g", auto_offset_reset="earliest", enable_auto_commit=False
        )
        await consumer.start()
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
        await producer.start()
        try:
            await producer.send_and_wait("t", b"x", key=b"k")
            group = await kafka.wait_for_group("g", members=1)
            assert group.members[0].partitions == [("t", 0)]
            await asyncio.wait_for(consumer.getone(), DEADLINE_S)
            await consumer.commit()
            assert await kafka.committed("g") == {("t", 0): 1}
            await kafka.assert_produces("t", {"key": "k", "value": "x", "headers": {}})
        finally:
            await producer.stop()
            await consumer.stop()
        await kafka.wait_for_group("g", "Empty", members=0)


def test_a_difference_is_told_by_field() -> None:
    with running() as kafka:
        kafka.produce("t", b"one", key="k")
        kafka.produce("t", b"three")
        with pytest.raises(AssertionError) as difference:
            kafka.assert_produces("t", {"key": "k", "value": "two"}, timeout=0)
    assert str(difference.value).splitlines() == [
        "1 record expected, 2 found",
        "! t-0@0 differs in value",
        "!   value expected b'two'",
        "!   value found    b'one'",
        "+ unexpected t-0@1 key=None value=b'three' headers={}",
    ]


def test_a_difference_of_many_records_fits_a_screen() -> None:
    """One missing record was as many lines as there were others, each as long as its value."""
    with running() as kafka:
        kafka.create_topic("t")
        kafka.produce("t", *(f"{number} {'x' * 5000}" for number in range(1, 100)))
        with pytest.raises(AssertionError) as difference:
            kafka.assert_produces("t", *({"offset": number} for number in range(50)), timeout=0)
    first, *lines, last = str(difference.value).splitlines()
    assert (first, last) == ("50 records expected, 99 found", f"({99 - MOST_LINES} more lines)")
    assert len(lines) == MOST_LINES and lines[0].startswith("+ unexpected t-0@50 key=None value=b'51 xxx")
    assert max(map(len, lines)) == MOST_CHARACTERS + len("…")


def test_records_of_several_partitions_may_come_in_any_order() -> None:
    with running() as kafka:
        kafka.create_topic("t", 2)
        kafka.produce("t", "a", partition=1)
        kafka.produce("t", "b", partition=0)
        kafka.assert_produces("t", "a", {"value": b"b", "partition": 0})
        with pytest.raises(AssertionError, match="- missing    value=b'c'"):
            kafka.assert_produces("t", "a", "b", "c", timeout=0)


def test_a_field_that_records_do_not_have_is_an_error() -> None:
    with running() as kafka, pytest.raises(TypeError, match="no 'valu'"):
        kafka.assert_produces("t", {"valu": b"x"}, timeout=0)


def test_what_does_not_come_is_told_with_what_is_there() -> None:
    with running() as kafka:
        kafka.produce("t", b"x")
        with pytest.raises(AssertionError, match="t has 1 record after 0 s; expected: 2"):
            kafka.wait_for_records("t", 2, timeout=0)
        with pytest.raises(AssertionError, match="there is no group g after 0 s; expected: Stable with 2 members"):
            kafka.wait_for_group("g", members=2, timeout=0)
