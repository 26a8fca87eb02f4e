"""What the producer takes from an answer to Metadata, and what it does not believe."""

import random

import pytest
from stepdown.config import HostPort
from stepdown.producer.backoff import Backoff
from stepdown.producer.metadata import MAX_BROKERS, Leader, Metadata
from stepdown.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


@pytest.mark.parametrize("odd", [2**31 - 1, (1 << 20) - 1, 1002, -1, -(2**31)])
def test_a_partition_whose_number_none_can_have_is_left_out(odd: int) -> None:
    """An answer with one partition of number 1,048,575 made a million leaders, again with every answer."""
    metadata = Metadata(
        max_age_ms=1000, max_idle_ms=1000, backoff=Backoff(initial_ms=1, max_ms=1, draws=random.Random())
    )
    metadata.use("t", 0)
    partitions = [MetadataResponsePartition(partition_index=index, leader_id=1) for index in (0, odd)]
    metadata.update(
        MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host="h", port=1)],
            topics=[MetadataResponseTopic(name="t", partitions=partitions)],
        ),
        ["t"],
        0,
    )
    assert metadata.topics["t"].view.available == (0,)
    assert metadata.topics["t"].view.partitions == 1


def test_brokers_beyond_the_most_of_a_cluster_are_left_out() -> None:
    """The producer connects to any broker it knows, and an answer could name a hundred thousand."""
    metadata = Metadata(max_age_ms=1000, max_idle_ms=1000, backoff=Backoff(initial_ms=1, max_ms=1))
    brokers = [MetadataResponseBroker(node_id=number, host="h", port=1) for number in range(MAX_BROKERS + 1)]
    metadata.update(MetadataResponse(brokers=brokers), [], 0)
    assert len(metadata.nodes) == MAX_BROKERS


def test_a_leader_that_an_answer_to_produce_names_brings_no_other_broker() -> None:
    """Each answer to Produce could add as many brokers as fit into it, and none of them was dropped."""
    metadata = Metadata(max_age_ms=1000, max_idle_ms=1000, backoff=Backoff(initial_ms=1, max_ms=1))
    metadata.use("t", 0)
    topic = MetadataResponseTopic(name="t", partitions=[MetadataResponsePartition(partition_index=0, leader_id=1)])
    brokers = [MetadataResponseBroker(node_id=1, host="h", port=1)]
    metadata.update(MetadataResponse(brokers=brokers, topics=[topic]), ["t"], 0)
    named = {number: HostPort("h", number) for number in range(2, 100)}
    assert metadata.learn_leader("t", 0, Leader(node_id=2, epoch=5), named)
    assert metadata.nodes.keys() == {1, 2}
