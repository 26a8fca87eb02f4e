"""Each translated version is answered as by a broker that takes it: field by field, but for what is named here."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stepdown.network.clients.losses import describe_loss
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stepdown.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest
from stepdown.protocol.messages.describe_acls import DescribeAclsRequest
from stepdown.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from stepdown.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stepdown.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from stepdown.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from support.client import RawClient
from support.fetching import create, fetch, fetched, magics, produce, read, records
from support.gateway import Stage, running_gateway


def plain(count: int, first: int = 0) -> list[Record]:
    return [replace(each, headers=()) for each in records(count, first=first)]


def produce_request(*sets: bytes | None, topic: str = "orders", index: int = 0, acks: int = -1) -> ProduceRequest:
    data = tuple(PartitionProduceData(index=index, records=each) for each in sets)
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=(TopicProduceData(name=topic, partition_data=data),))


async def stored(stage: Stage, topic: str = "orders") -> list[tuple[int, int, bytes | None, bytes | None]]:
    async with await stage.connect_to_broker() as own:
        return read((await fetched(own, fetch(topic), 11)).records)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4], ids=lambda codec: codec.name)
async def test_produce_is_answered_and_stored_as_by_the_broker(
    tmp_path: Path, version: int, magic: int, codec: Codec
) -> None:
    messages = build_batch(plain(5), magic=magic, codec=codec)
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        for name in ("orders", "direct"):
            await create(own, name)
        for _ in range(2):
            through = await client.send(produce_request(messages), version)
            direct = await own.send(produce_request(messages, topic="direct"), version)
            assert through.responses[0].partition_responses == direct.responses[0].partition_responses
        assert (0, 3) in stage.front.requests
        assert await stored(stage) == await stored(stage, "direct")


async def test_a_partition_named_twice_gets_two_offsets(tmp_path: Path) -> None:
    """Kafka keeps one of two batches and loses the other without an error."""
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders")
        sets = build_batch(plain(3), magic=1), build_batch(plain(2, first=3), magic=1, codec=Codec.GZIP)
        answers = (await client.send(produce_request(*sets), 2)).responses[0].partition_responses
        assert [(each.error_code, each.base_offset) for each in answers] == [(0, 0), (0, 3)]
        assert [each[2] for each in await stored(stage)] == [b"k0", b"k1", b"k2", b"k3", b"k4"]


async def test_several_wrappers_of_a_set_become_one_batch(tmp_path: Path) -> None:
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders")
        messages = b"".join(build_batch(plain(2, first=2 * n), magic=n % 2, codec=Codec.GZIP) for n in range(3))
        (answer,) = (await client.send(produce_request(messages), 1)).responses[0].partition_responses
        assert (answer.error_code, answer.base_offset) == (0, 0)
        assert [each[2] for each in await stored(stage)] == [f"k{n}".encode() for n in range(6)]


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_a_bad_partition_is_answered_and_the_others_are_sent(tmp_path: Path, version: int) -> None:
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders", 5)
        good = build_batch(plain(2), magic=1)
        bad = bytearray(good)
        bad[-1] ^= 1
        sets = {0: good, 1: bytes(bad), 2: b"", 3: good[:-3], 4: None}
        data = tuple(PartitionProduceData(index=index, records=each) for index, each in sets.items())
        topic = TopicProduceData(name="orders", partition_data=data)
        request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=(topic,))
        answers = (await client.send(request, version)).responses[0].partition_responses
        assert [(each.index, each.error_code, each.base_offset) for each in answers] == [
            *((0, 0, 0), (1, 2, -1), (2, 0, -1), (3, 0, 0), (4, 0, -1))
        ]


async def test_nothing_to_send_is_answered_without_the_cluster(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        answer = await client.send(produce_request(b"", topic="nowhere"), 1)
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert (0, 3) not in stage.front.requests


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4], ids=lambda codec: codec.name)
async def test_fetch_gives_what_the_broker_gives(tmp_path: Path, version: int, codec: Codec) -> None:
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders")
        for first in range(0, 30, 10):
            await produce(own, "orders", build_batch(records(10, first=first), codec=codec))
        for offset in (0, 13, 29, 30, 31):
            request = fetch("orders", offset)
            through, direct = await fetched(client, request, version), await fetched(own, request, version)
            found = read(through.records)  # a broker cuts what is larger converted than stored
            assert found[: len(read(direct.records))] == read(direct.records)
            assert [each[0] for each in found] == list(range(offset if codec is Codec.NONE else offset // 10 * 10, 30))
            assert magics(through.records) <= {0 if version < 2 else 1}
            assert (through.error_code, through.high_watermark) == (direct.error_code, direct.high_watermark)


@pytest.mark.parametrize(("kind", "lost"), [("CreateTime", {"timestamps": 3}), ("LogAppendTime", {})])
async def test_timestamps_that_the_cluster_sets_are_not_lost(tmp_path: Path, kind: str, lost: dict[str, int]) -> None:
    """They were counted on, with the advice that had been followed."""
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        async with await stage.connect_to_broker() as own:
            await create(own, "orders", message_timestamp_type=kind)
        answer = await client.send(produce_request(build_batch(plain(3), magic=0)), 0)
        assert answer.responses[0].partition_responses[0].error_code == 0
        (row,) = stage.gateway.clients.document()["clients"]
    assert row["lost"] == lost
    assert [each["topics"] for each in row["loss_details"].values()] == [["orders"] for _ in lost]


async def test_zstd_that_a_client_cannot_read_is_counted_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The client got an error that it has no name for, and neither the report nor the log said why."""
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        async with await stage.connect_to_broker() as own:
            await create(own, "orders")
            await own.send(produce_request(build_batch(plain(3), magic=2, codec=Codec.ZSTD)), 7)
        for _ in range(2):
            assert (await fetched(client, fetch("orders"), 2)).error_code == -1
        (row,) = stage.gateway.clients.document()["clients"]
    assert row["lost"] == {"zstd": 2}
    assert row["loss_details"] == {"zstd": {"latest_ms": row["latest_ms"], "topics": ["orders"]}}
    (line,) = [each for each in caplog.messages if "loses zstd, of orders: set stepdown.downconversion.zstd" in each]
    assert f"topics alter orders -c compression.type=gzip -b {stage.gateway.settings.cluster_for_commands}" in line


