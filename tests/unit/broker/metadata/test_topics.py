"""Topics on the disk and in the image, over restarts and crashes."""

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from threading import Event
from uuid import UUID

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metadata.topics import NewTopic
from stepdown.network import turn
from stepdown.protocol.errors import ApiError, DiskFault, ErrorCode
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.storage.files.file_handle import Buffer, FileHandle
from stepdown.storage.files.files import Files
from stepdown.storage.files.partition_metadata import read_topic_id
from stepdown.storage.metadata.metadata_log_contents import FOLDER
from support.admin import write
from support.client import RawClient
from support.clock import ManualClock
from support.deadline import DEADLINE_S
from support.record_sets import NOW, record_set
from support.running import running_broker, until

NOTHING = "\0"


class BrittleFiles(Files):
    """Files that fail to make a folder or to replace a file whose path has `broken` in it."""

    broken = NOTHING

    def make_directory(self, path: str) -> None:
        self._check(path)
        super().make_directory(path)

    def replace(self, path: str, data: bytes, *, sync: bool = True, private: bool = False) -> None:
        self._check(path)
        super().replace(path, data, sync=sync, private=private)

    def write(self, handle: FileHandle, pieces: Sequence[Buffer], position: int) -> int:
        self._check(handle.path)
        return super().write(handle, pieces, position)

    def _check(self, path: str) -> None:
        if self.broken in path:
            raise DiskFault(f"{path}: No space left on device")


def started(directory: Path, files: Files | None = None, **settings: object) -> AbstractAsyncContextManager[Broker]:
    return running_broker(directory, files=files, clock=ManualClock(NOW), log_retention_ms=-1, **settings)  # type: ignore[arg-type]


async def create(broker: Broker, name: str, partitions: int = 1) -> dict[str, ApiError]:
    settings = broker.topics.configuration.topic_settings({})
    return await broker.topics.create([NewTopic(name=name, partitions=partitions, settings=settings)])


def image(broker: Broker) -> dict[str, tuple[UUID, int]]:
    return {name: (topic.topic_id, len(topic.partitions)) for name, topic in broker.cluster.topics.items()}


async def test_topics_keep_their_ids_and_partitions_over_a_restart(tmp_path: Path) -> None:
    async with started(tmp_path) as broker:
        await create(broker, "orders", 3)
        await broker.topics.add_partitions("orders", 5)
        before = image(broker)
    async with started(tmp_path) as broker:
        assert image(broker) == before


async def test_a_deleted_topic_does_not_come_back(tmp_path: Path) -> None:
    async with started(tmp_path) as broker:
        await create(broker, "orders", 2)
        assert await broker.topics.delete(["orders"]) == {}
        assert not broker.cluster.topics
        assert (await create(broker, "orders")) == {}
        again = image(broker)
    async with started(tmp_path) as broker:
        assert image(broker) == again


async def test_a_topic_that_a_crash_left_half_made_is_finished_at_the_next_start(tmp_path: Path) -> None:
    async with started(tmp_path) as broker:
        await create(broker, "orders", 3)
        before = image(broker)
    shutil.rmtree(tmp_path / "orders-2")
    async with started(tmp_path) as broker:
        assert image(broker) == before
        assert read_topic_id(Files(), str(tmp_path / "orders-2")) == before["orders"][0]


async def test_a_topic_that_a_crash_left_half_deleted_is_set_aside_at_the_next_start(tmp_path: Path) -> None:
    async with started(tmp_path) as broker:
        await create(broker, "orders", 3)
        with broker.topics.store.change() as state:  # what a deletion writes before it touches the folders
            del state.topics["orders"]
    async with started(tmp_path) as broker:
        assert not broker.cluster.topics
    assert not (tmp_path / "orders-0").exists()
    assert [name for name in Files().names(str(tmp_path)) if name.startswith("orders-0.") and name.endswith("-stray")]


async def test_without_the_metadata_file_topics_are_built_from_the_folders(tmp_path: Path) -> None:
    async with started(tmp_path) as broker:
        await create(broker, "orders", 3)
        before = image(broker)
    shutil.rmtree(tmp_path / FOLDER)
    async with started(tmp_path) as broker:
        assert image(broker) == before


