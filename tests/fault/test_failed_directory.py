"""A log directory that fails, at the start or while it is served: its partitions are offline, the others are served."""

import asyncio
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from stepdown.bench.servers.admin_connection import Connection
from stepdown.bench.servers.process import wait_until
from stepdown.broker.broker import Broker
from stepdown.broker.http.pages import pages_of
from stepdown.network.log_line_limit import SILENCE_MS
from stepdown.protocol.errors import DiskFault, ErrorCode
from stepdown.protocol.messages.create_topics import CreateTopicsRequest
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest
from stepdown.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stepdown.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.admin import create, new_topic
from support.client import RawClient
from support.clock import ManualClock
from support.deadline import DEADLINE_S
from support.fetching import fetch
from support.files import FaultyFiles
from support.running import running_broker
from support.scraping import value

BATCH = build_batch([Record(offset=0, timestamp=1, key=None, value=b"x")])
STORAGE_ERROR = ErrorCode.KAFKA_STORAGE_ERROR


async def produce(client: RawClient, index: int) -> int:
    data = PartitionProduceData(index=index, records=BATCH)
    topics = [TopicProduceData(name="t", partition_data=[data])]
    answer = await client.send(ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics), 7)
    return int(answer.responses[0].partition_responses[0].error_code)


async def fetched(client: RawClient, index: int) -> int:
    answer = await client.send(fetch("t", partitions=(index,)), 11)
    return int(answer.responses[0].partitions[0].error_code)


async def shown(client: RawClient) -> dict[int, tuple[int, int, list[int]]]:
    """Error, leader and offline replicas of each partition, as Metadata has them."""
    answer = await client.send(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9)
    return {
        part.partition_index: (part.error_code, part.leader_id, list(part.offline_replicas))
        for part in answer.topics[0].partitions
    }


async def directories(client: RawClient) -> dict[str, int]:
    answer = await client.send(DescribeLogDirsRequest(topics=None), 3)
    return {result.log_dir: result.error_code for result in answer.results}


