"""What the producer takes from an answer to Metadata, and what it does not believe."""

import random

import pytest
from stepdown.producer.network.backoff import Backoff
from stepdown.producer.network.metadata import Metadata
from stepdown.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


@pytest.mark.parametrize("odd", [2**31 - 1, -1, -(2**31)])
def test_a_partition_whose_number_none_can_have_is_left_out(odd: int) -> None:
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
