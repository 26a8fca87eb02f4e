"""What clients are told, beside Kafka, of partitions whose directory, folder or segment somebody took away."""

import os
import shutil
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import pytest
from stepdown.bench.servers.admin_connection import Connection
from stepdown.bench.servers.kafka import CLUSTER_ID
from stepdown.bench.servers.process import wait_until
from stepdown.protocol.errors import ErrorCode
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
from stepdown.storage.files.partition_metadata import encode_uuid
from support.admin import new_topic
from support.broker import BrokerProcess, Stepdown, broker_under_test
from support.fetching import fetch
from support.kafka import ApacheKafka
from support.side_by_side import NOT_YET

pytestmark = pytest.mark.java

BATCH = build_batch([Record(offset=0, timestamp=1, key=None, value=b"x")])
PARTITIONS = 4
NOT_LED_YET = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
FIRST, SECOND = "data", "second"
Answers = dict[str, Any]


def metadata(client: Connection) -> dict[int, tuple[int, int, int]]:
    """Error, leader and how many replicas are offline, of each partition."""
    answer = client.call(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9)
    return {
        each.partition_index: (each.error_code, each.leader_id, len(each.offline_replicas))
        for each in answer.topics[0].partitions
    }


def produce(client: Connection, index: int) -> int:
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=index, records=BATCH)])
    answer = client.call(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data]), 7)
    return int(answer.responses[0].partition_responses[0].error_code)


def read(client: Connection, index: int) -> int:
    return int(client.call(fetch("t", partitions=(index,)), 11).responses[0].partitions[0].error_code)


def ask_again(ask: Callable[[Connection, int], int], client: Connection, index: int) -> int:
    """Kafka names a leader before that leads: until then it answers otherwise."""
    while (code := ask(client, index)) in NOT_LED_YET:
        pass
    return code


def look_up(client: Connection, index: int) -> int:
    topic = ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=index, timestamp=-1)])
    answer = client.call(ListOffsetsRequest(replica_id=-1, topics=[topic]), 1)
    return int(answer.topics[0].partitions[0].error_code)


def places(client: Connection) -> dict[str, tuple[int, list[int]]]:
    """The error and the partitions of each directory, by its last name."""
    answer = client.call(DescribeLogDirsRequest(topics=None), 3)
    return {
        Path(result.log_dir).name: (
            result.error_code,
            sorted(part.partition_index for topic in result.topics if topic.name == "t" for part in topic.partitions),
        )
        for result in answer.results
    }


def create(client: Connection, name: str, partitions: int) -> int:
    answer = client.call(CreateTopicsRequest(topics=[new_topic(name, partitions)]), 4)
    return int(answer.topics[0].error_code)


def delete(client: Connection, name: str) -> int:
    answer = client.call(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 3)
    return int(answer.responses[0].error_code)


def log_dirs(folder: Path) -> Mapping[str, str]:
    return {"log.dirs": f"{folder / FIRST},{folder / SECOND}"}


def format_for_kafka(directory: Path) -> None:
    """What `kafka-storage format` does of a second directory."""
    directory.mkdir(parents=True)
    text = f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\ndirectory.id={encode_uuid(uuid4())}\n"
    (directory / "meta.properties").write_text(text)


def ask_about_a_lost_directory(broker: BrokerProcess, folder: Path) -> Answers:
    """The codes that clients get; partitions are those that lie in the first and in the second directory."""
    broker.start()
    broker.create_topic("t", partitions=PARTITIONS)
    with Connection(broker.address) as client:
        assert [produce(client, index) for index in range(PARTITIONS)] == [ErrorCode.NONE] * PARTITIONS
        before = places(client)
    kept, lost = before[FIRST][1][0], before[SECOND][1][0]
    broker.stop()
    (folder / SECOND).rename(folder / "elsewhere")
    (folder / SECOND).write_text("not a folder")
    broker.start()
    try:
        with Connection(broker.address) as client:
            wait_until(lambda: metadata(client)[lost][1] == -1, "the partition has no leader")
            wait_until(lambda: produce(client, kept) == ErrorCode.NONE, "the other one is served")
            asked: dict[str, Callable[[Connection, int], int]] = {"produce": produce, "fetch": read, "list": look_up}
            answers: Answers = {f"{name} kept": ask(client, kept) for name, ask in asked.items()}
            answers |= {f"{name} lost": ask(client, lost) for name, ask in asked.items()}
            answers |= {"metadata kept": metadata(client)[kept], "metadata lost": metadata(client)[lost]}
            answers["directories"] = {name: error for name, (error, _) in places(client).items()}
            answers |= {"create": create(client, "u", PARTITIONS), "delete": delete(client, "t")}
            answers |= {"create again": create(client, "t", 2), "delete again": delete(client, "t")}
            return answers
    finally:
        broker.kill()


def test_a_directory_that_is_a_plain_file_is_answered_as_by_kafka(tmp_path: Path) -> None:
    """DeleteTopics was answered 0 and CreateTopics of the same name 36; the broker did not start."""
    ours = broker_under_test(tmp_path / "ours", properties=log_dirs(tmp_path / "ours"))
    told = ask_about_a_lost_directory(ours, tmp_path / "ours")
    kafka = ApacheKafka(tmp_path / "kafka", properties=log_dirs(tmp_path / "kafka"))
    format_for_kafka(tmp_path / "kafka" / SECOND)
    wanted = ask_about_a_lost_directory(kafka, tmp_path / "kafka")
    for name in ("produce lost", "fetch lost", "list lost"):
        # Kafka says 56 until its next start. Both codes have clients ask for metadata again; ours says why.
        assert (wanted.pop(name), told.pop(name)) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR)
    assert told == wanted