async def test_folders_without_a_topic_id_get_one_that_stays(tmp_path: Path) -> None:
    async with started(tmp_path) as broker:
        await create(broker, "orders", 2)
    shutil.rmtree(tmp_path / FOLDER)
    for folder in ("orders-0", "orders-1"):  # as brokers with ZooKeeper left them
        (tmp_path / folder / "partition.metadata").unlink()
    async with started(tmp_path) as broker:
        (given, _) = image(broker)["orders"]
        assert {read_topic_id(Files(), str(tmp_path / f"orders-{index}")) for index in (0, 1)} == {given}
    shutil.rmtree(tmp_path / FOLDER)
    async with started(tmp_path) as broker:
        assert image(broker)["orders"] == (given, 2)


async def test_partitions_that_another_broker_had_are_made_empty(tmp_path: Path) -> None:
    async with started(tmp_path) as broker:
        await create(broker, "orders", 3)
    shutil.rmtree(tmp_path / FOLDER)
    shutil.rmtree(tmp_path / "orders-0")
    shutil.rmtree(tmp_path / "orders-1")
    async with started(tmp_path) as broker:
        assert list(broker.cluster.topics["orders"].partitions) == [0, 1, 2]


async def test_producer_ids_start_above_those_in_a_directory_that_is_taken_over(tmp_path: Path) -> None:
    async with (
        started(tmp_path) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await create(broker, "orders")
        await write(client, "orders", data=record_set(2, producer_id=77, producer_epoch=0, base_sequence=0))
    shutil.rmtree(tmp_path / FOLDER)
    async with started(tmp_path) as broker:
        assert broker.cluster.next_producer_id() == 78


async def test_the_leader_epoch_grows_when_a_log_was_not_closed_cleanly(tmp_path: Path) -> None:
    async with (
        started(tmp_path) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await create(broker, "orders", 2)
        await write(client, "orders")
        shutil.copytree(tmp_path, tmp_path.parent / "crashed")
    async with started(tmp_path) as broker:
        assert [p.leader_epoch for p in broker.cluster.topics["orders"].partitions.values()] == [0, 0]
    async with started(tmp_path.parent / "crashed") as broker:
        assert [p.leader_epoch for p in broker.cluster.topics["orders"].partitions.values()] == [1, 0]


async def test_a_topic_whose_partition_cannot_be_made_is_taken_back(tmp_path: Path) -> None:
    files = BrittleFiles()
    async with started(tmp_path, files) as broker:
        files.broken = "orders-2"
        failed = await create(broker, "orders", 3)
        assert failed["orders"].code == ErrorCode.KAFKA_STORAGE_ERROR
        assert not broker.cluster.topics
        files.broken = NOTHING
        assert await create(broker, "orders", 3) == {}
        before = image(broker)
    async with started(tmp_path) as broker:
        assert image(broker) == before


async def test_partitions_have_a_limit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In a container of 64 MiB clients could create partitions until it was killed."""
    async with started(tmp_path, stepdown_max_partitions=10) as broker:
        assert await create(broker, "orders", 8) == {}
        assert [error.code for error in (await create(broker, "more", 3)).values()] == [ErrorCode.POLICY_VIOLATION]
        with pytest.raises(ApiError, match=r"stepdown\.max\.partitions"):
            await broker.topics.add_partitions("orders", 11)
        await broker.topics.add_partitions("orders", 10)
        assert len((await broker.topics.ensure("__consumer_offsets")).partitions) == 50
        assert len([record for record in caplog.records if "no partition can be created" in record.message]) == 1
    async with started(tmp_path, stepdown_max_partitions=10) as broker:
        assert "60 partitions are here" in caplog.text
        await broker.topics.delete(["orders"])
        assert set(await create(broker, "more", 1)) == {"more"}  # internal topics count, too


class HeldFiles(Files):
    """Files of which the syncs of metadata wait once they are held, and fail once they are broken."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting, self.released = Event(), Event()
        self.released.set()
        self.is_broken = False

    def sync(self, handle: FileHandle) -> None:
        if FOLDER in handle.path:
            self.waiting.set()
            assert self.released.wait(DEADLINE_S)
            if self.is_broken:
                self.is_broken = False
                raise DiskFault(f"{handle.path}: Input/output error")
        super().sync(handle)


async def test_others_are_answered_while_the_disk_takes_a_new_topic(tmp_path: Path) -> None:
    """CreateTopics waited for the disk on the event loop, 0.2 s and more."""
    files = HeldFiles()
    async with started(tmp_path, files) as broker:
        await create(broker, "first")
        files.waiting.clear()
        files.released.clear()
        creating = asyncio.create_task(create(broker, "orders"))
        await until(files.waiting.is_set)
        async with await RawClient.connect(broker.address.host, broker.address.port) as client:
            answer = await client.send(MetadataRequest(topics=None), 1)
        assert [topic.name for topic in answer.topics] == ["first"]
        assert not creating.done()
        files.released.set()
        assert await creating == {}
        assert set(image(broker)) == {"first", "orders"}


async def test_a_topic_that_the_disk_may_not_have_is_taken_back(tmp_path: Path) -> None:
    """After a sync that failed the log of metadata is not to be trusted: a snapshot takes its place."""
    files = HeldFiles()
    async with started(tmp_path, files) as broker:
        await create(broker, "first")
        files.is_broken = True
        failed = await create(broker, "orders")
        assert [error.code for error in failed.values()] == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert list((tmp_path / FOLDER).glob("*.checkpoint"))
        assert await create(broker, "later") == {}
        assert set(image(broker)) == {"first", "later"}
    async with started(tmp_path) as broker:
        assert set(image(broker)) == {"first", "later"}


async def test_nothing_changes_when_the_metadata_cannot_be_written(tmp_path: Path) -> None:
    files = BrittleFiles()
    async with started(tmp_path, files) as broker:
        await create(broker, "orders")
        files.broken = FOLDER
        assert set(await create(broker, "more")) == {"more"}
        assert set(await broker.topics.delete(["orders"])) == {"orders"}
        with pytest.raises(DiskFault):
            await broker.topics.add_partitions("orders", 2)
        with pytest.raises(DiskFault):
            broker.topics.configure_topic("orders", {"retention.ms": "5"})
        assert list(image(broker)) == ["orders"]
        assert broker.cluster.topics["orders"].overrides == {}
        files.broken = NOTHING


async def test_whoever_wants_to_know_is_told_of_deleted_topics(tmp_path: Path) -> None:
    async with started(tmp_path) as broker:
        told: list[str] = []
        broker.topics.on_deleted.append(lambda topics: told.extend(topic.name for topic in topics))
        await create(broker, "orders")
        await broker.topics.delete(["orders", "absent"])
        assert told == ["orders"]


async def test_a_missing_internal_topic_is_made_once(tmp_path: Path) -> None:
    async with started(tmp_path, offsets_topic_num_partitions=4) as broker:
        made = await broker.topics.ensure("__consumer_offsets")
        assert (made.is_internal, len(made.partitions)) == (True, 4)
        assert await broker.topics.ensure("__consumer_offsets") is made


async def test_an_internal_topic_that_is_there_is_had_while_others_are_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "MOST_STEPS", 4)
    async with started(tmp_path) as broker:
        made = await broker.topics.ensure("__consumer_offsets")
        creating = asyncio.create_task(create(broker, "orders", partitions=20))
        await asyncio.sleep(0)
        assert await broker.topics.ensure("__consumer_offsets") is made
        assert not creating.done()
        assert await creating == {}


async def test_a_stored_setting_that_cannot_be_used_is_left_out(tmp_path: Path) -> None:
    async with started(tmp_path) as broker:
        await create(broker, "orders")
        with broker.topics.store.change() as state:
            stored = state.topics["orders"]
            state.topics["orders"] = replace(stored, configs={"retention.ms": "5", "of.the.future": "1"})
            state.configs_of_brokers[broker.cluster.node_id] = {"of.the.future": "1"}
    async with started(tmp_path) as broker:
        assert broker.cluster.topics["orders"].settings.retention_ms == 5
        assert "of.the.future" in broker.cluster.topics["orders"].overrides
