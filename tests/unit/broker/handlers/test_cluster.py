"""What is told of the broker itself, and the requests that only a cluster of several could do more for."""

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from stepdown.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from stepdown.protocol.messages.describe_cluster import DescribeClusterRequest
from stepdown.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from stepdown.protocol.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from stepdown.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from stepdown.protocol.messages.list_client_metrics_resources import ListClientMetricsResourcesRequest
from stepdown.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from stepdown.protocol.messages.unregister_broker import UnregisterBrokerRequest
from stepdown.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from support.admin import create, write
from support.client import RawClient
from support.record_sets import record_set

UPGRADE, SAFE, UNSAFE = 1, 2, 3
EXACT, DEFAULT, ANY = 0, 1, 2


@pytest.mark.parametrize("version", range(5))
async def test_versions_are_told_in_every_version(client: RawClient, version: int) -> None:
    request = ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2.8.0-rc1")
    response = await client.send(request, version)
    ranges = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
    assert (ranges[0], ranges[1], ranges[3]) == ((0, 11), (0, 17), (0, 12))
    supported = {each.name: (each.min_version, each.max_version) for each in response.supported_features}
    # Clients of v3 cannot read a feature whose lowest level is 0.
    shown = {"metadata.version": (1, 21)} if version >= 3 else {}
    assert supported == shown | ({"kraft.version": (0, 1)} if version >= 4 else {})


@pytest.mark.parametrize("name", ["", "-x", "x-", "a b", "ä"])
async def test_software_without_a_proper_name_is_refused(client: RawClient, name: str) -> None:
    response = await client.send(ApiVersionsRequest(client_software_name=name, client_software_version="1"), 3)
    assert response.error_code == ErrorCode.INVALID_REQUEST


async def test_a_version_of_the_future_is_answered_in_v0_with_the_range_of_this_api(client: RawClient) -> None:
    frame = bytearray(client.frame(ApiVersionsRequest(client_software_name="a", client_software_version="b"), 4))
    frame[6:8] = (99).to_bytes(2, "big")
    await client.send_raw(bytes(frame))
    answer = await client.read_frame()
    assert answer is not None
    assert answer[4:] == bytes.fromhex("002300000001001200000004")


@pytest.mark.parametrize("version", range(2))
async def test_the_cluster_is_described(broker: Broker, client: RawClient, version: int) -> None:
    response = await client.send(DescribeClusterRequest(include_cluster_authorized_operations=True), version)
    assert (response.cluster_id, response.controller_id) == (broker.cluster.cluster_id, 1)
    assert [(node.broker_id, node.port) for node in response.brokers] == [(1, broker.address.port)]
    assert response.cluster_authorized_operations == 8096


@pytest.mark.parametrize(
    ("endpoint", "code"), [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (9, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)]
)
async def test_this_is_no_controllers_endpoint(client: RawClient, endpoint: int, code: int) -> None:
    assert (await client.send(DescribeClusterRequest(endpoint_type=endpoint), 1)).error_code == code


@pytest.mark.parametrize("version", range(3))
async def test_every_partition_has_its_leader_already(client: RawClient, version: int) -> None:
    await create(client, "a")
    request = ElectLeadersRequest(topic_partitions=(TopicPartitions(topic="a", partitions=(0, 7)),))
    (result,) = (await client.send(request, version)).replica_election_results
    assert [each.error_code for each in result.partition_result] == [
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    (result,) = (await client.send(ElectLeadersRequest(topic_partitions=None), version)).replica_election_results
    assert not result.partition_result


async def test_partitions_can_only_be_where_they_are(client: RawClient) -> None:
    await create(client, "a", 5)
    wanted = [(0, (1,)), (1, (2,)), (2, None), (3, ()), (9, (1,))]
    partitions = [ReassignablePartition(partition_index=index, replicas=ids) for index, ids in wanted]
    request = AlterPartitionReassignmentsRequest(topics=(ReassignableTopic(name="a", partitions=partitions),))
    (topic,) = (await client.send(request, 0)).responses
    assert [each.error_code for each in topic.partitions] == [
        0,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert not (await client.send(ListPartitionReassignmentsRequest(topics=None), 0)).topics


@pytest.mark.parametrize("version", range(3))
async def test_the_quorum_is_this_broker(client: RawClient, version: int) -> None:
    asked = TopicData(topic_name="__cluster_metadata", partitions=(PartitionData(partition_index=0),))
    response = await client.send(DescribeQuorumRequest(topics=(asked,)), version)
    (partition,) = response.topics[0].partitions
    assert (partition.leader_id, [voter.replica_id for voter in partition.current_voters]) == (1, [1])
    other = TopicData(topic_name="a", partitions=(PartitionData(partition_index=0),))
    (partition,) = (await client.send(DescribeQuorumRequest(topics=(other,)), version)).topics[0].partitions
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("feature", "level", "kind", "code"),
    [
        ("metadata.version", 21, UPGRADE, 0),
        ("metadata.version", 22, UPGRADE, 95),
        ("metadata.version", 19, UPGRADE, 95),
        ("metadata.version", 19, SAFE, 0),
        ("metadata.version", 10, SAFE, 95),
        ("metadata.version", 10, UNSAFE, 95),
        ("metadata.version", 21, 9, 95),
        ("unheard.of", 1, UPGRADE, 95),
        ("unheard.of", 0, UPGRADE, 0),
    ],
)
async def test_features_go_up_and_down_within_what_is_supported(
    client: RawClient, feature: str, level: int, kind: int, code: int
) -> None:
    update = FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind)
    response = await client.send(UpdateFeaturesRequest(feature_updates=(update,)), 1)
    assert [result.error_code for result in response.results] == [code]
    told = await client.send(ApiVersionsRequest(client_software_name="a", client_software_version="b"), 4)
    levels = {each.name: each.max_version_level for each in told.finalized_features}
    assert levels == {"metadata.version": 19 if (level, kind) == (19, SAFE) else 21}


