"""What a coordinator loads of its topic in the background."""

from collections.abc import Callable
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.groups.coordinator import GroupCoordinator
from stepdown.broker.groups.offsets.offset_requests import Committer, NewOffset
from stepdown.broker.transactions.coordinator import TransactionCoordinator
from support.running import running_broker

Coordinator = GroupCoordinator | TransactionCoordinator
COORDINATORS: dict[str, Callable[[Broker], Coordinator]] = {
    "__consumer_offsets": lambda broker: broker.groups,
    "__transaction_state": lambda broker: broker.transactions,
}


def known(coordinator: Coordinator) -> list[object]:
    return [*(coordinator.groups if isinstance(coordinator, GroupCoordinator) else coordinator.transactions)]


@pytest.mark.parametrize("topic", COORDINATORS)
async def test_a_topic_that_is_deleted_while_it_is_loaded_leaves_nothing(tmp_path: Path, topic: str) -> None:
    """A broker that had just become the coordinator kept the groups and transactional ids that `reset()` deletes."""
    settings = {"offsets_topic_num_partitions": 1, "transaction_state_log_num_partitions": 1}
    async with running_broker(tmp_path, **settings) as broker:
        await broker.groups.commit_offsets(Committer(group_id="g"), [NewOffset(topic="t", partition=0, offset=9)])
        await broker.transactions.init_producer("tx", 60_000, None)
        coordinator = COORDINATORS[topic](broker)
        assert len(known(coordinator)) == 1
        found = broker.cluster.topics[topic]
        for lead in broker.topics.on_epoch:
            lead(found.partitions[0])
        assert coordinator.is_loading() and known(coordinator) == []
        for delete in broker.topics.on_deleted:
            delete([found])
        assert not coordinator.is_loading()
        await coordinator.await_loading()
        assert known(coordinator) == []
