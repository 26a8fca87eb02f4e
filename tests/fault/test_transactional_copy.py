"""A topic copied into another by transactions, while client and broker are killed: every record once, in its place."""

import os
import random
import select
import subprocess
import sys
from pathlib import Path

import confluent_kafka
import pytest
from stepdown.protocol.records.batches import iter_batches
from support.broker import BrokerProcess, broker_under_test
from support.clients import Span
from support.clients_python import PYTHON_CLIENTS
from support.deadline import DEADLINE_S
from support.proxy import RecordingProxy

PARTITIONS = 2
OLD_CLIENT = next(client for client in PYTHON_CLIENTS if client.name == "kafka-python-at-0.9")
SETTINGS = {"transaction.state.log.num.partitions": "2", "offsets.topic.num.partitions": "2"}


class Copier:
    """The program, restarted as often as need be."""

    def __init__(self, address: str, records: int, noise: random.Random) -> None:
        self._address = address
        self._records = records
        self._noise = noise
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        arguments = [self._address, "in", "out", str(PARTITIONS), str(self._records), str(self._noise.getrandbits(32))]
        support = Path(__file__).resolve().parents[1]
        return subprocess.Popen(
            [sys.executable, "-m", "support.transactional_copier", *arguments],
            cwd=support,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def run(self, commits: int) -> bool:
        """Whether all is copied; else so many transactions more are committed, or it has died."""
        if self._process is None:
            self._process = self._start()
        assert self._process.stdout is not None
        while commits:
            line = self._line(self._process.stdout.fileno())
            if not line:
                code = self._process.wait()
                self._process = None
                return code == 0
            commits -= line.count(b"\n")
            commits = max(commits, 0)
        return False

    def _line(self, fd: int) -> bytes:
        ready = select.select([fd], [], [], DEADLINE_S)[0]
        return os.read(fd, 4096) if ready else self._give_up()

    def _give_up(self) -> bytes:
        self.kill()
        raise AssertionError(f"nothing was committed for {DEADLINE_S} s")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def fill(address: str, records: int) -> list[list[bytes]]:
    """What was written to each partition of `in`."""
    producer = confluent_kafka.Producer({"bootstrap.servers": address, "enable.idempotence": True})
    written = [[b"%d-%d" % (index, number) for number in range(records)] for index in range(PARTITIONS)]
    for index, values in enumerate(written):
        for value in values:
            producer.produce("in", value, partition=index)
    assert producer.flush(DEADLINE_S) == 0
    return written


def read_committed(address: str) -> list[list[bytes]]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition("out", index, 0) for index in range(PARTITIONS)])
    found: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    ended = 0
    while ended < PARTITIONS:
        message = consumer.poll(DEADLINE_S)
        assert message is not None
        if message.error() is not None:
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
            ended += 1
        else:
            found[message.partition()].append(message.value())
    consumer.close()
    return found


def data_records(broker: BrokerProcess, index: int) -> int:
    """How many records, committed or not, lie in a partition of `out`."""
    logs = sorted((broker.log_dir / f"out-{index}").glob("*.log"))
    batches = [batch for log in logs for batch in iter_batches(log.read_bytes())]
    return sum(batch.record_count or 0 for batch in batches if not batch.is_control)


def copy_with_kills(folder: Path, kills: int, records: int, seed: int) -> None:
    noise = random.Random(seed)
    proxy = RecordingProxy()
    broker = broker_under_test(folder, advertised=proxy.address, properties=SETTINGS)
    broker.start()
    proxy.forward_to(broker.address)
    copier = Copier(proxy.address, records, noise)
    try:
        for topic in ("in", "out"):
            broker.create_topic(topic, partitions=PARTITIONS)
        written = fill(proxy.address, records)
        killed = 0
        while not copier.run(commits=noise.randint(1, 4) if killed < kills else 1 << 30):
            if killed < kills:
                killed += 1
                if noise.random() < 0.5:
                    copier.kill()
                else:
                    broker.kill()
                    broker.start()
                    proxy.forward_to(broker.address)
        assert killed == kills, f"all was copied after {killed} kills: give it more records"
        assert read_committed(proxy.address) == written
        for index in range(PARTITIONS):
            check_old_client(proxy, broker, index)
    finally:
        copier.kill()
        broker.kill()
        proxy.close()


def check_old_client(proxy: RecordingProxy, broker: BrokerProcess, index: int) -> None:
    """It sees what was aborted too, but each record once and no marker."""
    count = data_records(broker, index)
    spans = [Span(topic="out", partition=index, count=count)]
    received = OLD_CLIENT.consume(proxy.address, "old", spans)
    offsets = [each.offset for each in received]
    assert len(offsets) == count
    assert offsets == sorted(set(offsets))


def test_a_copy_survives_a_handful_of_kills(tmp_path: Path) -> None:
    copy_with_kills(tmp_path, kills=6, records=300, seed=1)


@pytest.mark.slow
def test_a_copy_survives_a_hundred_kills(tmp_path: Path) -> None:
    copy_with_kills(tmp_path, kills=100, records=6000, seed=2)