async def test_producers_of_a_partition_are_described(client: RawClient) -> None:
    await create(client, "a")
    await write(client, "a", data=record_set(2, producer_id=7, producer_epoch=1, base_sequence=0))
    request = DescribeProducersRequest(topics=(TopicRequest(name="a", partition_indexes=(0, 9)),))
    known, unknown = (await client.send(request, 0)).topics[0].partitions
    (producer,) = known.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (7, 1, 2)
    assert producer.current_txn_start_offset == -1
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_no_other_broker_and_no_client_metrics_are_known(client: RawClient) -> None:
    response = await client.send(UnregisterBrokerRequest(broker_id=7), 0)
    assert response.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert not (await client.send(ListClientMetricsResourcesRequest(), 0)).client_metrics_resources


def entry(entity: dict[str, str | None], **quotas: float | None) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind.replace("_", "-"), entity_name=name) for kind, name in entity.items()],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in quotas.items()],
    )


async def quotas(
    client: RawClient, *components: tuple[str, int, str | None], strict: bool = False
) -> dict[tuple[tuple[str, str | None], ...], dict[str, float]]:
    filters = [ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
    response = await client.send(DescribeClientQuotasRequest(components=filters, strict=strict), 1)
    assert response.error_code == 0, response
    return {
        tuple((part.entity_type, part.entity_name) for part in each.entity): {v.key: v.value for v in each.values}
        for each in response.entries
    }


@pytest.mark.parametrize("version", range(2))
async def test_quotas_are_stored_found_and_removed(client: RawClient, version: int) -> None:
    request = AlterClientQuotasRequest(
        entries=(
            entry({"user": "a"}, producer_byte_rate=1024.0),
            entry({"user": None, "client-id": "c"}, request_percentage=12.5),
            entry({"ip": "10.0.0.1"}, connection_creation_rate=5.0),
        )
    )
    assert [each.error_code for each in (await client.send(request, version)).entries] == [0, 0, 0]
    alice, pair = (("user", "a"),), (("client-id", "c"), ("user", None))
    assert len(await quotas(client)) == 3
    assert await quotas(client, ("user", EXACT, "a")) == {alice: {"producer_byte_rate": 1024.0}}
    assert set(await quotas(client, ("user", ANY, None))) == {alice, pair}
    assert set(await quotas(client, ("user", ANY, None), strict=True)) == {alice}
    assert set(await quotas(client, ("user", DEFAULT, None))) == {pair}
    removal = AlterClientQuotasRequest(entries=(entry({"user": "a"}, producer_byte_rate=None),))
    await client.send(removal, version)
    assert alice not in await quotas(client)


@pytest.mark.parametrize(
    "wrong",
    [
        entry({}, producer_byte_rate=1.0),
        entry({"user": ""}, producer_byte_rate=1.0),
        entry({"group": "g"}, producer_byte_rate=1.0),
        entry({"ip": "10.0.0.1", "user": "a"}, connection_creation_rate=1.0),
        entry({"ip": "not an address"}, connection_creation_rate=1.0),
        entry({"ip": "10.0.0.1"}, producer_byte_rate=1.0),
        entry({"user": "a"}, producer_byte_rate=0.0),
        entry({"user": "a"}, producer_byte_rate=1.5),
        entry({"user": "a"}, producer_byte_rate=float("nan")),
        entry({"user": "a"}, unheard_of=1.0),
    ],
    ids=lambda wrong: str([(part.entity_type, part.entity_name) for part in wrong.entity]),
)
async def test_a_quota_that_makes_no_sense_is_refused(client: RawClient, wrong: EntryData) -> None:
    response = await client.send(
        AlterClientQuotasRequest(entries=(wrong, entry({"user": "b"}, producer_byte_rate=1.0))), 1
    )
    assert [each.error_code for each in response.entries] == [ErrorCode.INVALID_REQUEST, 0]
    assert len(await quotas(client)) == 1
