"""Partitions that move between log directories while they are written to and read."""

import shutil
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metadata import log_moves
from stepdown.network.clock import Clock
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import DiskFault, ErrorCode
from stepdown.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from stepdown.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from stepdown.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from stepdown.storage.directories.log_move import MOVED_MARK
from stepdown.storage.files.files import Files
from stepdown.storage.log.log import Log
from stepdown.storage.metadata.metadata_log_contents import FOLDER
from support.admin import create, write
from support.brokers import call
from support.client import RawClient
from support.clock import ManualClock
from support.record_sets import NOW, record_set
from support.running import running_broker

SMALL_SEGMENTS = {"segment.bytes": "1000"}


class Slow(Files):
    """Files that do not let a copy be finished."""

    is_broken = False

    def replace(self, path: str, data: bytes, *, sync: bool = True, private: bool = False) -> None:
        if self.is_broken and path.endswith(MOVED_MARK):
            raise DiskFault(f"{path}: No space left on device")
        super().replace(path, data, sync=sync, private=private)


def over(
    directories: list[str], *, clock: Clock | None = None, files: Files | None = None
) -> AbstractAsyncContextManager[Broker]:
    """A broker over these directories."""
    paths = ",".join(directories)
    return running_broker(Path(directories[0]), clock=clock, files=files, log_dirs=paths, log_retention_ms=-1)


@pytest.fixture
def directories(tmp_path: Path) -> list[str]:
    return [str(tmp_path / "a"), str(tmp_path / "b")]


@pytest.fixture
def files() -> Slow:
    return Slow()


@pytest.fixture
async def broker(directories: list[str], files: Slow) -> AsyncIterator[Broker]:
    async with over(directories, clock=ManualClock(NOW), files=files) as running:
        yield running


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await RawClient.connect(broker.address.host, broker.address.port) as connected:
        await create(connected, "orders", configs=SMALL_SEGMENTS)
        await write(connected, "orders", times=20)
        yield connected


def log_of(broker: Broker) -> Log:
    return broker.cluster.topics["orders"].partitions[0].log


def folders(directory: str | Path) -> list[str]:
    """The folders of logs and of their copies, without those that are to be deleted."""
    found = (path.name for path in Path(directory).iterdir() if path.is_dir())
    return [name for name in found if not name.endswith("-delete") and name != FOLDER]


def content(log: Log) -> bytes:
    return b"".join(segment.file.read(segment.size, 0) for segment in log.segments)


def other(broker: Broker) -> str:
    """The directory that the log is not in."""
    return next(path for path in broker.log_manager.directories if not log_of(broker).directory.startswith(path))


async def move(client: RawClient, path: str, name: str = "orders", partition: int = 0, version: int = 2) -> int:
    topic = AlterReplicaLogDirTopic(name=name, partitions=(partition,))
    request = AlterReplicaLogDirsRequest(dirs=(AlterReplicaLogDir(path=path, topics=(topic,)),))
    (result,) = (await client.send(request, version)).results
    return int(result.partitions[0].error_code)


@pytest.mark.parametrize("version", range(3))
async def test_a_moved_log_is_the_same_elsewhere(broker: Broker, client: RawClient, version: int) -> None:
    old, destination = log_of(broker), other(broker)
    before = content(old), old.log_end_offset
    assert await move(client, destination, version=version) == 0
    await broker.topics.moves.wait_until_idle()
    new = log_of(broker)
    assert new.directory == f"{destination}/orders-0"
    assert (content(new), new.log_end_offset) == before
    assert new is broker.log_manager.logs["orders", 0]
    assert not folders(other(broker))


async def test_what_is_written_meanwhile_is_moved_too(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_moves, "LITTLE_BYTES", 0)
    await move(client, other(broker))
    for _ in range(30):
        await write(client, "orders")
    await broker.topics.moves.wait_until_idle()
    await write(client, "orders")
    assert log_of(broker).log_end_offset == 3 * 51
    assert len(list(log_of(broker).segments)) > 5


