"""Each translated version through the gateway to Kafka 4.4.0 is answered as by Kafka 3.9.1, field by field.

Left out is OffsetCommit 0 (3.9.1 keeps its offsets in ZooKeeper only, and answers 35), and what docs/gateway.md names.
"""

import asyncio
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from stepdown.gateway.error_mapping import map_error_code
from stepdown.protocol.api import ApiKey
from stepdown.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stepdown.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest
from stepdown.protocol.messages.describe_acls import DescribeAclsRequest
from stepdown.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from stepdown.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
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
from stepdown.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from support.client import RawClient
from support.clients_raw import create_topic
from support.deadline import DEADLINE_S
from support.fetching import fetch, read, records
from support.gateway_process import GatewayProcess
from support.kafka import ApacheKafka
from support.kafka_4 import LATEST, ApacheKafka4
from support.kafka_authorizing import AUTHORIZER

pytestmark = pytest.mark.java

Addresses = tuple[str, str]
"""Of the gateway to Kafka 4.4.0, and of Kafka 3.9.1."""
ACLS = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    folder = tmp_path_factory.mktemp("gateway")
    with (
        ApacheKafka(tmp_path_factory.mktemp("old"), properties=ACLS) as old,
        ApacheKafka4(tmp_path_factory.mktemp("new"), release=LATEST, properties=ACLS) as new,
        GatewayProcess(folder, new.address) as gateway,
    ):
        yield gateway.address, old.address


def answer(address: str, *requests: tuple[Any, int]) -> list[Any]:
    """The answers to requests on one connection."""

    async def ask() -> list[Any]:
        host, _, port = address.rpartition(":")
        async with await RawClient.connect(host, int(port)) as client:
            return [await client.send(request, version) for request, version in requests]

    return asyncio.run(ask())


def produce(topic: str, *sets: bytes) -> ProduceRequest:
    data = [PartitionProduceData(index=at, records=each) for at, each in enumerate(sets)]
    return ProduceRequest(acks=-1, timeout_ms=5000, topic_data=(TopicProduceData(name=topic, partition_data=data),))


def messages(magic: int, codec: Codec) -> bytes:
    return build_batch([replace(each, headers=()) for each in records(5)], magic=magic, codec=codec)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_produce(addresses: Addresses, version: int) -> None:
    topic = f"produce-{version}"
    whole = messages(1, Codec.NONE)
    corrupt = bytearray(whole)
    corrupt[-1] ^= 1
    sets = [
        *(messages(magic, codec) for magic in (0, 1, 2) for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)),
        *(bytes(corrupt), b"", whole[:-3]),
    ]
    answers = []
    for address in addresses:
        create_topic(address, topic, partitions=len(sets))
        answers.append(answer(address, (produce(topic, *sets), version), (produce(topic, *sets), version)))
    through, direct = ([sort(each) for each in of_one] for of_one in answers)
    assert through == direct
    stored = [answer(address, (fetch(topic, partitions=range(len(sets))), 4))[0] for address in addresses]
    assert records_of(stored[0]) == records_of(stored[1])


def sort(response: Any) -> list[Any]:
    return sorted(response.responses[0].partition_responses, key=lambda each: each.index)


