"""Compaction and retention after `stepdown migrate`: Kafka 4.4.0 keeps of a directory what its old broker keeps of a
copy."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from support.clients_raw import wait_until
from support.command import run_command
from support.deadline import DEADLINE_S
from support.kafka_4 import LATEST, ApacheKafka4
from support.kafka_old import OldKafka
from support.migrated_records import consume, records_on_disk
from support.segments import START_MS
from support.zookeeper_directory import PARTITIONS, TOPIC_TOOL, leave_directory

pytestmark = [pytest.mark.java, pytest.mark.slow]

COMPACTED = [(name, index) for name in ("compacted", "both") for index in range(PARTITIONS)]
RETAINED = {"aged": {"retention.ms": "604800000"}, "small": {"retention.bytes": "50000"}}
FRESH = 1000
"""The offset of the first record of `aged` that is not years old."""
PROPERTIES = {
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.num.partitions": "50",
    "log.cleaner.enable": "true",
    "log.retention.check.interval.ms": "1000",
    "log.retention.ms": "-1",
}

Kept = dict[tuple[str, int], list[int] | int]
"""By partition the offsets that are left of a compacted one, and the first offset of one with a retention."""


def add_retained(old: OldKafka) -> None:
    """Topics whose older segments are to go."""
    producer = Producer({"bootstrap.servers": old.address, "linger.ms": 0, "batch.size": 4000})
    for name, settings in RETAINED.items():
        words = [word for setting in settings.items() for word in ("--config", "=".join(setting))]
        layout = ("--partitions", "1", "--replication-factor", "1", "--config", "segment.bytes=20000")
        old.run_tool(TOPIC_TOOL, "--create", "--topic", name, *layout, *words)
        for number in range(2000):
            is_old = name == "aged" and number < FRESH
            producer.produce(name, b"v" * 50, partition=0, timestamp=START_MS if is_old else 0)
        assert producer.flush(DEADLINE_S) == 0


def expected_of(log_dir: Path) -> Kept:
    """By the rules: the last of each key below the active segment, and what is not too old or too much."""
    kept: Kept = {}
    for name, index in COMPACTED:
        folder = log_dir / f"{name}-{index}"
        active = max(int(path.stem) for path in folder.glob("*.log"))
        records = list(records_on_disk(folder))
        last = {key: offset for offset, _, key, _ in records if offset < active}
        kept[name, index] = [offset for offset, _, key, _ in records if offset >= active or last[key] == offset]
    kept["aged", 0] = max(int(path.stem) for path in (log_dir / "aged-0").glob("*.log") if int(path.stem) <= FRESH)
    sizes = {int(path.stem): path.stat().st_size for path in sorted((log_dir / "small-0").glob("*.log"))}
    too_much = sum(sizes.values()) - int(RETAINED["small"]["retention.bytes"])
    for base, size in sizes.items():
        kept["small", 0] = base
        too_much -= size
        if too_much < 0:
            break
    return kept


def found_at(address: str) -> Kept:
    kept: Kept = {key: [offset for offset, *_ in consume(address, *key)] for key in COMPACTED}
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader"})
    for name in RETAINED:
        kept[name, 0] = consumer.get_watermark_offsets(TopicPartition(name, 0), DEADLINE_S)[0]
    consumer.close()
    return kept


def old_and_new(folder: Path, version: str) -> Iterator[OldKafka | ApacheKafka4]:
    """The old broker over a copy, and Kafka 4 over what was migrated."""
    copy = Path(shutil.copytree(folder, folder.with_name("copy")))
    yield OldKafka(copy, version, properties=PROPERTIES)
    data, plan = folder / "data", folder / "plan.yaml"
    words = ("--broker", f"1={data}", "--zookeeper-data", folder / "zookeeper")
    for command in (("plan", *words, "--out", plan), ("apply", plan)):
        done = run_command("migrate", *command)
        assert done.exit_code == 0, done.stderr
    own = {"metadata.log.dir": str(data), "log.initial.task.delay.ms": "100"}
    yield ApacheKafka4(folder, release=LATEST, properties={**PROPERTIES, **own})


@pytest.mark.parametrize("version", ["0.10.2.2", "1.1.1", "2.8.2", "3.9.1"])
def test_compaction_and_retention_are_as_before(tmp_path: Path, version: str) -> None:
    left = leave_directory(tmp_path / "old", version, add_retained)
    expected = expected_of(left.log_dir)
    assert expected["aged", 0]
    assert expected["small", 0]
    for broker in old_and_new(left.folder, version):
        with broker:
            wait_until(lambda at=broker.address: found_at(at) == expected, f"{broker.version} has cleaned")  # type: ignore[misc]
