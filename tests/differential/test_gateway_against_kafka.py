"""Each translated version through the gateway to Kafka 4.4.0 is answered as by Kafka 3.9.1, field by field.

Left out are offsets of groups in version 0 (3.9.1 keeps them in ZooKeeper only, and answers 35), and what
docs/gateway.md names.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from stepdown.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest
from stepdown.protocol.messages.describe_acls import DescribeAclsRequest
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from support.client import RawClient
from support.clients_raw import create_topic
from support.fetching import fetch, read, records
from support.gateway_process import GatewayProcess
from support.kafka import ApacheKafka
from support.kafka_4 import LATEST, ApacheKafka4

pytestmark = pytest.mark.java

Addresses = tuple[str, str]
"""Of the gateway to Kafka 4.4.0, and of Kafka 3.9.1."""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    folder = tmp_path_factory.mktemp("gateway")
    with (
        ApacheKafka(tmp_path_factory.mktemp("old")) as old,
        ApacheKafka4(tmp_path_factory.mktemp("new"), release=LATEST) as new,
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
ADMINISTRATION = {
    "CreateTopics 0, bad": (CreateTopicsRequest(topics=(replace(NEW, name="a/b"),)), 0),
    "CreateTopics 0": (CreateTopicsRequest(topics=(NEW,)), 0),
    "CreateTopics 0, again": (CreateTopicsRequest(topics=(NEW,)), 0),
    "CreateTopics 1": (CreateTopicsRequest(topics=(replace(NEW, name="only-checked"),), validate_only=True), 1),
    "DeleteTopics 0": (DeleteTopicsRequest(topic_names=("made", "none"), timeout_ms=5000), 0),
    "OffsetForLeaderEpoch 0": (OffsetForLeaderEpochRequest(topics=(EPOCHS,)), 0),
    "OffsetForLeaderEpoch 1": (OffsetForLeaderEpochRequest(topics=(EPOCHS,)), 1),
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
}


def test_administration(addresses: Addresses) -> None:
    found = []
    for address in addresses:
        create_topic(address, "epochs")
        found.append(answer(address, *ADMINISTRATION.values()))
    for name, through, direct in zip(ADMINISTRATION, *found, strict=True):
        assert strip(through) == strip(direct), name


def strip(response: Any) -> Any:
    """Without what a controller orders as it likes."""
    return (
        replace(response, responses=sorted(response.responses, key=str))
        if isinstance(getattr(response, "responses", None), list | tuple)
        else response
    )
