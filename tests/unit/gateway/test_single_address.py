"""One address for all brokers: the gateway sends each request, or part of one, to the broker that it is for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from stepdown.broker.broker_cluster import BrokerCluster
from stepdown.config import ConfigError
from stepdown.gateway.gateway import Gateway
from stepdown.gateway.routes import newest_version
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.messages import delete_records as dr
from stepdown.protocol.messages import describe_configs as dc
from stepdown.protocol.messages import describe_producers as dp
from stepdown.protocol.messages import list_offsets as lo
from stepdown.protocol.messages import offset_commit as oc
from stepdown.protocol.messages import offset_fetch as of
from stepdown.protocol.messages import offset_for_leader_epoch as ofle
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.delete_groups import DeleteGroupsRequest
from stepdown.protocol.messages.describe_cluster import DescribeClusterRequest
from stepdown.protocol.messages.describe_groups import DescribeGroupsRequest
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.messages.list_groups import ListGroupsRequest
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from support.brokers import running_cluster
from support.client import RawClient
from support.fetching import create, fetch, records
from support.gateway import gateway_to, started

PARTITIONS = range(6)
GROUPS = tuple(f"group-{number}" for number in range(6))
SETTINGS = {"offsets_topic_num_partitions": 6, "offsets_topic_replication_factor": 1}


@dataclass(frozen=True, slots=True)
class Stage:
    gateway: Gateway
    cluster: BrokerCluster
    client: RawClient


@asynccontextmanager
async def staged(directory: Path) -> AsyncIterator[Stage]:
    """Three brokers, the gateway, a client of it, and a topic whose partitions each broker leads some of."""
    async with (
        running_cluster(directory, **SETTINGS) as cluster,
        started(gateway_to(cluster.bootstrap, addresses="single")) as gateway,
        await RawClient.connect("127.0.0.1", gateway.address.port) as client,
    ):
        await create(client, "orders", len(PARTITIONS))
        assert {cluster.leader("orders", each) for each in PARTITIONS} == {1, 2, 3}
        yield Stage(gateway, cluster, client)


async def write(client: RawClient, version: int = 7) -> list[int]:
    """Writes a record to each partition by one request; the errors."""
    data = [PartitionProduceData(index=each, records=build_batch(records(1, first=each))) for each in PARTITIONS]
    topic = TopicProduceData(name="orders", partition_data=data)
    answer = await client.send(ProduceRequest(acks=1, timeout_ms=1000, topic_data=(topic,)), version)
    (written,) = answer.responses
    assert sorted(each.index for each in written.partition_responses) == list(PARTITIONS)
    return [each.error_code for each in written.partition_responses]


async def test_all_brokers_have_the_address_of_the_bootstrap_port(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        here = {(node, "127.0.0.1", stage.gateway.address.port) for node in (1, 2, 3)}
        metadata = await stage.client.send(MetadataRequest(topics=()), 12)
        assert {(each.node_id, each.host, each.port) for each in metadata.brokers} == here
        cluster = await stage.client.send(DescribeClusterRequest(), 0)
        assert {(each.broker_id, each.host, each.port) for each in cluster.brokers} == here
        found = await stage.client.send(FindCoordinatorRequest(key="g"), 1)
        assert (found.node_id, found.host, found.port) in here
        assert not stage.gateway.ports.ports


@pytest.mark.parametrize("version", [3, 7, 9, 11])
async def test_a_produce_goes_to_the_leader_of_each_partition(tmp_path: Path, version: int) -> None:
    async with staged(tmp_path) as stage:
        for _ in range(2):
            assert await write(stage.client, version) == [0] * 6
        for node, broker in stage.cluster.brokers.items():
            async with await RawClient.connect(broker.address.host, broker.address.port) as own:
                led = [each for each in PARTITIONS if stage.cluster.leader("orders", each) == node]
                answer = await own.send(fetch("orders", partitions=led), 4)
                assert [each.high_watermark for each in answer.responses[0].partitions] == [2] * len(led)


@pytest.mark.parametrize("version", [0, 2, 4, 7, 11, 12, 13, 15])
async def test_a_fetch_asks_the_leader_of_each_partition_without_a_session(tmp_path: Path, version: int) -> None:
    async with staged(tmp_path) as stage:
        await write(stage.client)
        request = fetch("orders", partitions=PARTITIONS, rack_id="here", session_epoch=0)
        topic = (await stage.client.send(MetadataRequest(topics=None), 12)).topics[0]
        if version >= 13:
            from dataclasses import replace

            request = replace(request, topics=[replace(request.topics[0], topic_id=topic.topic_id)])
        answer = await stage.client.send(request, version)
        (read,) = answer.responses
        assert sorted(each.partition_index for each in read.partitions) == list(PARTITIONS)
        assert all(not each.error_code and each.records for each in read.partitions)
        assert answer.session_id == 0
        one = await stage.client.send(
            fetch("orders", partitions=(4,)) if version < 13 else request, version
        )  # which passes without being joined
        assert one.responses[0].partitions[0].records


async def test_a_fetch_session_of_somebody_else_is_not_known(tmp_path: Path) -> None:
    """Its request names only what has changed: as a whole request it would be a fetch of less."""
    async with staged(tmp_path) as stage:
        answer = await stage.client.send(fetch("orders", session_id=7, session_epoch=3), 11)
        assert (answer.error_code, len(answer.responses)) == (70, 0)


async def test_what_is_asked_about_partitions_is_asked_of_their_leaders(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await write(stage.client)
        asked = [lo.ListOffsetsPartition(partition_index=each, timestamp=-1) for each in PARTITIONS]
        topics = (lo.ListOffsetsTopic(name="orders", partitions=asked),)
        for version in (1, 5, 7):
            offsets = await stage.client.send(lo.ListOffsetsRequest(replica_id=-1, topics=topics), version)
            assert [(each.error_code, each.offset) for each in offsets.topics[0].partitions] == [(0, 1)] * 6
        epochs = [ofle.OffsetForLeaderPartition(partition=each, leader_epoch=0) for each in PARTITIONS]
        ends = await stage.client.send(
            ofle.OffsetForLeaderEpochRequest(topics=(ofle.OffsetForLeaderTopic(topic="orders", partitions=epochs),)), 3
        )
        assert [each.error_code for each in ends.topics[0].partitions] == [0] * 6
        producers = await stage.client.send(
            dp.DescribeProducersRequest(topics=(dp.TopicRequest(name="orders", partition_indexes=tuple(PARTITIONS)),)),
            0,
        )
        assert [each.error_code for each in producers.topics[0].partitions] == [0] * 6
        deleted = [dr.DeleteRecordsPartition(partition_index=each, offset=1) for each in PARTITIONS]
        gone = await stage.client.send(
            dr.DeleteRecordsRequest(topics=(dr.DeleteRecordsTopic(name="orders", partitions=deleted),), timeout_ms=9),
            1,
        )
        assert [(each.error_code, each.low_watermark) for each in gone.topics[0].partitions] == [(0, 1)] * 6


async def test_groups_are_asked_of_their_coordinators(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        found = [await stage.client.send(FindCoordinatorRequest(key=group), 1) for group in GROUPS]
        assert {each.node_id for each in found} == {1, 2, 3}
        for group in GROUPS:
            offset = oc.OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
            topic = oc.OffsetCommitRequestTopic(name="orders", partitions=(offset,))
            request = oc.OffsetCommitRequest(group_id=group, topics=(topic,))
            commit = await stage.client.send(request, 5)
            assert commit.topics[0].partitions[0].error_code == 0
        groups = [of.OffsetFetchRequestGroup(group_id=group, topics=None) for group in GROUPS]
        offsets = await stage.client.send(of.OffsetFetchRequest(groups=groups), 8)
        assert sorted(each.group_id for each in offsets.groups) == list(GROUPS)
        assert all(each.topics[0].partitions[0].committed_offset == 5 for each in offsets.groups)
        one = await stage.client.send(of.OffsetFetchRequest(group_id=GROUPS[3], topics=None), 5)
        assert one.topics[0].partitions[0].committed_offset == 5
        listed = await stage.client.send(ListGroupsRequest(), 3)
        assert sorted(each.group_id for each in listed.groups) == list(GROUPS)
        described = await stage.client.send(DescribeGroupsRequest(groups=GROUPS), 4)
        assert [each.error_code for each in described.groups] == [0] * 6
        deleted = await stage.client.send(DeleteGroupsRequest(groups_names=GROUPS), 1)
        assert [each.error_code for each in deleted.results] == [0] * 6


async def test_settings_of_a_broker_are_asked_of_that_broker(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        asked = [
            dc.DescribeConfigsResource(resource_type=4, resource_name=str(node), configuration_keys=("node.id",))
            for node in (1, 2, 3)
        ]
        answer = await stage.client.send(dc.DescribeConfigsRequest(resources=asked), 1)
        told = {each.resource_name: [config.value for config in each.configs] for each in answer.results}
        assert told == {"1": ["1"], "2": ["2"], "3": ["3"]}


async def test_transactions_are_asked_of_their_coordinators(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        for name in GROUPS:
            await stage.client.send(FindCoordinatorRequest(key=name, key_type=1), 1)
            answer = await stage.client.send(
                InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000), 0
            )
            assert answer.error_code == 0
        answer = await stage.client.send(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 0)
        assert answer.error_code == 0


async def test_after_a_leader_has_moved_a_client_reaches_the_new_one(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        from support.brokers import create_topic

        await create_topic(stage.cluster, "moving", replicas=(1, 2, 3))
        request = fetch("moving")
        assert (await stage.client.send(request, 4)).responses[0].partitions[0].error_code == 0
        stage.cluster.move_leader("moving", 0, 2)
        assert (await stage.client.send(request, 4)).responses[0].partitions[0].error_code == 6
        await stage.client.send(MetadataRequest(topics=None), 4)  # as clients do then
        assert (await stage.client.send(request, 4)).responses[0].partitions[0].error_code == 0


async def test_a_topic_that_nobody_has_is_answered_by_any_broker(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        assert (await stage.client.send(fetch("none"), 4)).responses[0].partitions[0].error_code == 3


async def test_only_what_can_be_routed_is_offered(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        answer = await stage.client.send(ApiVersionsRequest(), 0)
        offered = {each.api_key: each.max_version for each in answer.api_keys}
        assert not {34, 35} & set(offered)  # log directories are those of one broker
        assert offered[24] == 3  # later ones are between brokers
        assert all(key not in API or high <= API[key].max_version for key, high in offered.items())


@pytest.mark.parametrize("key", [ApiKey.METADATA, ApiKey.FIND_COORDINATOR])
def test_no_version_is_offered_that_the_gateway_cannot_read(key: ApiKey) -> None:
    """Metadata 13, which Kafka 4.4 takes, ended each connection of a client that asked in it."""
    assert newest_version(key) == API[key].max_version


def test_logins_of_clients_cannot_be_repeated_at_each_broker() -> None:
    settings = {"upstream_security_protocol": "SASL_PLAINTEXT", "upstream_sasl_mechanism": "PLAIN"}
    login = {"upstream_sasl_username": "g", "upstream_sasl_password": "s"}
    with pytest.raises(ConfigError, match="single needs authentication=swap"):
        gateway_to("127.0.0.1:1", addresses="single", **settings, **login)
    gateway_to("127.0.0.1:1", addresses="single", authentication="swap", **settings, **login)


def test_what_any_broker_answers_is_offered() -> None:
    """`kafka-client-metrics --list` said that the node does not support it."""
    assert newest_version(ApiKey.LIST_CLIENT_METRICS_RESOURCES) > 0
