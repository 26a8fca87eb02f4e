"""A machine that loses power at any write of the metadata keeps all that was acknowledged."""

from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from stepdown.storage.files.files import Files
from stepdown.storage.metadata.cluster_state import StoredTopic
from stepdown.storage.metadata.metadata_store import MetadataStore
from stepdown.storage.metadata.partition_record import PartitionRecord
from support.files import Crash, FaultyFiles

ALONE = PartitionRecord(replicas=(1,), isr=(1,), leader=1, directories=(UUID(int=0),))


def change(store: MetadataStore, number: int) -> None:
    """A change of one batch, or, each seventh, of several in a transaction."""
    with store.change() as state:
        partitions = 1200 if number % 7 == 6 else 2
        state.topics[f"topic-{number}"] = StoredTopic(topic_id=UUID(int=number + 1), replicas=(ALONE,) * partitions)


def lives(folder: Path, random: Random) -> None:
    """Starts and crashes, one after the other; after each, all that was acknowledged is there, and nothing half."""
    acknowledged: list[int] = []
    number = 0
    for _ in range(6):
        files = FaultyFiles(seed=random.randrange(1 << 30))
        files.crash_in = random.randint(0, 30)
        try:
            store = MetadataStore.open(files, [str(folder)])
            store.log.snapshot_bytes = 3000
            found = {name: topic.partitions for name, topic in store.state.topics.items()}
            assert found.keys() >= {f"topic-{each}" for each in acknowledged}
            assert all(partitions in (2, 1200) for partitions in found.values())
            while True:
                number += 1
                writing = store.prepare_snapshot() if number % 5 == 0 else None  # which a worker does beside changes
                change(store, number)
                acknowledged.append(number)
                if writing is not None:
                    writing()
        except Crash:
            files.lose_power()
    store = MetadataStore.open(Files(), [str(folder)])
    assert store.state.topics.keys() >= {f"topic-{each}" for each in acknowledged}
    assert acknowledged, "nothing was acknowledged"


@pytest.mark.lengthy
@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 40))])
def test_nothing_acknowledged_is_lost(tmp_path: Path, seed: int) -> None:
    lives(tmp_path, Random(seed))
