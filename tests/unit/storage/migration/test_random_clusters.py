"""Clusters at random, the same for the same seed: no ISR grows, epochs are above all, and the way back is exact."""

import json
from pathlib import Path
from random import Random

import pytest
from stepdown.storage.files.files import Files
from stepdown.storage.metadata.metadata_store import MetadataStore
from support.migrating import Migration, Partition, cluster_of, random_settings, write_directory, write_replica

BROKERS = (1, 2, 3)


def some_partition(random: Random) -> Partition:
    replicas = random.sample(BROKERS, random.randint(1, 3))
    isr = sorted(random.sample(replicas, random.randint(1, len(replicas))))
    return replicas, random.choice([*isr, -1]), random.randint(0, 9), isr


def fill(migration: Migration, topics: dict[str, list[Partition]], random: Random) -> None:
    """A folder for most replicas, and some that nobody knows."""
    for name, partitions in topics.items():
        for index, (replicas, _, epoch, _) in enumerate(partitions):
            for broker_id in replicas:
                if random.random() < 0.9:
                    path = random.choice(migration.brokers[broker_id])
                    highest = random.randint(0, epoch + (random.random() < 0.1))
                    magic = random.choice((0, 1, 2, 2, 2))
                    records = random.choice((0, 10, 20, 30))
                    write_replica(path, name, index, records, epochs=[(highest, 0)], magic=magic)
    write_replica(migration.brokers[1][0], "unknown", random.randint(0, 3))


@pytest.mark.parametrize("seed", range(25))
def test_a_random_cluster_keeps_the_rules(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    topics = {f"topic.{n}_a-b": [some_partition(random) for _ in range(random.randint(1, 3))] for n in range(4)}
    nodes = {f"/config/topics/{name}": {"config": random_settings(random)} for name in topics}
    nodes[f"/admin/delete_topics/{random.choice(sorted(topics))}"] = {}
    cluster = cluster_of(topics, {path: json.dumps(value).encode() for path, value in nodes.items()})
    brokers = {
        each: [write_directory(tmp_path / f"{each}{n}", each) for n in range(random.randint(1, 2))] for each in BROKERS
    }
    migration = Migration(tmp_path, brokers, cluster if random.random() < 0.8 else None)
    fill(migration, topics, random)
    before = migration.contents()
    plan = migration.plan()
    highest: dict[tuple[str, int], int] = {}
    for broker in plan.brokers.values():
        for each in broker.folders:
            key = each.topic, each.partition
            highest[key] = max(highest.get(key, -1), each.leader_epoch)
    for name, topic in plan.state.topics.items():
        assert "segment.bytes" not in topic.configs or int(topic.configs["segment.bytes"]) >= 1 << 20
        for index, record in enumerate(topic.replicas):
            told = cluster.topics.get(name) if migration.cluster else None
            if told is not None:
                assert set(record.isr) <= set(told.partitions[index].isr)
                assert record.leader_epoch > told.partitions[index].leader_epoch
            assert record.leader in (*record.isr, -1)
            assert record.leader_epoch > highest.get((name, index), -1) or not record.replicas
    if plan.stops:
        text = migration.path.read_text()
        start, end = text.index("stops:"), text.index("# What Kafka will not have.")
        migration.path.write_text(text[:start] + "stops: []\n\n" + text[end:])
    migration.apply()
    paths = [str(path) for path in brokers[1]]
    assert (
        MetadataStore.read(Files(read_only=True), paths).state.topics
        == migration.read().state_with_directories().topics
    )
    migration.undo()
    assert {path: data for path, (data, _) in migration.contents().items() if "plan.yaml" not in path} == {
        path: data for path, (data, _) in before.items()
    }