def records_of(response: Any) -> dict[int, Any]:
    return {each.partition_index: read(each.records) for each in response.responses[0].partitions}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_fetch(addresses: Addresses, version: int) -> None:
    topic, codecs = f"fetch-{version}", (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
    found = []
    for address in addresses:
        create_topic(address, topic, partitions=len(codecs))
        batches = [build_batch(records(10), codec=codec) for codec in codecs]
        answer(address, (produce(topic, *batches), 3), (produce(topic, *batches), 3))
        asked = [(fetch(topic, offset, partitions=range(len(codecs))), version) for offset in (0, 13, 20, 21)]
        found.append(answer(address, *asked))
    for through, direct in zip(*found, strict=True):
        for one, other in zip(through.responses[0].partitions, direct.responses[0].partitions, strict=True):
            assert replace(one, records=None) == replace(other, records=None)
            assert read(one.records)[: len(read(other.records))] == read(other.records)


@pytest.mark.parametrize(("time", "most"), [(-1, 1), (-1, 5), (-2, 1), (-2, 5), (-1, 0), (-3, 1), (1 << 50, 1)])
def test_list_offsets(addresses: Addresses, time: int, most: int) -> None:
    asked = ListOffsetsPartition(partition_index=0, timestamp=time, max_num_offsets=most)
    topic = f"offsets-{time}-{most}"
    found = []
    for address in addresses:
        create_topic(address, topic)
        topics = (ListOffsetsTopic(name=topic, partitions=(asked,)), ListOffsetsTopic(name="none", partitions=(asked,)))
        request = ListOffsetsRequest(replica_id=-1, topics=topics)
        found.append(answer(address, (produce(topic, messages(1, Codec.NONE)), 2), (request, 0))[1])
    through, direct = ({each.name: each.partitions for each in response.topics} for response in found)
    assert through == direct


EPOCHS = OffsetForLeaderTopic(topic="epochs", partitions=(OffsetForLeaderPartition(partition=0, leader_epoch=0),))
NEW = CreatableTopic(name="made", num_partitions=1, replication_factor=1)
RULE = AclCreation(resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3)
OF_TOPICS: dict[str, Any] = {
    "resource_type_filter": 2,
    "resource_name_filter": None,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
OF_TOPIC = DescribeConfigsResource(
    resource_type=2, resource_name="epochs", configuration_keys=("retention.ms", "cleanup.policy")
)
MOVE = AlterReplicaLogDir(path="/no/such", topics=(AlterReplicaLogDirTopic(name="epochs", partitions=(0,)),))
ADMINISTRATION = {
    "CreateTopics 0, bad": (CreateTopicsRequest(topics=(replace(NEW, name="a/b"),)), 0),
    "CreateTopics 0": (CreateTopicsRequest(topics=(NEW,)), 0),
    "CreateTopics 0, again": (CreateTopicsRequest(topics=(NEW,)), 0),
    "CreateTopics 1": (CreateTopicsRequest(topics=(replace(NEW, name="only-checked"),), validate_only=True), 1),
    "DeleteTopics 0": (DeleteTopicsRequest(topic_names=("made", "none"), timeout_ms=5000), 0),
    "OffsetForLeaderEpoch 0": (OffsetForLeaderEpochRequest(topics=(EPOCHS,)), 0),
    "OffsetForLeaderEpoch 1": (OffsetForLeaderEpochRequest(topics=(EPOCHS,)), 1),
    "CreateAcls 0": (CreateAclsRequest(creations=(RULE, replace(RULE, operation=99))), 0),
    "DescribeAcls 0": (DescribeAclsRequest(**OF_TOPICS), 0),
    "DeleteAcls 0": (DeleteAclsRequest(filters=(DeleteAclsFilter(**OF_TOPICS),)), 0),
    "DescribeAcls 0, none": (DescribeAclsRequest(**OF_TOPICS), 0),
    "DescribeConfigs 0": (DescribeConfigsRequest(resources=(OF_TOPIC, replace(OF_TOPIC, resource_name="none"))), 0),
    "AlterReplicaLogDirs 0": (AlterReplicaLogDirsRequest(dirs=(MOVE,)), 0),
    "DescribeLogDirs 0": (DescribeLogDirsRequest(topics=(DescribableLogDirTopic(topic="epochs", partitions=(0,)),)), 0),
}

RULES_AFTER = {"DescribeAcls 0": 1, "DescribeAcls 0, none": 0}
"""A broker of Kafka learns of a change some time after its controller has answered."""


def administer(address: str) -> list[Any]:
    """The answers to `ADMINISTRATION` on one connection; what describes rules is asked until it knows of the change."""

    async def ask() -> list[Any]:
        host, _, port = address.rpartition(":")
        answers = []
        async with asyncio.timeout(DEADLINE_S), await RawClient.connect(host, int(port)) as client:
            for name, (request, version) in ADMINISTRATION.items():
                response = await client.send(request, version)
                while name in RULES_AFTER and len(response.resources) != RULES_AFTER[name]:
                    response = await client.send(request, version)
                answers.append(response)
        return answers

    return asyncio.run(ask())


def test_administration(addresses: Addresses) -> None:
    found = []
    for address in addresses:
        create_topic(address, "epochs")
        found.append(administer(address))
    for name, through, direct in zip(ADMINISTRATION, *found, strict=True):
        assert strip(through) == strip(direct), name


def strip(response: Any) -> Any:
    """Without what a controller orders as it likes, where the files are, and what 3.9.1 says of every setting: that it
    is nobody's default."""
    if isinstance(getattr(response, "responses", None), list | tuple):
        return replace(response, responses=sorted(response.responses, key=str))
    results = getattr(response, "results", ())
    if results and hasattr(results[0], "log_dir"):
        return [replace(each, log_dir="") for each in results]
    if results and hasattr(results[0], "configs"):
        return [
            replace(each, configs=sorted((replace(one, is_default=False) for one in each.configs), key=str))
            for each in results
        ]
    return response


NO_HMAC = struct.pack(">i2sq", 2, b"no", 1000)
TOKENS = {
    ApiKey.CREATE_DELEGATION_TOKEN: struct.pack(">iq", 0, -1),
    ApiKey.RENEW_DELEGATION_TOKEN: NO_HMAC,
    ApiKey.EXPIRE_DELEGATION_TOKEN: NO_HMAC,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: struct.pack(">i", -1),
}
"""The bodies of version 0: any renewer, the token "no", all owners."""


@pytest.mark.parametrize("key", TOKENS, ids=lambda key: key.name)
def test_delegation_tokens(addresses: Addresses, key: ApiKey) -> None:
    """Byte for byte, since no message here has their layout: in clear text nobody is given one, and told so."""

    async def ask(address: str) -> bytes | None:
        host, _, port = address.rpartition(":")
        async with await RawClient.connect(host, int(port)) as client:
            body = struct.pack(">hhih3s", key, 0, 7, 3, b"raw") + TOKENS[key]
            await client.send_raw(struct.pack(">i", len(body)) + body)
            return await client.read_frame()

    through, direct = (asyncio.run(ask(address)) for address in addresses)
    assert direct is not None and through == direct


@pytest.fixture(scope="module")
def first_of_4(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway to 4.0.0, which alone has no JoinGroup 0 and 1."""
    folder = tmp_path_factory.mktemp("first")
    with (
        ApacheKafka4(tmp_path_factory.mktemp("first-of-4"), release="4.0.0") as kafka,
        GatewayProcess(folder, kafka.address) as gateway,
    ):
        yield gateway.address


@pytest.mark.slow
@pytest.mark.parametrize("version", [0, 1])
def test_groups(addresses: Addresses, first_of_4: str, version: int) -> None:
    """JoinGroup 0 and 1, and OffsetCommit 1 and OffsetFetch 0 of the member that has joined; 3.9.1 has OffsetFetch 0 in
    ZooKeeper only, and answers version 1 alike but for the error of an offset that nobody committed."""
    found = []
    for address in (addresses[0], first_of_4, addresses[1]):
        create_topic(address, topic := f"groups-{version}", partitions=2)
        found.append(asyncio.run(join_and_commit(address, topic, version, 1 if address == addresses[1] else 0)))
    through, first, direct = found
    assert through == direct
    assert first == direct


async def join_and_commit(address: str, topic: str, version: int, fetch_version: int) -> list[Any]:
    """The answers to a group's first member, whose id is taken out of them, with the errors that 0.8.2 knows."""
    host, _, port = address.rpartition(":")
    join = JoinGroupRequest(
        group_id=topic,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b"x"),),
    )
    async with asyncio.timeout(DEADLINE_S), await RawClient.connect(host, int(port)) as client:
        while (await client.send(FindCoordinatorRequest(key=topic), 0)).error_code == 15:
            pass
        while (joined := await client.send(join, version)).error_code in (14, 15, 16):
            pass
        member = joined.member_id
        assert joined.leader == member and [each.member_id for each in joined.members] == [member]
        own = SyncGroupRequestAssignment(member_id=member, assignment=b"all")
        sync = SyncGroupRequest(
            group_id=topic, generation_id=joined.generation_id, member_id=member, assignments=(own,)
        )
        assert (await client.send(sync, 0)).assignment == b"all"
        commits = [
            OffsetCommitRequest(
                group_id=topic,
                generation_id_or_member_epoch=generation,
                member_id=member,
                topics=(
                    OffsetCommitRequestTopic(
                        name=topic,
                        partitions=(OffsetCommitRequestPartition(partition_index=0, committed_offset=5),),
                    ),
                ),
            )
            for generation in (joined.generation_id, joined.generation_id + 1)
        ]
        committed = [(await client.send(commit, 1)).topics[0].partitions[0] for commit in commits]
        answers = [map_error_code(ApiKey.OFFSET_COMMIT, 1, each.error_code) for each in committed]
        asked = OffsetFetchRequest(
            group_id=topic, topics=(OffsetFetchRequestTopic(name=topic, partition_indexes=(0, 1)),)
        )
        fetched = (await client.send(asked, fetch_version)).topics[0].partitions
    told = {each.partition_index: (each.committed_offset, each.metadata, each.error_code) for each in fetched}
    if fetch_version == 1:
        told[1] = (*told[1][:2], 3)
    members = [replace(each, member_id="") for each in joined.members]
    return [replace(joined, leader="", member_id="", members=members), answers, told]