async def test_a_moved_log_survives_a_restart(directories: list[str]) -> None:
    async with (
        over(directories) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await create(client, "orders", configs=SMALL_SEGMENTS)
        await write(client, "orders", times=20)
        asked = DeleteRecordsPartition(partition_index=0, offset=4)
        await client.send(DeleteRecordsRequest(topics=(DeleteRecordsTopic(name="orders", partitions=(asked,)),)), 2)
        topic_id, destination = broker.cluster.topics["orders"].topic_id, other(broker)
        await move(client, destination)
        await broker.topics.moves.wait_until_idle()
    async with over(directories) as broker:
        log = log_of(broker)
        assert log.directory == f"{destination}/orders-0"
        assert (log.log_start_offset, log.log_end_offset, log.topic_id) == (4, 60, topic_id)


async def test_a_producer_goes_on_where_it_was(broker: Broker, client: RawClient) -> None:
    for sequence in (0, 3):
        await write(client, "orders", data=record_set(2, producer_id=7, producer_epoch=0, base_sequence=sequence))
    await move(client, other(broker))
    await broker.topics.moves.wait_until_idle()
    end = log_of(broker).log_end_offset
    await write(client, "orders", data=record_set(2, producer_id=7, producer_epoch=0, base_sequence=0))  # again
    assert log_of(broker).log_end_offset == end
    await write(client, "orders", data=record_set(2, producer_id=7, producer_epoch=0, base_sequence=6))
    assert log_of(broker).log_end_offset == end + 3


async def test_a_crash_at_the_end_of_a_move_leaves_one_log(directories: list[str]) -> None:
    async with (
        over(directories) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await create(client, "orders", configs=SMALL_SEGMENTS)
        await write(client, "orders", times=20)
        source, target = Path(log_of(broker).directory), Path(other(broker)) / "orders-0"
    shutil.copytree(source, target)
    (source / MOVED_MARK).write_text(str(target))
    for _ in range(2):
        async with over(directories) as broker:
            assert log_of(broker).directory == str(target)
            assert log_of(broker).log_end_offset == 60
            assert not folders(source.parent)


async def test_two_logs_of_one_name_stop_the_start_unless_one_was_moved(directories: list[str]) -> None:
    async with (
        over(directories) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await create(client, "orders")
        source, target = Path(log_of(broker).directory), Path(other(broker)) / "orders-0"
    shutil.copytree(source, target)
    with pytest.raises(DiskFault, match="in two places"):
        async with over(directories):
            pass


async def test_a_move_that_fails_leaves_the_log_where_it_is(broker: Broker, client: RawClient, files: Slow) -> None:
    old, destination = log_of(broker), other(broker)
    files.is_broken = True
    assert await move(client, destination) == 0
    await broker.topics.moves.wait_until_idle()
    assert log_of(broker) is old
    assert not folders(destination)
    await write(client, "orders")
    files.is_broken = False


async def test_a_copy_that_a_crash_left_unfinished_is_removed(directories: list[str]) -> None:
    unfinished = Path(directories[1]) / f"orders-0.{'0' * 32}-future"
    unfinished.mkdir(parents=True)
    async with over(directories):
        assert not unfinished.exists()


async def test_a_move_under_way_is_shown_and_given_up_with_its_topic(broker: Broker, client: RawClient) -> None:
    destination = other(broker)
    broker.topics.moves.request_move("orders", 0, destination)  # has not had the loop yet
    (shown,) = broker.topics.moves.moves_under_way()
    assert shown.destination == destination
    await broker.topics.delete(["orders"])
    await broker.topics.moves.wait_until_idle()
    response = await client.send(DescribeLogDirsRequest(topics=None), 4)
    assert [topic for result in response.results for topic in result.topics] == []


async def test_a_copy_is_told_apart_from_the_log(broker: Broker, client: RawClient) -> None:
    from stepdown.broker.handlers import describe_log_dirs

    destination = other(broker)
    broker.topics.moves.request_move("orders", 0, destination)
    request = DescribeLogDirsRequest(topics=None)
    response = await describe_log_dirs.handle(broker, request, call(ApiKey.DESCRIBE_LOG_DIRS, 4, request))
    shown = {result.log_dir: result.topics[0].partitions[0] for result in response.results}
    assert (shown[destination].is_future_key, shown[destination].offset_lag) == (True, 60)
    assert [part.is_future_key for path, part in shown.items() if path != destination] == [False]
    await broker.topics.moves.wait_until_idle()


async def test_asking_for_where_it_is_gives_a_move_up(broker: Broker, client: RawClient) -> None:
    old = log_of(broker)
    broker.topics.moves.request_move("orders", 0, other(broker))
    assert await move(client, old.directory.rpartition("/")[0]) == 0
    await broker.topics.moves.wait_until_idle()
    assert log_of(broker) is old


@pytest.mark.parametrize(
    ("name", "partition", "path", "code"),
    [
        ("orders", 0, "/nowhere", ErrorCode.LOG_DIR_NOT_FOUND),
        ("orders", 9, "", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("x" * 249, 0, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
async def test_what_cannot_be_moved_is_refused(
    broker: Broker, client: RawClient, name: str, partition: int, path: str, code: int
) -> None:
    assert await move(client, path or other(broker), name, partition) == code