async def test_lz4_that_kafka_node_cannot_read_is_counted(tmp_path: Path) -> None:
    """It was sent compressed bytes as values, and the report said that it lost nothing."""
    async with running_gateway(tmp_path) as stage, await stage.connect_to_broker() as own:
        for topic, codec in (("in-lz4", Codec.LZ4), ("in-gzip", Codec.GZIP)):
            await create(own, topic)
            await own.send(produce_request(build_batch(plain(3), magic=2, codec=codec), topic=topic), 7)
        for client_id in ("kafka-node-client", "another"):
            async with await RawClient.connect("127.0.0.1", stage.gateway.address.port, client_id=client_id) as client:
                for topic in ("in-gzip", "in-lz4"):
                    assert (await fetched(client, fetch(topic), 2)).error_code == 0
        rows = {row["client_id"]: row for row in stage.gateway.clients.document()["clients"]}
    assert {name: row["lost"] for name, row in rows.items()} == {"kafka-node-client": {"lz4": 1}, "another": {}}
    assert rows["kafka-node-client"]["loss_details"]["lz4"]["topics"] == ["in-lz4"]


async def test_lz4_of_a_client_that_may_be_kafka_node_is_told_with_that_condition(tmp_path: Path) -> None:
    """A kafka-node with a client id of its own got garbage without a word anywhere."""
    async with running_gateway(tmp_path) as stage, await stage.connect_to_broker() as own:
        await create(own, "orders")
        await own.send(produce_request(build_batch(plain(3), magic=2, codec=Codec.LZ4)), 7)
        for client_id, version in (("fetch-2", 2), ("fetch-3", 3)):
            async with await RawClient.connect("127.0.0.1", stage.gateway.address.port, client_id=client_id) as client:
                await client.send(ApiVersionsRequest(), 0)
                assert (await fetched(client, fetch("orders"), version)).error_code == 0
        rows = {row["client_id"]: row["lost"] for row in stage.gateway.clients.document()["clients"]}
    assert rows == {"fetch-2": {"lz4 if kafka-node": 1}, "fetch-3": {}}
    told = describe_loss("lz4 if kafka-node", 1, topics=["orders"], cluster="kafka-1:9092")
    assert told.startswith(
        "if it is kafka-node, records in LZ4, in fetches of a partition, which it could not read (1)"
    )
    assert "stepdown topics alter orders -c compression.type=gzip -b kafka-1:9092" in told


@pytest.mark.parametrize("version", [0, 2])
async def test_a_limit_below_the_batch_still_gives_messages(tmp_path: Path, version: int) -> None:
    """Kafka 3.9.1 gives an empty set: such a reader stops for ever."""
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders")
        await produce(own, "orders", build_batch(records(100, 1000)))
        for limit in (2500, 100):
            answer = await fetched(client, fetch("orders", max_bytes=limit), version)
            assert len(answer.records) <= limit
            assert len(read(answer.records)) == limit // 1000
            assert answer.records  # below one message its first bytes


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_every_partition_moves_within_ten_fetches(tmp_path: Path, version: int) -> None:
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders", 100)
        batch = build_batch(records(100, 1000))
        for partition in range(100):
            await produce(own, "orders", batch, partition)
        moved: set[int] = set()
        for _ in range(10):
            answer = await client.send(fetch("orders", partitions=range(100)), version)
            partitions = answer.responses[0].partitions
            assert [each.partition_index for each in partitions] == list(range(100))
            moved |= {each.partition_index for each in partitions if read(each.records)}
        assert moved == set(range(100))


