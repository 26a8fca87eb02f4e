"""`delete.retention.ms=9223372036854775807` was an OverflowError in the cleaner, twice a second.

Each numeric setting of a topic and of the broker at both ends of what it may be, with a broker that appends, rolls,
retains, cleans, flushes, expires and fetches: nothing is left out of a round, and no error is logged.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metadata.topics import NewTopic
from stepdown.config import ConfigError, load
from stepdown.config.keys.key import Key, Status
from stepdown.config.keys.value_types import ValueType
from stepdown.config.tables.all_keys import BROKER_KEYS, TOPIC_KEYS
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.client import RawClient
from support.running import running_broker

TYPES: dict[ValueType, tuple[float, float]] = {
    ValueType.SHORT: (-(2**15), 2**15 - 1),
    ValueType.INT: (-(2**31), 2**31 - 1),
    ValueType.LONG: (-(2**63), 2**63 - 1),
    ValueType.DOUBLE: (-1.7e308, 1.7e308),
}
ALLOWED = (ErrorCode.NONE, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_TIMESTAMP)
"""What a limit of size or time may answer to a record."""
ALLOWED_HERE = (*ALLOWED, ErrorCode.NOT_ENOUGH_REPLICAS)


def ends_of(key: Key) -> list[str]:
    """The lowest and the highest value that the key takes, where it is a number."""
    if key.kind not in TYPES or key.status is not Status.ACTED_ON:
        return []
    low, high = TYPES[key.kind]
    check = key.check
    candidates = [low, getattr(check, "low", low), getattr(check, "extra", low), getattr(check, "high", high), high]
    return sorted({str(each) for each in candidates if check is None or check.accepts(each)})


def rows(keys: dict[str, Key]) -> Iterator[tuple[str, str]]:
    yield from ((name, end) for name, key in keys.items() for end in ends_of(key))


async def live(broker: Broker, name: str) -> None:
    """What happens to a topic in its life; each step is one that timers call for, or clients."""
    records = [Record(offset=n, timestamp=broker.clock.now_ms(), key=b"%d" % n, value=b"v") for n in range(10)]
    data = PartitionProduceData(index=0, records=build_batch(records))
    produce = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name=name, partition_data=[data])])
    read = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    fetch = FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=name, partitions=[read])])
    async with await RawClient.connect(broker.address.host, broker.address.port) as client:
        for _ in range(3):
            answer = await client.send(produce, 3)
            assert answer.responses[0].partition_responses[0].error_code in ALLOWED_HERE
            broker.cluster.partition(name, 0).log.roll()
        await broker.cleaner.clean_all()
        await broker.maintenance.apply_retention()
        await broker.maintenance._flush()
        await broker.maintenance._tidy_logs()
        await broker.maintenance._expire_producers()
        await broker.maintenance._checkpoint_watermarks()
        await broker.groups.expire_offsets()
        answer = await client.send(fetch, 4)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE


async def create(broker: Broker, name: str, texts: dict[str, str]) -> None:
    settings = broker.topics.configuration.topic_settings(texts)
    assert not await broker.topics.create([NewTopic(name=name, partitions=1, settings=settings, overrides=texts)])


def errors_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


async def test_numbers_of_a_topic(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with running_broker(tmp_path, log_cleaner_backoff_ms=2**53) as broker:
        for number, (key, end) in enumerate(rows(dict(TOPIC_KEYS))):
            for policy in ("compact", "delete"):
                texts = {"cleanup.policy": policy, "min.cleanable.dirty.ratio": "0", key: end}
                if key == "min.compaction.lag.ms" or key == "preallocate":
                    texts["max.compaction.lag.ms"] = str(2**63 - 1)
                name = f"t{number}-{policy}"
                await create(broker, name, texts)
                await live(broker, name)
                await broker.topics.delete([name])
            assert not errors_in(caplog), (key, end)
        assert broker.cleaner.uncleanable_count == 0


NOT_SERVED_AT_THEIR_LOWEST = {"max.connections", "socket.request.max.bytes"}
"""No connection, or no request: the highest value is tried alone."""


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(dict(rows(dict(BROKER_KEYS)))))
async def test_numbers_of_the_broker(tmp_path: Path, key: str, caplog: pytest.LogCaptureFixture) -> None:
    ends = sorted(ends_of(BROKER_KEYS[key]), key=float)
    for number, end in enumerate(ends[-1:] if key in NOT_SERVED_AT_THEIR_LOWEST else ends):
        folder = tmp_path / str(number)
        try:
            load(overrides=[f"{key}={end}", f"log.dirs={folder}"])
        except ConfigError:
            continue  # it contradicts another setting's default, which is said
        async with running_broker(folder, **{key.replace(".", "_"): end}) as broker:
            await create(broker, "t", {"cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "0"})
            await live(broker, "t")
        assert not errors_in(caplog), end
