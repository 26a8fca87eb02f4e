"""KIP-794: sticks by bytes, weighs by queue length, leaves stalled brokers out."""

import random
from collections import Counter

from stepdown.producer.partitioners.built_in_partitioner import BuiltInPartitioner
from stepdown.producer.partitioners.partitioner import TopicView
from support.producing import Cluster, producing

VIEW = TopicView(topic="t", partitions=3, available=(0, 1, 2))


def test_it_stays_until_batch_size_bytes_and_a_full_batch() -> None:
    built_in = BuiltInPartitioner(1000, random.Random(1))
    choice = built_in.current(VIEW)
    assert not built_in.count_append(choice, 999, VIEW, True)
    assert not built_in.count_append(choice, 1, VIEW, False)
    assert built_in.current(VIEW) is choice
    assert built_in.count_append(choice, 0, VIEW, True)
    assert built_in.current(VIEW) is not choice


def test_twice_batch_size_bytes_end_the_stay_in_any_case() -> None:
    built_in = BuiltInPartitioner(1000, random.Random(1))
    choice = built_in.current(VIEW)
    assert built_in.count_append(choice, 2000, VIEW, False)


def test_queue_lengths_become_the_table_of_the_proposal() -> None:
    built_in = BuiltInPartitioner(1000, random.Random(1))
    built_in.update_load([0, 3, 1], [0, 1, 2], 3)
    assert list(built_in.table) == [4, 5, 8]


def test_draws_follow_the_table() -> None:
    built_in = BuiltInPartitioner(1, random.Random(1))
    built_in.update_load([0, 3, 1], [0, 1, 2], 3)
    drawn: Counter[int] = Counter()
    for _ in range(8000):
        choice = built_in.current(VIEW)
        drawn[choice.partition] += 1
        built_in.count_append(choice, 2, VIEW, True)
    assert [round(drawn[p] / 1000) for p in range(3)] == [4, 1, 3]


def test_equal_queues_and_single_partitions_have_no_table() -> None:
    built_in = BuiltInPartitioner(1, random.Random(1))
    built_in.update_load([2, 2, 2], [0, 1, 2], 3)
    assert not built_in.table
    built_in.update_load([5], [0], 1)
    assert not built_in.table


def test_equal_queues_have_a_table_when_a_partition_was_left_out() -> None:
    built_in = BuiltInPartitioner(1, random.Random(1))
    built_in.update_load([2, 2], [0, 2], 3)
    assert list(built_in.table) == [1, 2]


def test_without_leaders_it_draws_among_all() -> None:
    built_in = BuiltInPartitioner(1, random.Random(1))
    none = TopicView(topic="t", partitions=3, available=())
    drawn = set()
    for _ in range(50):
        choice = built_in.current(none)
        drawn.add(choice.partition)
        built_in.count_append(choice, 2, none, True)
    assert drawn == {0, 1, 2}


def two_brokers(cluster: Cluster) -> None:
    cluster.topics["t"], cluster.nodes = 2, 2


async def test_a_partition_whose_broker_stalls_is_left_out() -> None:
    async with producing(two_brokers, batch_size=100, partitioner_availability_timeout_ms=50) as stage:
        for partition in (0, 1):
            stage.producer.send("t", b"warm", partition=partition)
        for asked in await stage.produced():
            asked.answer()
        stage.cluster.unready.add(1)
        stage.producer.send("t", b"stuck", partition=1)
        await stage.advance()
        stage.producer.send("t", b"more", partition=0)
        for _ in range(2):
            await stage.advance(60)
            stage.producer.send("t", b"more", partition=0)
            await stage.advance()
        deliveries = [stage.producer.send("t", b"x" * 90) for _ in range(20)]
        assert {d.batch.partition for d in deliveries[2:] if d.batch is not None} == {0}


async def test_ignore_keys_lets_keyed_records_stick_too() -> None:
    async with producing(two_brokers, partitioner_ignore_keys=True, linger_ms=1000) as stage:
        stage.producer.send("t", b"v", partition=0)
        await stage.advance()
        deliveries = [stage.producer.send("t", b"v", key=b"%d" % i) for i in range(20)]
        assert len({d.batch.partition for d in deliveries if d.batch is not None}) == 1


async def test_records_with_a_key_do_not_end_a_stay() -> None:
    async with producing(lambda c: c.topics.update(t=5), batch_size=200, linger_ms=1000) as stage:
        stage.producer.send("t", b"v")
        await stage.advance()
        choice = stage.producer._accumulator._built_in["t"].current(TopicView(topic="t", partitions=5, available=()))
        before = choice.produced_bytes
        for number in range(50):
            stage.producer.send("t", b"v" * 50, key=b"%d" % number)
        assert choice.produced_bytes == before
        stage.producer.send("t", b"v")
        assert choice.produced_bytes > before


async def test_a_stay_counts_the_header_of_the_batch_that_it_opens() -> None:
    async with producing(linger_ms=1000) as stage:
        stage.producer.send("t", b"warm")
        await stage.advance()
        choice = stage.producer._accumulator._built_in["t"].current(TopicView(topic="t", partitions=1, available=(0,)))
        stage.producer.send("t", b"v" * 10)
        [queue] = stage.producer._accumulator._queues
        assert choice.produced_bytes == queue[0].estimated_bytes


async def test_lengths_of_queues_count_only_once_every_partition_has_one() -> None:
    async with producing(lambda c: c.topics.update(t=2), linger_ms=1000, batch_size=100) as stage:
        stage.cluster.unready.add(0)
        stage.producer.send("t", b"v")
        await stage.advance()
        built_in = stage.producer._accumulator._built_in["t"]
        used = built_in.current(TopicView(topic="t", partitions=2, available=())).partition
        for _ in range(3):
            stage.producer.send("t", b"x" * 90, partition=used)
        await stage.advance()
        assert not built_in.table
        stage.producer.send("t", b"y", partition=1 - used)
        await stage.advance()
        assert built_in.table