async def test_a_reader_at_the_end_of_a_transaction_waits_for_what_comes(tmp_path: Path) -> None:
    """A marker at the end of the log is nothing to an old client, which would ask again and again."""
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders")
        await commit_transaction(own, "orders")
        end = (await fetched(own, fetch("orders"), 4)).high_watermark
        before = len(stage.front.requests)
        answer = await fetched(client, fetch("orders", end - 1, max_wait_ms=300, min_bytes=1), 1)
        assert not answer.records
        assert len(stage.front.requests) - before <= 3
        waiting = await client.begin(fetch("orders", end - 1, max_wait_ms=30_000, min_bytes=1), 1)
        await produce(own, "orders", build_batch(records(1)))
        answer = await client.finish(fetch("orders"), 1, waiting)
        assert [each[0] for each in read(answer.responses[0].partitions[0].records)] == [end]


async def commit_transaction(own: Any, topic: str) -> None:
    from stepdown.protocol.messages.add_partitions_to_txn import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnTopic,
    )
    from stepdown.protocol.messages.end_txn import EndTxnRequest
    from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
    from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest

    await own.send(FindCoordinatorRequest(key="t", key_type=1), 1)
    while (
        given := await own.send(InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=60_000), 1)
    ).error_code:
        pass
    who = {"transactional_id": "t", "producer_id": given.producer_id, "producer_epoch": given.producer_epoch}
    named = AddPartitionsToTxnTopic(name=topic, partitions=(0,))
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="t",
        v3_and_below_producer_id=given.producer_id,
        v3_and_below_producer_epoch=given.producer_epoch,
        v3_and_below_topics=(named,),
    )
    await own.send(request, 0)
    batch = build_batch(
        plain(1),
        producer_id=given.producer_id,
        producer_epoch=given.producer_epoch,
        base_sequence=0,
        transactional=True,
    )
    data = produce_request(batch, topic=topic)
    assert (await own.send(replace(data, transactional_id="t"), 3)).responses[0].partition_responses[0].error_code == 0
    assert (await own.send(EndTxnRequest(**who, committed=True), 1)).error_code == 0


@pytest.mark.parametrize(("time", "most"), [(-1, 1), (-1, 5), (-2, 1), (-2, 3), (-1, 0), (-3, 1)])
async def test_list_offsets_is_answered_as_by_the_broker(tmp_path: Path, time: int, most: int) -> None:
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders")
        await produce(own, "orders", build_batch(records(10)))
        asked = ListOffsetsPartition(partition_index=0, timestamp=time, max_num_offsets=most)
        request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name="orders", partitions=(asked,)),))
        through, direct = await client.send(request, 0), await own.send(request, 0)
        assert through == direct


async def test_latest_and_earliest_of_a_partition_come_in_one_answer(tmp_path: Path) -> None:
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders")
        await produce(own, "orders", build_batch(records(10)))
        asked = [ListOffsetsPartition(partition_index=0, timestamp=time, max_num_offsets=1) for time in (-1, -2, 1004)]
        request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name="orders", partitions=asked),))
        answer = await client.send(request, 0)
        assert [list(each.old_style_offsets) for each in answer.topics[0].partitions] == [[10], [0], [4]]


@pytest.mark.parametrize("version", [0, 1])
async def test_committed_offsets_are_kept_and_told(tmp_path: Path, version: int) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=7, committed_metadata="m")
    topic = OffsetCommitRequestTopic(name="orders", partitions=(partition,))
    ask = OffsetFetchRequest(group_id="g", topics=(OffsetFetchRequestTopic(name="orders", partition_indexes=(0, 1)),))
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders", 2)
        commit = OffsetCommitRequest(group_id="g", topics=(topic,))
        while (answer := await client.send(commit, version)).topics[0].partitions[0].error_code in (14, 15):
            pass
        assert answer.topics[0].partitions[0].error_code == 0
        told = (await client.send(ask, 0)).topics[0].partitions
        assert [(each.committed_offset, each.metadata, each.error_code) for each in told] == [(7, "m", 0), (-1, "", 3)]