@asynccontextmanager
async def serving_one(folder: Path, **more: Any) -> AsyncIterator[tuple[Broker, RawClient]]:
    async with (
        running_broker(folder, **more) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        yield broker, client


@asynccontextmanager
async def serving(folder: Path, **more: Any) -> AsyncIterator[tuple[Broker, RawClient]]:
    async with (
        running_broker(folder, log_dirs=f"{folder}/a,{folder}/b", log_retention_ms=-1, **more) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        yield broker, client


async def make_topic(broker: Broker, client: RawClient) -> tuple[int, int]:
    """The partitions that lie in the first and in the second directory."""
    await create(client, "t", partitions=2)
    places = {broker.cluster.partition("t", index).log.directory.rpartition("/")[0][-1]: index for index in (0, 1)}
    for index in (0, 1):
        assert await produce(client, index) == ErrorCode.NONE
    return places["a"], places["b"]


async def check_second_is_offline(
    broker: Broker, client: RawClient, folder: Path, kept: int, lost: int, partitions: int = 1
) -> None:
    assert (await produce(client, lost), await fetched(client, lost)) == (STORAGE_ERROR, STORAGE_ERROR)
    assert (await produce(client, kept), await fetched(client, kept)) == (ErrorCode.NONE, ErrorCode.NONE)
    metadata = await shown(client)
    assert metadata[lost] == (ErrorCode.LEADER_NOT_AVAILABLE, -1, [1])
    assert metadata[kept] == (ErrorCode.NONE, 1, [])
    assert await directories(client) == {f"{folder}/a": 0, f"{folder}/b": STORAGE_ERROR}
    assert await value(broker, "stepdown_offline_partitions") == partitions


def replace_by_file(path: Path) -> None:
    shutil.move(path, path.with_suffix(".kept"))
    path.write_text("not a folder")


def restore(path: Path) -> None:
    path.unlink()
    shutil.move(path.with_suffix(".kept"), path)


async def advance_until(clock: ManualClock, holds: Callable[[], bool]) -> None:
    """Moves time on until the broker has looked: its next look is only due when a worker has ended the one before."""
    async with asyncio.timeout(DEADLINE_S):
        while not holds():
            await clock.advance(1000)


async def test_of_several_directories_one_may_be_no_directory_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker did not start; its partitions must not be made again, empty, in another directory."""
    async with serving(tmp_path) as (broker, client):
        kept, lost = await make_topic(broker, client)
    replace_by_file(tmp_path / "b")
    async with serving(tmp_path) as (broker, client):
        await check_second_is_offline(broker, client, tmp_path, kept, lost)
        assert f"the log directory {tmp_path}/b is offline" in caplog.text
        await create(client, "u", partitions=4)
        assert all(
            each.log.directory.startswith(f"{tmp_path}/a/") for each in broker.cluster.topics["u"].partitions.values()
        )
        assert (await pages_of(broker, lambda: True)["/readyz"]()).status == HTTPStatus.OK
    restore(tmp_path / "b")
    async with serving(tmp_path) as (broker, client):
        assert [await fetched(client, index) for index in (kept, lost)] == [ErrorCode.NONE] * 2
        assert broker.cluster.partition("t", lost).log.log_end_offset == 1


async def test_a_broker_does_not_start_without_its_first_directory(tmp_path: Path) -> None:
    """It has the metadata. Kafka stops there, too."""
    (tmp_path / "a").write_text("not a folder")
    with pytest.raises(DiskFault, match="a folder was expected"):
        async with serving(tmp_path):
            raise AssertionError("it started")


async def test_a_directory_that_is_gone_takes_its_partitions_offline(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    async with serving(tmp_path, clock=clock) as (broker, client):
        kept, lost = await make_topic(broker, client)
        (tmp_path / "b").rename(tmp_path / "elsewhere")
        await advance_until(clock, lambda: broker.cluster.partition("t", lost).log.is_offline)
        await check_second_is_offline(broker, client, tmp_path, kept, lost)
        await clock.advance(120_000)
        assert caplog.text.count(f"the log directory {tmp_path}/b is offline") == 1
        ready = pages_of(broker, lambda: True)["/readyz"]
        assert (await ready()).status == HTTPStatus.OK
        (tmp_path / "a").rename(tmp_path / "elsewhere too")
        await advance_until(clock, lambda: broker.cluster.partition("t", kept).log.is_offline)
        assert (await ready()).status == HTTPStatus.SERVICE_UNAVAILABLE
    assert "Traceback" not in caplog.text
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("reason", [errno.EIO, errno.EROFS, errno.ENOSPC], ids=errno.errorcode.get)
@pytest.mark.parametrize("operation", ["write", "sync"])
async def test_a_disk_that_fails_takes_all_partitions_of_its_directory_offline(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, operation: str, reason: int
) -> None:
    """Only the partition that was written to refused; the others of the disk went on until theirs failed, too."""
    clock, files = ManualClock(), FaultyFiles()
    async with serving(tmp_path, clock=clock, files=files) as (broker, client):
        await create(client, "t", partitions=4, configs={"flush.messages": "1"})
        on_b = [index for index in range(4) if "/b/t-" in broker.cluster.partition("t", index).log.directory]
        files.broken, files.fails = f"{tmp_path}/b/t-", {operation: reason}
        assert await produce(client, on_b[0]) == STORAGE_ERROR
        await advance_until(clock, lambda: all(broker.cluster.partition("t", index).log.is_offline for index in on_b))
        files.fails = {}  # as in Kafka, it stays offline until the broker is started again
        kept = next(index for index in range(4) if index not in on_b)
        await check_second_is_offline(broker, client, tmp_path, kept, on_b[1], partitions=len(on_b))
        line = f"the log directory {tmp_path}/b is offline, with its partitions"
        assert caplog.text.count(line) == 1
        assert os.strerror(reason) in caplog.text
        assert not broker.has_failed
    assert "Traceback" not in caplog.text


async def list_by_time(client: RawClient, index: int) -> int:
    part = ListOffsetsPartition(partition_index=index, timestamp=1)
    topics = [ListOffsetsTopic(name="t", partitions=[part])]
    answer = await client.send(ListOffsetsRequest(replica_id=-1, topics=topics), 1)
    return int(answer.topics[0].partitions[0].error_code)


@pytest.mark.parametrize("ask", [fetched, list_by_time], ids=["fetch", "list offsets"])
async def test_a_disk_that_cannot_be_read_is_answered_as_56_and_said_with_path_and_position(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, ask: Callable[[RawClient, int], Awaitable[int]]
) -> None:
    """The client was told; the log had no line."""
    async with serving(tmp_path) as (broker, client):
        kept, lost = await make_topic(broker, client)
    clock, files = ManualClock(), FaultyFiles()
    async with serving(tmp_path, clock=clock, files=files) as (broker, client):
        files.broken, files.fails = f"{tmp_path}/b/t-{lost}/", {"read": errno.EIO}
        assert [await ask(client, lost) for _ in range(3)] == [STORAGE_ERROR] * 3
        said = [line for line in caplog.text.splitlines() if "Input/output error" in line]
        assert len(said) == 1
        assert f"{tmp_path}/b/t-{lost}/00000000000000000000." in said[0]
        assert " bytes at 0: Input/output error" in said[0]
        await advance_until(clock, lambda: broker.cluster.partition("t", lost).log.is_offline)
        await check_second_is_offline(broker, client, tmp_path, kept, lost)


async def test_committed_offsets_that_cannot_be_read_are_refused_and_not_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A disk that fails while a coordinator loads its partition."""
    commit = OffsetCommitRequest(
        group_id="g",
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[
            OffsetCommitRequestTopic(
                name="t", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=7)]
            )
        ],
    )
    wanted = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])])
    settings = {"offsets_topic_num_partitions": 1}
    async with serving_one(tmp_path, **settings) as (_, client):
        await create(client, "t")
        await client.send(FindCoordinatorRequest(key="g"), 0)
        committed = await client.send(commit, 2)
        assert committed.topics[0].partitions[0].error_code == ErrorCode.NONE
    files = FaultyFiles()
    async with running_broker(tmp_path, files=files, **settings) as broker:
        files.broken, files.fails = "/__consumer_offsets-0/", {"read": errno.EIO}  # before anything is loaded
        async with await RawClient.connect(broker.address.host, broker.address.port) as client:
            answer = await client.send(wanted, 5)
            assert (answer.error_code, list(answer.topics)) == (ErrorCode.NOT_COORDINATOR, [])
    assert f"{tmp_path}/__consumer_offsets-0/00000000000000000000.log: reading" in caplog.text


