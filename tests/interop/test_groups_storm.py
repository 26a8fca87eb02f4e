"""Twenty members of four libraries join, leave and are killed while a topic is written and read.

What happened is read from the log of `__consumer_offsets` afterwards: all generations and all commits are in it.
"""

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import confluent_kafka
import pytest
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.protocol.coordinator.consumer_protocol import decode_assignment
from stepdown.protocol.coordinator.group_log import GroupRecord, decode_group_record
from stepdown.protocol.coordinator.group_records import GroupMetadataValue
from stepdown.protocol.coordinator.offset_records import OffsetCommitKey
from stepdown.protocol.records.batches import iter_batches
from support.broker import Stepdown
from support.deadline import DEADLINE_S
from support.group_members import KafkaPythonMember

GROUP, TOPIC = "storm", "t"
PARTITIONS = 12
PROCESSES, MEMBERS = 5, 4
KINDS = ("kafka-python", "confluent", "aiokafka", "kafka-python-at-0.9")
CHANGES = 8
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "100",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "1",
}
SCRIPT = Path(__file__).parents[1] / "support" / "storm_members.py"


class Writer(threading.Thread):
    """Writes to all partitions until it is stopped; `written` counts records per partition."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.written = dict.fromkeys(range(PARTITIONS), 0)
        self._producer = confluent_kafka.Producer({"bootstrap.servers": address, "acks": "all", "linger.ms": 20})
        self._stopping = threading.Event()

    def run(self) -> None:
        for partition in cycle(range(PARTITIONS)):
            if self._stopping.is_set():
                break
            self._producer.produce(TOPIC, b"v", partition=partition)
            self.written[partition] += 1
            self._stopping.wait(0.002)
        assert self._producer.flush(DEADLINE_S) == 0

    def stop(self) -> None:
        self._stopping.set()
        self.join()


class Storm:
    """Processes of members; what each has read goes to a file of its own."""

    def __init__(self, address: str, folder: Path) -> None:
        self._address = address
        self._folder = folder
        self._kinds = cycle(KINDS)
        self._running: list[subprocess.Popen[bytes]] = []
        self._started = 0

    def start(self) -> None:
        self._started += 1
        with (self._folder / f"read-{self._started}").open("wb") as out:
            command = [sys.executable, "-P", str(SCRIPT), next(self._kinds), self._address, GROUP, TOPIC, str(MEMBERS)]
            self._running.append(subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL))

    def end_one(self, chance: random.Random) -> None:
        """Kills a process, or asks it to leave."""
        process = self._running.pop(chance.randrange(len(self._running)))
        process.send_signal(chance.choice((signal.SIGKILL, signal.SIGTERM)))
        process.wait(DEADLINE_S)

    def end(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()

    def read(self) -> set[tuple[int, int]]:
        found = set()
        for file in self._folder.glob("read-*"):
            for line in file.read_text().splitlines():
                partition, offset = line.split()
                found.add((int(partition), int(offset)))
        return found


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Stepdown]:
    with Stepdown(tmp_path / "broker", properties=PROPERTIES) as broker:
        broker.create_topic(TOPIC, partitions=PARTITIONS)
        yield broker


def history(broker: Stepdown) -> list[GroupRecord]:
    """All records of the group, oldest first."""
    records = []
    (log,) = find_partition_logs(PlaceFiles(), str(broker.log_dir), ["__consumer_offsets"])
    for segment in log.segments:
        for batch in iter_batches(Path(segment.path).read_bytes()[: segment.size_bytes]):
            for record in batch.records():
                decoded = decode_group_record(record.key or b"", record.value)
                if decoded is not None and decoded.value is not None:
                    records.append(decoded)
    return records


def owners(generation: GroupMetadataValue) -> list[tuple[str, int]]:
    return [
        (each.topic, partition)
        for member in generation.members
        for each in decode_assignment(member.assignment).assigned_partitions
        for partition in each.partitions
    ]


def test_a_storm_of_rebalances_loses_nothing_and_never_goes_back(broker: Stepdown, tmp_path: Path) -> None:
    chance = random.Random(848)
    storm, writer = Storm(broker.address, tmp_path), Writer(broker.address)
    writer.start()
    try:
        for _ in range(PROCESSES):
            storm.start()
        for _ in range(CHANGES):
            time.sleep(chance.uniform(1.0, 2.5))  # the weather: nothing is waited for
            storm.end_one(chance)
            storm.start()
    finally:
        storm.end()
        writer.stop()

    records = history(broker)
    check_generations([record.value for record in records if isinstance(record.value, GroupMetadataValue)])
    committed = check_commits(records)
    left = sum(count - committed.get(partition, 0) for partition, count in writer.written.items())
    rest = KafkaPythonMember(name="last").reads(broker.address, GROUP, TOPIC, left)
    assert storm.read() | set(rest) == {
        (partition, offset) for partition, count in writer.written.items() for offset in range(count)
    }


def check_generations(generations: Sequence[GroupMetadataValue]) -> None:
    """Each comes once, in order, and gives no partition to two members."""
    assert [each.generation for each in generations] == sorted({each.generation for each in generations})
    assert len(generations) >= 5
    for generation in generations:
        owned = owners(generation)
        assert len(owned) == len(set(owned)), f"generation {generation.generation}: {sorted(owned)}"


def check_commits(records: Sequence[GroupRecord]) -> dict[int, int]:
    """No committed offset goes back; the last ones, by partition."""
    committed: dict[int, int] = {}
    for record in records:
        if isinstance(record.key, OffsetCommitKey):
            partition, offset = record.key.partition, record.value.offset
            assert offset >= committed.get(partition, 0), f"partition {partition} went back"
            committed[partition] = offset
    return committed