def ask_about_a_lost_folder(
    broker: BrokerProcess, folder: Path, is_missed: Callable[[Connection, int], bool], second: int
) -> Answers:
    """The codes after the folder of one of two partitions in the second directory was removed while it was served.

    They are asked when the broker has missed it, as far as it does; `second` is the code of the directory later.
    """
    broker.start()
    broker.create_topic("t", partitions=PARTITIONS)
    try:
        with Connection(broker.address) as client:
            assert [produce(client, index) for index in range(PARTITIONS)] == [ErrorCode.NONE] * PARTITIONS
            (kept, *_), (lost, beside) = places(client)[FIRST][1], places(client)[SECOND][1]
            shutil.rmtree(folder / SECOND / f"t-{lost}")
            wait_until(lambda: is_missed(client, lost), "the folder is missed")
            asked: dict[str, Callable[[Connection, int], int]] = {"produce": produce, "fetch": read, "list": look_up}
            which = {"lost": lost, "beside it": beside, "elsewhere": kept}
            answers: Answers = {
                f"{name} {where}": ask(client, index) for name, ask in asked.items() for where, index in which.items()
            }
            answers["metadata lost"] = metadata(client)[lost]
            answers["delete"] = delete(client, "t")
            wait_until(lambda: places(client)[SECOND] == (second, []), "the deletion is done")
            answers |= {"create": create(client, "t", 2), "create u": create(client, "u", 2)}
            wait_until(lambda: metadata(client) == dict.fromkeys((0, 1), (0, 1, 0)), "it is served again")
            answers |= {"produce again": ask_again(produce, client, 0), "fetch again": ask_again(read, client, 1)}
            answers["directories"] = {name: error for name, (error, _) in places(client).items()}
            if isinstance(broker, Stepdown):
                with urlopen(f"http://{broker.http}/readyz") as page:
                    assert page.status == HTTPStatus.OK
            return answers
    finally:
        broker.kill()


def test_a_folder_that_is_taken_away_is_answered_as_by_kafka_once_it_is_missed(tmp_path: Path) -> None:
    """Kafka misses it when the topic is deleted, and then has the whole directory offline."""
    ours = broker_under_test(tmp_path / "ours", properties=log_dirs(tmp_path / "ours"))
    told = ask_about_a_lost_folder(ours, tmp_path / "ours", lambda client, lost: metadata(client)[lost][1] == -1, 0)
    kafka = ApacheKafka(tmp_path / "kafka", properties=log_dirs(tmp_path / "kafka"))
    format_for_kafka(tmp_path / "kafka" / SECOND)
    wanted = ask_about_a_lost_folder(kafka, tmp_path / "kafka", lambda *_: True, 56)
    for name in ("produce lost", "fetch lost", "list lost"):
        # Kafka goes on with files that have no name any more: what it acknowledges there is gone at its next start.
        assert (wanted.pop(name), told.pop(name)) == (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR)
    assert (wanted.pop("metadata lost"), told.pop("metadata lost")) == (
        (ErrorCode.NONE, 1, 0),
        (ErrorCode.LEADER_NOT_AVAILABLE, -1, 1),
    )
    assert wanted.pop("directories") == {FIRST: ErrorCode.NONE, SECOND: ErrorCode.KAFKA_STORAGE_ERROR}
    assert told.pop("directories") == {FIRST: ErrorCode.NONE, SECOND: ErrorCode.NONE}
    assert told == wanted


def committed_after_an_empty_segment(broker: BrokerProcess) -> tuple[int, int]:
    """Error and offset of a group whose partition of `__consumer_offsets` has lost all bytes of its only segment."""
    with_offset = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    commit = OffsetCommitRequest(
        group_id="g",
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[OffsetCommitRequestTopic(name="t", partitions=[with_offset])],
    )
    fetch_offset = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])])

    def committed(client: Connection) -> tuple[int, int]:
        answer = client.call(fetch_offset, 5)
        while answer.error_code in NOT_YET:
            answer = client.call(fetch_offset, 5)
        return int(answer.error_code), int(answer.topics[0].partitions[0].committed_offset)

    broker.start()
    broker.create_topic("t")
    with Connection(broker.address) as client:
        wait_until(lambda: not client.call(FindCoordinatorRequest(key="g"), 0).error_code, "there is a coordinator")
        wait_until(lambda: not client.call(commit, 2).topics[0].partitions[0].error_code, "the offset is committed")
        assert committed(client) == (ErrorCode.NONE, 7)
    broker.stop()
    os.truncate(broker.log_dir / "__consumer_offsets-0" / "00000000000000000000.log", 0)
    broker.start()
    try:
        with Connection(broker.address) as client:
            wait_until(lambda: not client.call(FindCoordinatorRequest(key="g"), 0).error_code, "it is back")
            return committed(client)
    finally:
        broker.kill()


def test_committed_offsets_of_an_empty_segment_are_gone_as_in_kafka_and_that_is_said(tmp_path: Path) -> None:
    """No line said so."""
    properties = {"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1"}
    ours = broker_under_test(tmp_path / "ours", properties=properties)
    told = committed_after_an_empty_segment(ours)
    wanted = committed_after_an_empty_segment(ApacheKafka(tmp_path / "kafka", properties=properties))
    assert told == wanted == (ErrorCode.NONE, -1)
    if isinstance(ours, Stepdown):
        assert f"{ours.log_dir}/__consumer_offsets-0 ends at offset 0, but had records up to offset 0" in ours.log
