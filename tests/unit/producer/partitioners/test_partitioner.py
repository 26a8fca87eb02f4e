"""KIP-480's partitioners, and the order in which the sender asks them."""

import asyncio
import random
from itertools import pairwise

import pytest
from stepdown.producer import ProducerError, RoundRobin, Sticky, TopicView, UniformSticky
from stepdown.producer.partitioners.murmur2 import partition_for_key
from stepdown.producer.partitioners.partitioner import StickyChoice
from support.producing import Cluster, producing


def view(partitions: int, available: tuple[int, ...] | None = None) -> TopicView:
    known = tuple(range(partitions)) if available is None else available
    return TopicView(topic="t", partitions=partitions, available=known)


def topics(count: int, nodes: int = 1) -> object:
    def setup(cluster: Cluster) -> None:
        cluster.topics["t"] = count
        cluster.nodes = nodes

    return setup


def test_the_choice_sticks_until_a_batch_opens_for_it() -> None:
    choice = StickyChoice(random.Random(3))
    first = choice.current(view(4))
    assert [choice.current(view(4)) for _ in range(5)] == [first] * 5
    assert choice.next(view(4), (first + 1) % 4) == first
    assert choice.next(view(4), first) != first


def test_with_two_or_more_available_the_next_choice_always_differs() -> None:
    choice, topic = StickyChoice(random.Random(5)), view(3, (0, 2))
    last = choice.current(topic)
    for _ in range(50):
        new = choice.next(topic, last)
        assert new != last and new in (0, 2)
        last = new


def test_the_only_available_partition_is_chosen_again() -> None:
    choice, topic = StickyChoice(random.Random(5)), view(4, (2,))
    assert choice.current(topic) == 2
    assert choice.next(topic, 2) == 2


def test_without_any_leader_the_choice_is_among_all_and_may_repeat() -> None:
    choice, topic = StickyChoice(random.Random(5)), view(2, ())
    drawn = [choice.current(topic)]
    for _ in range(40):
        drawn.append(choice.next(topic, drawn[-1]))
    assert set(drawn) == {0, 1}
    assert any(one == other for one, other in pairwise(drawn))


def test_sticky_hashes_keys_over_all_partitions_and_uniform_sticky_does_not() -> None:
    topic = view(5, (4,))
    assert Sticky().partition(topic, b"banana", None) == partition_for_key(b"banana", 5)
    assert Sticky().partition(topic, b"", None) == partition_for_key(b"", 5)
    assert Sticky().partition(topic, None, None) == 4
    assert UniformSticky().partition(topic, b"banana", None) == 4


def test_round_robin_counts_per_topic_over_available_partitions_or_all() -> None:
    robin = RoundRobin()
    assert [robin.partition(view(3, (0, 2)), None, None) for _ in range(4)] == [0, 2, 0, 2]
    assert [robin.partition(view(3, ()), None, None) for _ in range(3)] == [1, 2, 0]


class Recorder:
    """Sticks to partition 0 and writes down how it is called."""

    def __init__(self, answer: int = 0) -> None:
        self.answer = answer
        self.calls: list[object] = []

    def partition(self, view: TopicView, key: bytes | None, value: bytes | None) -> int:
        self.calls.append(value)
        return self.answer

    def on_new_batch(self, view: TopicView, previous: int) -> None:
        self.calls.append(previous)


async def test_a_partitioner_is_asked_twice_for_each_record_that_opens_a_batch() -> None:
    recorder = Recorder()
    async with producing(partitioner=recorder, batch_size=0) as stage:
        stage.cluster.unready.add(0)
        one, two = b"1" * 50, b"2" * 50
        stage.producer.send("t", one)
        await stage.advance()
        stage.producer.send("t", two)
        assert recorder.calls == [one, 0, one, two, 0, two]


async def test_records_with_a_partition_never_ask_the_partitioner() -> None:
    recorder = Recorder()
    async with producing(topics(2), partitioner=recorder) as stage:
        delivery = stage.producer.send("t", b"v", partition=1)
        await stage.advance()
        assert delivery.batch is not None and delivery.batch.partition == 1
        assert b"v" not in recorder.calls


async def test_a_negative_partition_fails_the_record() -> None:
    async with producing(partitioner=Recorder(-1)) as stage:
        delivery = stage.producer.send("t", b"v")
        await stage.advance()
        with pytest.raises(ProducerError, match="the partitioner gave partition -1"):
            await delivery


@pytest.mark.parametrize("fault", [KeyError, asyncio.CancelledError], ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("waits_for", ["metadata", "memory"])
async def test_a_partitioner_that_fails_fails_its_record_alone(waits_for: str, fault: type[BaseException]) -> None:
    class Picky:
        def partition(self, view: TopicView, key: bytes | None, value: bytes | None) -> int:
            if value == b"bad":
                raise fault
            return 0

        def on_new_batch(self, view: TopicView, previous: int) -> None: ...

    async with producing(partitioner=Picky(), batch_size=100, buffer_memory=200) as stage:
        sent = []
        if waits_for == "memory":
            stage.producer.send("t", b"first")
            await stage.advance()
            sent = [stage.producer.send("t", b"x" * 60) for _ in range(2)]
        bad, good = stage.producer.send("t", b"bad"), stage.producer.send("t", b"good")
        while not good.done():
            for asked in await stage.produced():
                asked.answer()
        with pytest.raises(ProducerError, match=f"the partitioner failed for a record of t: {fault.__name__}"):
            await bad
        for delivery in (*sent, good):
            assert (await delivery).partition == 0


async def test_the_very_first_record_without_key_draws_and_moves_at_once() -> None:
    sticky = Sticky(random.Random(2))
    first = StickyChoice(random.Random(2)).current(view(2))
    async with producing(topics(2), partitioner=sticky) as stage:
        delivery = stage.producer.send("t", b"v")
        await stage.advance()
        assert delivery.batch is not None and delivery.batch.partition == 1 - first


async def test_round_robin_with_one_record_per_batch_leaves_out_half_of_the_partitions() -> None:
    async with producing(topics(4), partitioner="round-robin", batch_size=0) as stage:
        stage.cluster.unready.add(0)
        stage.producer.send("t", b"first")
        await stage.advance()
        deliveries = [stage.producer.send("t", b"%d" % i) for i in range(8)]
        assert len({d.batch.partition for d in deliveries if d.batch is not None}) == 2


async def test_a_sticky_producer_fills_one_partition_and_then_moves_on() -> None:
    async with producing(topics(3), partitioner="sticky", batch_size=1000, linger_ms=10**6) as stage:
        stage.cluster.unready.add(0)
        stage.producer.send("t", b"x" * 400)
        await stage.advance()
        placed = []
        for _ in range(12):
            delivery = stage.producer.send("t", b"x" * 400)
            assert delivery.batch is not None
            placed.append(delivery.batch.partition)
        moves = sum(one != other for one, other in pairwise(placed))
        assert 4 <= moves <= 8


@pytest.mark.parametrize("settings", [{}, {"partitioner": "sticky"}], ids=["built in", "sticky"])
async def test_an_empty_key_is_a_key(settings: dict[str, object]) -> None:
    async with producing(lambda c: c.topics.update(t=7), linger_ms=1000, **settings) as stage:
        stage.producer.send("t", b"v")
        await stage.advance()
        deliveries = [stage.producer.send("t", b"v", key=b"") for _ in range(5)]
        assert {d.batch.partition for d in deliveries if d.batch is not None} == {partition_for_key(b"", 7)}
