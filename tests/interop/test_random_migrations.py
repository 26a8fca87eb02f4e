"""Random log directories, from a seed: Kafka 4.4.0 starts on what `stepdown migrate` made of them, or the plan says why
not; it has every record, and undo gives folders that it set aside their names again.

`make random-migrations` has 200 of them.
"""

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest
from stepdown.bench.failures import BenchFailure
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import Codec
from stepdown.storage.files.files import Files
from stepdown.storage.files.partition_metadata import encode_uuid, write_topic_id
from stepdown.storage.migration.directory_survey import RefusedDirectory
from support.kafka_4 import LATEST, ApacheKafka4
from support.migrated_records import as_clients_see, consume, records_on_disk
from support.migrating import Migration, Partition, cluster_of, random_settings, write_directory, write_replica

pytestmark = pytest.mark.java

FIRST = int(os.environ.get("MIGRATION_FIRST", "100"))
SEEDS = int(os.environ.get("MIGRATION_SEEDS", "20"))
CODECS = {
    0: (Codec.NONE, Codec.GZIP, Codec.SNAPPY),
    1: (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4),
    2: tuple(Codec),
}
UNIQUE = "0123456789abcdef" * 2
NOTHING_IS_DELETED = {
    "log.cleaner.enable": "false",
    "log.initial.task.delay.ms": "86400000",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}


def random_migration(folder: Path, dice: Random) -> Migration:
    """A broker of one or two directories: formats, codecs, settings, folders of all kinds, stops of both kinds, topics
    with and without ids, reassignments under way, and at times a ZooKeeper that is older than the disks."""
    disks = [write_directory(folder / name, 1) for name in ("data", "more")[: dice.randint(1, 2)]]
    topics: dict[str, list[Partition]] = {
        f"topic.{number}_a-b": [([1], dice.choice((1, -1)), dice.randint(0, 9), [1])] * dice.randint(1, 3)
        for number in range(dice.randint(1, 4))
    }
    for name, partitions in topics.items():
        for index, (_, _, epoch, _) in enumerate(partitions):
            _write(dice.choice(disks), name, index, dice.randint(0, epoch) + (dice.random() < 0.02), dice)
    _write(disks[0], "unknown", 0, 0, dice)
    first = next(path for path in sorted(disks[0].iterdir()) if path.is_dir())
    for kind in dice.sample(("delete", "stray"), dice.randint(0, 2)):
        shutil.copytree(first, disks[-1] / f"{first.name}.{UNIQUE}-{kind}")
    if len(disks) > 1 and first.name != "unknown-0":
        shutil.copytree(first, disks[1] / f"{first.name}.{UNIQUE}-future")
    nodes: dict[str, Any] = {f"/config/topics/{name}": {"config": random_settings(dice)} for name in topics}
    for name, partitions in topics.items():
        if dice.random() < 0.5:
            nodes[f"/brokers/topics/{name}"] = _newer_topic(disks, name, len(partitions), dice)
    if dice.random() < 0.3:
        nodes[f"/admin/delete_topics/{dice.choice(sorted(topics))}"] = {}
    if dice.random() < 0.2:
        asked = {"topic": dice.choice(sorted(topics)), "partition": 0, "replicas": [2]}
        nodes["/admin/reassign_partitions"] = {"partitions": [asked]}
    if dice.random() < 0.5:
        _stop_uncleanly(disks, dice)
    return Migration(
        folder, {1: disks}, cluster_of(topics, {at: json.dumps(each).encode() for at, each in nodes.items()})
    )


def _write(disk: Path, topic: str, index: int, epoch: int, dice: Random) -> None:
    """Segments of formats as they came after each other, the last of which may be empty."""
    base = 0
    for magic in sorted(dice.choices((0, 1, 2, 2), k=dice.randint(1, 3))):
        records, codec = dice.choice((0, 10, 30)), dice.choice(CODECS[magic])
        write_replica(disk, topic, index, records, epochs=[(epoch, 0)], magic=magic, codec=codec, base=base)
        base += records


def _newer_topic(disks: Sequence[Path], name: str, partitions: int, dice: Random) -> dict[str, Any]:
    """The topic as 2.8 has it, with an id, which some folders have too; a reassignment may be under way."""
    topic_id = UUID(int=dice.getrandbits(128))
    for folder in (path for disk in disks for path in sorted(disk.glob(f"{name}-[0-9]"))):
        if dice.random() < 0.5:
            write_topic_id(Files(), str(folder), topic_id)
    fields: dict[str, Any] = {"version": 3, "topic_id": encode_uuid(topic_id)}
    replicas = {str(index): [1] for index in range(partitions)}
    if dice.random() < 0.5:
        replicas["0"] = dice.choice(([1, 2], [2, 1]))
        removing = {"0": [1]} if dice.random() < 0.5 else {}
        fields |= {"adding_replicas": {"0": [2]}, "removing_replicas": removing}
    return {**fields, "partitions": replicas}


