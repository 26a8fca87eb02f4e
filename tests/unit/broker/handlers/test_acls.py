"""Access rules: set, shown and removed by requests, and obeyed at once and after a restart."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from stepdown.protocol.messages.describe_acls import DescribeAclsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.admin import create
from support.client import RawClient
from support.running import running_broker

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
READ_ORDERS = AclCreation(
    resource_type=ResourceType.TOPIC,
    resource_name="orders",
    resource_pattern_type=PatternType.LITERAL,
    principal="User:ANONYMOUS",
    host="*",
    operation=AclOperation.READ,
    permission_type=PermissionType.ALLOW,
)
ANY = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def rule(kind: ResourceType, name: str, operation: AclOperation, permission: PermissionType) -> Acl:
    return Acl(
        resource_type=kind,
        resource_name=name,
        pattern_type=PatternType.LITERAL,
        principal="User:ANONYMOUS",
        host="*",
        operation=operation,
        permission_type=permission,
    )


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path / "data", authorizer_class_name=STANDARD, super_users="User:root") as running:
        allowed = rule(ResourceType.CLUSTER, "kafka-cluster", AclOperation.ALL, PermissionType.ALLOW)
        running.acls.add([allowed])
        yield running


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await RawClient.connect(broker.address.host, broker.address.port) as connected:
        yield connected


async def shown(client: RawClient, version: int = 3) -> list[tuple[str, int]]:
    answer = await client.send(DescribeAclsRequest(**ANY), version)
    return [(each.resource_name, acl.operation) for each in answer.resources for acl in each.acls]


@pytest.mark.parametrize("version", range(1, 4))
async def test_rules_are_added_shown_and_removed(client: RawClient, version: int) -> None:
    added = await client.send(CreateAclsRequest(creations=[READ_ORDERS, READ_ORDERS]), version)
    assert [result.error_code for result in added.results] == [0, 0]
    expected = [("kafka-cluster", AclOperation.ALL), ("orders", AclOperation.READ)]
    assert sorted(await shown(client, version)) == expected
    wanted = DeleteAclsFilter(**{**ANY, "resource_type_filter": ResourceType.TOPIC})
    removed = await client.send(DeleteAclsRequest(filters=[wanted]), version)
    assert [acl.resource_name for acl in removed.filter_results[0].matching_acls] == ["orders"]
    assert await shown(client, version) == [("kafka-cluster", AclOperation.ALL)]


@pytest.mark.parametrize(
    "fault",
    [
        {"resource_type": ResourceType.ANY},
        {"resource_pattern_type": PatternType.MATCH},
        {"operation": AclOperation.ANY},
        {"permission_type": 77},
        {"resource_name": ""},
        {"resource_type": ResourceType.CLUSTER},
        {"principal": "alice"},
    ],
    ids=str,
)
async def test_a_rule_that_nobody_could_mean_is_refused_and_the_others_are_taken(client: RawClient, fault) -> None:
    fields = {name: getattr(READ_ORDERS, name) for name in READ_ORDERS.__dataclass_fields__}
    answer = await client.send(CreateAclsRequest(creations=[AclCreation(**{**fields, **fault}), READ_ORDERS]), 3)
    assert [result.error_code for result in answer.results] == [ErrorCode.INVALID_REQUEST, 0]
    assert len(await shown(client)) == 2


async def test_rules_are_obeyed_at_once(broker: Broker, client: RawClient) -> None:
    await create(client, "orders")
    await create(client, "secret")
    asked = ListOffsetsRequest(
        topics=[
            ListOffsetsTopic(name=name, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
            for name in ("secret", "orders")
        ]
    )

    async def codes() -> dict[str, int]:
        answer = await client.send(asked, 5)
        return {topic.name: topic.partitions[0].error_code for topic in answer.topics}

    assert set((await codes()).values()) == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    await client.send(CreateAclsRequest(creations=[READ_ORDERS]), 3)
    assert await codes() == {"orders": 0, "secret": ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    broker.acls.add([rule(ResourceType.TOPIC, "*", AclOperation.ALL, PermissionType.DENY)])
    assert set((await codes()).values()) == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}


async def test_metadata_does_not_tell_whether_a_hidden_topic_is_there(broker: Broker, client: RawClient) -> None:
    await create(client, "secret")
    broker.acls.add([rule(ResourceType.CLUSTER, "kafka-cluster", AclOperation.CREATE, PermissionType.DENY)])
    names = [MetadataRequestTopic(name=name) for name in ("secret", "absent")]
    answer = await client.send(MetadataRequest(topics=names), 9)
    assert {(topic.error_code, topic.topic_id.int, len(topic.partitions)) for topic in answer.topics} == {
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0, 0)
    }
    everything = await client.send(MetadataRequest(topics=None), 9)
    assert not everything.topics


async def test_without_the_right_to_it_nobody_adds_rules(broker: Broker, client: RawClient, caplog) -> None:
    broker.acls.add([rule(ResourceType.CLUSTER, "kafka-cluster", AclOperation.ALTER, PermissionType.DENY)])
    with caplog.at_level("INFO"):
        answer = await client.send(CreateAclsRequest(creations=[READ_ORDERS]), 3)
    assert [result.error_code for result in answer.results] == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert "Principal = User:ANONYMOUS is Denied operation = ALTER" in caplog.text


async def test_rules_outlive_a_restart(tmp_path: Path) -> None:
    settings = {"authorizer_class_name": STANDARD, "super_users": "User:ANONYMOUS"}
    for expected in (0, 1):
        async with (
            running_broker(tmp_path / "data", **settings) as running,
            await RawClient.connect(running.address.host, running.address.port) as client,
        ):
            assert len(await shown(client)) == expected
            await client.send(CreateAclsRequest(creations=[READ_ORDERS]), 3)


async def test_without_an_authorizer_there_are_no_rules(tmp_path: Path) -> None:
    async with (
        running_broker(tmp_path / "data") as running,
        await RawClient.connect(running.address.host, running.address.port) as client,
    ):
        assert (await client.send(DescribeAclsRequest(**ANY), 3)).error_code == ErrorCode.SECURITY_DISABLED
        answer = await client.send(CreateAclsRequest(creations=[READ_ORDERS]), 3)
        assert [result.error_code for result in answer.results] == [ErrorCode.SECURITY_DISABLED]


def fetch_as(replica_id: int, name: str) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic=name, partitions=[partition])]
    return FetchRequest(replica_id=replica_id, max_wait_ms=0, min_bytes=1, topics=topics)


async def test_cve_2018_1288_nobody_reads_as_a_replica_without_cluster_action(
    broker: Broker, client: RawClient
) -> None:
    """A client that said to be a broker could read, and move high watermarks, with no right to either."""
    await create(client, "orders")
    broker.acls.add(
        [
            rule(ResourceType.TOPIC, "orders", AclOperation.ALL, PermissionType.ALLOW),
            rule(ResourceType.CLUSTER, "kafka-cluster", AclOperation.CLUSTER_ACTION, PermissionType.DENY),
        ]
    )
    for name in ("orders", "absent"):
        answer = await client.send(fetch_as(1, name), 6)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (await client.send(fetch_as(-1, "orders"), 6)).responses[0].partitions[0].error_code == 0


async def test_cve_2018_17196_a_crafted_produce_request_does_not_get_around_the_rules_of_transactions(
    broker: Broker, client: RawClient
) -> None:
    """Records of a transaction were let through with WRITE on the topic alone."""
    await create(client, "orders")
    broker.acls.add([rule(ResourceType.TOPIC, "orders", AclOperation.ALL, PermissionType.ALLOW)])
    records = build_batch(
        [Record(offset=0, timestamp=0, value=b"v")],
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    data = [PartitionProduceData(index=0, records=records)]
    for transactional_id in ("mine", None):
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=1,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name="orders", partition_data=data)],
        )
        (part,) = (await client.send(request, 9)).responses[0].partition_responses
        assert part.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


async def test_cve_2024_27309_the_other_rules_of_a_resource_stay_when_one_is_removed(
    broker: Broker, client: RawClient
) -> None:
    """After the removal of one rule Kafka could take the resource for one with a single rule left."""
    await create(client, "orders")
    allowed = rule(ResourceType.TOPIC, "orders", AclOperation.ALL, PermissionType.ALLOW)
    denied = rule(ResourceType.TOPIC, "orders", AclOperation.READ, PermissionType.DENY)
    other = rule(ResourceType.TOPIC, "orders", AclOperation.WRITE, PermissionType.DENY)
    broker.acls.add([allowed, denied, other])
    wanted = DeleteAclsFilter(**{**ANY, "operation": AclOperation.WRITE})
    await client.send(DeleteAclsRequest(filters=[wanted]), 3)
    answer = await client.send(fetch_as(-1, "orders"), 6)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.lengthy
async def test_a_request_removes_so_many_rules_and_tells_of_so_many(broker: Broker, client: RawClient) -> None:
    """The answer to 5,000 filters that each match 10,000 rules had no bound: fifty million of them."""
    broker.acls.add(
        rule(ResourceType.TOPIC, f"t{number}", AclOperation.READ, PermissionType.ALLOW) for number in range(10_001)
    )
    topics = {**ANY, "resource_type_filter": ResourceType.TOPIC}
    one = {**topics, "resource_name_filter": "t1"}

    async def remove(*filters: dict[str, object]) -> set[tuple[int, str | None]]:
        answer = await client.send(DeleteAclsRequest(filters=[DeleteAclsFilter(**each) for each in filters]), 3)
        return {(each.error_code, each.error_message) for each in answer.filter_results}

    too_many = "Cannot remove more than 10000 acls in a single delete operation."
    assert await remove(one, topics) == {(ErrorCode.INVALID_REQUEST, too_many)}
    assert await remove(one) == {(ErrorCode.NONE, None)}
    ((code, message),) = await remove(*[topics] * 11)
    assert code == ErrorCode.INVALID_REQUEST
    assert "stepdown.request.max.items" in str(message)
    assert await remove(topics, topics) == {(ErrorCode.NONE, None)}
    assert await shown(client) == [("kafka-cluster", AclOperation.ALL)]