@pytest.mark.parametrize("version", [0, 1])
async def test_a_group_is_joined_in_the_old_versions(tmp_path: Path, version: int) -> None:
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000 if version else -1,
        member_id="",
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b"x"),),
    )
    async with (
        running_gateway(tmp_path, {"group_initial_rebalance_delay_ms": 0}) as stage,
        await stage.connect() as client,
    ):
        while (answer := await client.send(request, version)).error_code in (14, 15, 16):
            pass
        assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
        assert answer.leader == answer.member_id


EPOCH = OffsetForLeaderPartition(partition=0, leader_epoch=0)
EPOCHS = OffsetForLeaderEpochRequest(topics=(OffsetForLeaderTopic(topic="orders", partitions=(EPOCH,)),))
ADMINISTRATION = {
    "CreateTopics 0": (
        CreateTopicsRequest(topics=(CreatableTopic(name="n", num_partitions=1, replication_factor=1),)),
        0,
    ),
    "CreateTopics 1": (
        CreateTopicsRequest(
            topics=(CreatableTopic(name="n", num_partitions=1, replication_factor=1),), validate_only=True
        ),
        1,
    ),
    "CreateTopics 0 again": (
        CreateTopicsRequest(topics=(CreatableTopic(name="orders", num_partitions=1, replication_factor=1),)),
        0,
    ),
    "DeleteTopics 0": (DeleteTopicsRequest(topic_names=("no", "such"), timeout_ms=1000), 0),
    "OffsetForLeaderEpoch 0": (
        OffsetForLeaderEpochRequest(
            topics=(
                OffsetForLeaderTopic(
                    topic="orders", partitions=(OffsetForLeaderPartition(partition=0, leader_epoch=0),)
                ),
            )
        ),
        0,
    ),
    "OffsetForLeaderEpoch 1": (
        OffsetForLeaderEpochRequest(
            topics=(
                OffsetForLeaderTopic(
                    topic="orders", partitions=(OffsetForLeaderPartition(partition=0, leader_epoch=0),)
                ),
            )
        ),
        1,
    ),
    "DescribeAcls 0": (
        DescribeAclsRequest(
            resource_type_filter=2,
            resource_name_filter=None,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        ),
        0,
    ),
    "CreateAcls 0": (
        CreateAclsRequest(
            creations=(
                AclCreation(
                    resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
                ),
            )
        ),
        0,
    ),
    "DeleteAcls 0": (
        DeleteAclsRequest(
            filters=(
                DeleteAclsFilter(
                    resource_type_filter=2,
                    resource_name_filter=None,
                    principal_filter=None,
                    host_filter=None,
                    operation=1,
                    permission_type=1,
                ),
            )
        ),
        0,
    ),
    "DescribeLogDirs 0": (DescribeLogDirsRequest(topics=None), 0),
}


@pytest.mark.parametrize(("request_value", "version"), ADMINISTRATION.values(), ids=ADMINISTRATION)
async def test_administration_is_answered_as_by_the_broker(tmp_path: Path, request_value: Any, version: int) -> None:
    direct = await _answer_of(tmp_path, "direct", request_value, version, through=False)
    assert await _answer_of(tmp_path, "through", request_value, version, through=True) == direct


async def _answer_of(tmp_path: Path, name: str, request: Any, version: int, *, through: bool) -> Any:
    authorizer = {"authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    everybody = {"allow_everyone_if_no_acl_found": "true", "super_users": "User:ANONYMOUS"}
    async with (
        running_gateway(tmp_path / name, authorizer | everybody) as stage,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders")
        async with await (stage.connect() if through else stage.connect_to_broker()) as client:
            answer = await client.send(request, version)
    if hasattr(answer, "results") and hasattr(answer.results[0], "log_dir"):
        return [replace(each, log_dir="", total_bytes=0, usable_bytes=0) for each in answer.results]
    return answer


async def test_a_value_that_nobody_set_is_told_as_the_default(tmp_path: Path) -> None:
    """Kafka 3.9.1 says of everything that it is none."""
    asked = DescribeConfigsResource(
        resource_type=2, resource_name="orders", configuration_keys=("retention.ms", "retention.bytes")
    )
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders", retention_ms="1000")
        answer = await client.send(DescribeConfigsRequest(resources=(asked,)), 0)
        assert {each.name: (each.value, each.is_default) for each in answer.results[0].configs} == {
            "retention.ms": ("1000", False),
            "retention.bytes": ("-1", True),
        }


async def test_a_client_of_0_8_gets_no_error_that_it_does_not_know(tmp_path: Path) -> None:
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders", message_timestamp_after_max_ms="1000")
        messages = build_batch([replace(plain(1)[0], timestamp=1 << 45)], magic=1)
        for version, code in ((0, -1), (1, -1), (2, 32)):
            (answer,) = (await client.send(produce_request(messages), version)).responses[0].partition_responses
            assert answer.error_code == code