def run_broker(folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "stepdown", "serve", "--listen", "127.0.0.1:0"]
    command += ["-o", f"log.dirs={folder}/a,{folder}/b", "-o", "stepdown.http.listen=127.0.0.1:0"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_broker_halts_when_the_directory_with_the_metadata_fails(tmp_path: Path) -> None:
    """It went on, with every partition offline. Kafka halts with status 1."""
    with run_broker(tmp_path) as process:
        assert process.stdout is not None
        before = iter(process.stdout.readline, "")
        assert any("stepdown listening on" in line for line in before)
        (tmp_path / "a").rename(tmp_path / "elsewhere")
        said = process.stdout.read()
    assert process.returncode == 1
    assert "the broker cannot go on: the log directory with the state of the cluster is offline" in said
    assert "Traceback" not in said
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("lost", ["meta", "a", "b"])
async def test_where_the_metadata_are_apart_their_directory_decides(tmp_path: Path, lost: str) -> None:
    """A broker went on without `metadata.log.dir`, and gave up with the first of `log.dirs`."""
    clock = ManualClock()
    async with serving(tmp_path, clock=clock, metadata_log_dir=tmp_path / "meta") as (broker, client):
        await make_topic(broker, client)
        (tmp_path / lost).rename(tmp_path / "elsewhere")
        await advance_until(clock, lambda: f"{tmp_path}/{lost}" in broker.log_manager.offline)
        await clock.advance(1000)
        if lost == "meta":
            await advance_until(clock, lambda: broker.has_failed)
        assert broker.has_failed == (lost == "meta")
        if lost != "meta":
            (tmp_path / ("a" if lost == "b" else "b")).rename(tmp_path / "elsewhere too")
            await advance_until(clock, lambda: broker.has_failed)
        broker.stop = broker.kill  # type: ignore[method-assign]


def test_of_a_cluster_the_broker_halts_whose_directory_fails_and_the_others_go_on(tmp_path: Path) -> None:
    """It stayed up, with every partition offline."""
    command = [sys.executable, "-m", "stepdown", "serve", "--brokers", "2", "--listen", "127.0.0.1:0"]
    command += ["--log-dir", str(tmp_path / "data"), "-o", "broker.session.timeout.ms=1000"]
    command += ["-o", "stepdown.http.listen=127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        greeting = next(line for line in lines if "stepdown listening on" in line)
        first, second = greeting.split(" on ")[1].split(", ")[0].split(",")
        (tmp_path / "data" / "broker-2").rename(tmp_path / "elsewhere")
        assert any("the broker cannot go on" in line for line in lines)
        with Connection(first) as client:
            wait_until(lambda: [each.node_id for each in client.call(MetadataRequest(), 9).brokers] == [1], "it is out")
            made = client.call(CreateTopicsRequest(topics=[new_topic("t", 1)]), 4)
            assert [each.error_code for each in made.topics] == [ErrorCode.NONE]
        with pytest.raises(OSError), Connection(second):
            pass
        (tmp_path / "data" / "broker-1").rename(tmp_path / "elsewhere too")
        said = process.stdout.read()
    assert process.returncode == 1
    assert "the broker cannot go on" in said
    assert "Traceback" not in said


async def test_a_folder_in_the_place_of_a_segment_takes_only_its_partition_offline(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker did not start, or had the whole directory offline, as Kafka has."""
    async with serving_one(tmp_path) as (_, client):
        await create(client, "t", partitions=2)
        assert [await produce(client, index) for index in (0, 1)] == [ErrorCode.NONE] * 2
    segment = tmp_path / "t-0" / "00000000000000000000.log"
    segment.unlink()
    segment.mkdir()
    async with serving_one(tmp_path) as (broker, client):
        assert (await produce(client, 0), await fetched(client, 0)) == (STORAGE_ERROR, STORAGE_ERROR)
        assert (await produce(client, 1), await fetched(client, 1)) == (ErrorCode.NONE, ErrorCode.NONE)
        assert (await shown(client))[0] == (ErrorCode.LEADER_NOT_AVAILABLE, -1, [1])
        assert await directories(client) == {str(tmp_path): ErrorCode.NONE}
        assert await value(broker, "stepdown_offline_partitions") == 1
    assert (
        f"t-0 is offline until the broker is started again: {segment}: a file was expected, found a folder"
        in caplog.text
    )
    assert segment.is_dir()


async def test_a_folder_that_is_gone_leaves_the_broker_ready(tmp_path: Path) -> None:
    """/readyz was 503 for one partition of all."""
    clock = ManualClock()
    async with running_broker(tmp_path / "a", clock=clock) as broker:
        async with await RawClient.connect(broker.address.host, broker.address.port) as client:
            await create(client, "t", partitions=2)
            shutil.rmtree(tmp_path / "a" / "t-0")
            await advance_until(clock, lambda: broker.cluster.partition("t", 0).log.is_offline)
            assert (await shown(client))[0] == (ErrorCode.LEADER_NOT_AVAILABLE, -1, [1])
            assert (await produce(client, 0), await produce(client, 1)) == (STORAGE_ERROR, ErrorCode.NONE)
        assert (await pages_of(broker, lambda: True)["/readyz"]()).status == HTTPStatus.OK


async def test_lines_about_partitions_that_are_gone_are_few(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each partition had a line of its own, and each try of each producer another."""
    clock = ManualClock()
    async with running_broker(tmp_path / "a", clock=clock) as broker:
        async with await RawClient.connect(broker.address.host, broker.address.port) as client:
            await create(client, "t", partitions=12)
            for index in range(12):
                shutil.rmtree(tmp_path / "a" / f"t-{index}")
            partitions = [broker.cluster.partition("t", index) for index in range(12)]
            await advance_until(clock, lambda: all(map(broker.cluster.is_offline_here, partitions)))
            for _ in range(5):
                assert await produce(client, 0) == STORAGE_ERROR
            assert caplog.text.count("appending to t-0 ") == 1
            await clock.advance(SILENCE_MS)
            assert await produce(client, 0) == STORAGE_ERROR
        assert await value(broker, "stepdown_offline_partitions") == 12
    assert caplog.text.count("is offline until the broker is started again") == 10
    assert "2 more partitions are offline with these" in caplog.text
    assert "appending to t-0 for client 'raw' failed (4 times more since the last line): t-0 is offline" in caplog.text


async def test_records_that_a_log_has_lost_are_said_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A segment of no bytes, `__consumer_offsets` for one, was served as an empty log without a line."""
    async with serving_one(tmp_path) as (_, client):
        await create(client, "t", partitions=2)
        assert [await produce(client, index) for index in (0, 1)] == [ErrorCode.NONE] * 2
    os.truncate(tmp_path / "t-0" / "00000000000000000000.log", 0)
    async with serving_one(tmp_path) as (broker, _):
        assert [broker.cluster.partition("t", index).log.log_end_offset for index in (0, 1)] == [0, 1]
    assert f"{tmp_path}/t-0 ends at offset 0, but had records up to offset 0 on the disk" in caplog.text
    assert f"{tmp_path}/t-1 ends at" not in caplog.text


class NoRenames(FaultyFiles):
    """Once `refuses` is set, no partition's folder can be renamed or made."""

    refuses = False

    def rename(self, source: str, target: str) -> None:
        if self.refuses and "/t-" in source:
            raise DiskFault(f"{source}: Input/output error")
        super().rename(source, target)

    def make_directory(self, path: str) -> None:
        if self.refuses and "/t-" in path:
            raise DiskFault(f"{path}: Input/output error")
        super().make_directory(path)


async def test_a_topic_is_deleted_whose_folder_cannot_be_and_made_again_when_it_can(tmp_path: Path) -> None:
    """CreateTopics was answered TOPIC_ALREADY_EXISTS for a topic that was deleted."""
    files = NoRenames()
    async with serving_one(tmp_path, files=files) as (broker, client):
        await create(client, "t", partitions=2)
        assert await produce(client, 0) == ErrorCode.NONE
        files.refuses = True
        deleted = await client.send(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 3)
        assert [each.error_code for each in deleted.responses] == [ErrorCode.NONE]  # as in Kafka: the metadata say so
        for fails in (True, True, False):
            files.refuses = fails  # after that the old folder is in the way
            made = await client.send(CreateTopicsRequest(topics=[new_topic("t", 2)]), 4)
            assert [each.error_code for each in made.topics] == [STORAGE_ERROR]
    async with serving_one(tmp_path) as (broker, client):
        await create(client, "t", partitions=2)
        assert broker.cluster.partition("t", 0).log.log_end_offset == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
async def test_a_directory_without_permission_is_offline(tmp_path: Path) -> None:
    async with serving(tmp_path) as (broker, client):
        kept, lost = await make_topic(broker, client)
    (tmp_path / "b").chmod(0)
    try:
        async with serving(tmp_path) as (_, client):
            await check_second_is_offline(broker, client, tmp_path, kept, lost)
    finally:
        (tmp_path / "b").chmod(0o755)