def _stop_uncleanly(disks: Sequence[Path], dice: Random) -> None:
    """No mark; some indexes are gone, and the last batch of some segments is there by half."""
    for disk in disks:
        (disk / ".kafka_cleanshutdown").unlink()
        for folder in sorted(disk.glob("*-[0-9]")):
            last = max(folder.glob("*.log"))
            if dice.random() < 0.3:
                last.with_suffix(dice.choice((".index", ".timeindex"))).unlink()
            if dice.random() < 0.3 and (data := last.read_bytes()):
                *_, batch = iter_batches(data)
                offset = (batch.last_offset + 1).to_bytes(8, "big")
                last.write_bytes(data + (offset + bytes(batch.data)[8:])[: dice.randint(1, len(batch.data) - 1)])


def folders(migration: Migration) -> set[str]:
    """The names of folders without those of partitions that go or move."""
    found = (path.name for disk in migration.brokers[1] for path in disk.iterdir() if path.is_dir())
    return {name for name in found if UNIQUE not in name}


def check(folder: Path, seed: int) -> bool:
    """Whether it came as far as Kafka."""
    migration = random_migration(folder, Random(seed))
    before, disks = folders(migration), migration.brokers[1]
    metas = [(disk / "meta.properties").read_bytes() for disk in disks]
    plan = migration.plan()
    if plan.stops:
        with pytest.raises(RefusedDirectory):
            migration.apply()
        return False
    records = {
        (name, index): [seen for disk in disks for seen in records_on_disk(disk / f"{name}-{index}")]
        for name, topic in plan.state.topics.items()
        for index in range(topic.partitions)
    }
    migration.apply()
    own = {"log.dirs": ",".join(map(str, disks)), "metadata.log.dir": str(disks[0])}
    with ApacheKafka4(folder, release=LATEST, properties={**NOTHING_IS_DELETED, **own}) as kafka:
        for (name, index), expected in records.items():
            assert consume(kafka.address, name, index) == as_clients_see(expected), (seed, name, index)
    migration.undo()
    assert before <= folders(migration), seed
    assert [(disk / "meta.properties").read_bytes() for disk in disks] == metas
    return True


@pytest.mark.parametrize("seed", [1, 2])
def test_kafka_4_starts_on_a_random_directory(tmp_path: Path, seed: int) -> None:
    assert check(tmp_path, seed)


@pytest.mark.parametrize("was_clean", [True, False], ids=["clean", "unclean"])
def test_kafka_4_starts_where_an_index_is_larger_than_its_setting(tmp_path: Path, was_clean: bool) -> None:
    """Fault: it did not, and the plan said nothing. With the setting as it was it does not, and cuts the index."""
    disk = write_directory(tmp_path / "data", 1)
    write_replica(disk, "orders", 0, 200)
    if not was_clean:
        (disk / ".kafka_cleanshutdown").unlink()
    small = json.dumps({"config": {"segment.index.bytes": "96", "index.interval.bytes": "0"}}).encode()
    migration = Migration(
        tmp_path, {1: [disk]}, cluster_of({"orders": [([1], 1, 4, [1])]}, {"/config/topics/orders": small})
    )
    (line,) = migration.plan().changes
    assert line.startswith("orders: segment.index.bytes=96 becomes ")
    properties = {**NOTHING_IS_DELETED, "log.dirs": str(disk), "metadata.log.dir": str(disk)}
    planned = migration.path.read_text()
    migration.path.write_text(re.sub(r'("segment\.index\.bytes": )"\d+"', r'\g<1>"96"', planned))
    assert migration.read().state.topics["orders"].configs["segment.index.bytes"] == "96"
    migration.apply()
    with pytest.raises(BenchFailure):
        ApacheKafka4(tmp_path, release=LATEST, properties=properties).start()
    migration.undo()
    migration.plan()
    migration.apply()
    with ApacheKafka4(tmp_path, release=LATEST, properties=properties) as kafka:
        assert len(consume(kafka.address, "orders", 0)) == 200


def test_the_plan_refuses_few_random_directories(tmp_path: Path) -> None:
    stops = [random_migration(tmp_path / str(seed), Random(seed)).plan().stops for seed in range(40)]
    assert 0 < sum(map(bool, stops)) < 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_kafka_4_starts_on_random_directories(tmp_path: Path, seed: int) -> None:
    started = check(tmp_path, seed)
    print(f"seed {seed}: {'Kafka started' if started else 'the plan says why not'}")
    shutil.rmtree(tmp_path)
