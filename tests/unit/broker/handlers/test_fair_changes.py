"""What changes very much in one request held the loop: its records were encoded in one go. Steps are counted in calls.

DeleteTopics of topics with 77,500 committed offsets held it for 1.9 s, DeleteGroups of 10,000 for 0.4 s,
CreateTopics of 10,000 partitions for 1.7 s, a snapshot of the metadata of 10,000 for 0.1 s, AlterClientQuotas of 3,300
quotas for 23 ms, the second member of a consumer group of 20,000 partitions for 78 ms.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.groups.offsets.offset_requests import Committer, NewOffset
from stepdown.broker.handlers import SERVED
from stepdown.broker.handlers.delete_acls import MOST_REMOVED
from stepdown.broker.quotas.quota_types import CLIENT_KEYS
from stepdown.broker.security.authorization.acl_decoding import decode_acl
from stepdown.protocol.acls import PatternType
from stepdown.protocol.api import ApiKey
from stepdown.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from stepdown.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from stepdown.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from stepdown.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from stepdown.protocol.messages.delete_groups import DeleteGroupsRequest
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest
from stepdown.storage.metadata.cluster_state import StoredTopic
from stepdown.storage.metadata.partition_record import PartitionRecord
from support.asking import ask, frame_of
from support.loop_calls import MOST_CALLS, Calls
from support.running import running_broker

OFFSETS = 8_000
TOPICS = tuple(f"t{number}" for number in range(1_000))
ALONE = PartitionRecord(replicas=(1,), isr=(1,), leader=1)
A_COMMIT = 100
ANY_RULE = DeleteAclsFilter(
    resource_type_filter=1,
    resource_name_filter=None,
    pattern_type_filter=1,
    principal_filter=None,
    host_filter=None,
    operation=1,
    permission_type=1,
)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(
        tmp_path,
        offsets_topic_num_partitions=1,
        group_coordinator_rebalance_protocols="classic,consumer",
        authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        super_users="User:ANONYMOUS",
    ) as broker:
        yield broker


async def commit(broker: Broker, group: str, topic: str, count: int = OFFSETS) -> None:
    for first in range(0, count, A_COMMIT):
        new = [NewOffset(topic=topic, partition=index, offset=1) for index in range(first, first + A_COMMIT)]
        await broker.groups.commit_offsets(Committer(group_id=group), new)


async def create(broker: Broker, *names: str) -> None:
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    await ask(broker, frame_of(ApiKey.CREATE_TOPICS, 5, CreateTopicsRequest(topics=topics)))


Prepare = Callable[[Broker], Awaitable[None]]


async def offsets_of_a_group(broker: Broker) -> None:
    await commit(broker, "g", "t")


async def offsets_of_a_topic(broker: Broker) -> None:
    await create(broker, "t")
    for number in range(3):
        await commit(broker, f"g{number}", "t")


async def a_long_log_of_10_000_partitions(broker: Broker) -> None:
    store = broker.topics.store
    with store.change() as state:
        for number in range(1_000):
            state.topics[f"x{number}"] = StoredTopic(topic_id=uuid4(), replicas=(ALONE,) * 10)
    store.log.snapshot_bytes = 0


def joining(member_id: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )


async def a_member_of_20_000_partitions(broker: Broker) -> None:
    await create(broker, "t")
    topic = broker.cluster.topics["t"]
    broker.cluster.topics["t"] = replace(topic, partitions=dict.fromkeys(range(20_000), topic.partitions[0]))
    await ask(broker, frame_of(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, joining("first")))


async def topics(broker: Broker) -> None:
    await create(broker, *TOPICS)


async def nothing(broker: Broker) -> None:
    pass


SETTINGS = {
    "retention.ms": "1",
    "retention.bytes": "1",
    "segment.bytes": "1000000",
    "segment.ms": "1000",
    "max.message.bytes": "1000",
    "flush.messages": "1000",
    "cleanup.policy": "compact",
    "delete.retention.ms": "1",
    "segment.index.bytes": "1000",
    "min.cleanable.dirty.ratio": "0.1",
}


def topics_with_settings(count: int) -> list[CreatableTopic]:
    configs = [CreatableTopicConfig(name=name, value=value) for name, value in SETTINGS.items()]
    return [
        CreatableTopic(name=f"s{number}", num_partitions=1, replication_factor=1, configs=configs)
        for number in range(count)
    ]


def users(count: int) -> list[ScramCredentialUpsertion]:
    return [
        ScramCredentialUpsertion(
            name=f"u{number}", mechanism=1, iterations=4096, salt=b"salt" * 4, salted_password=b"p" * 32
        )
        for number in range(count)
    ]


def rules(count: int) -> list[AclCreation]:
    return [
        AclCreation(
            resource_type=2,
            resource_name=f"t{number}",
            principal="User:u",
            host="*",
            operation=3,
            permission_type=3,
        )
        for number in range(count)
    ]


async def rules_of_a_user(broker: Broker) -> None:
    broker.acls.add(decode_acl(each, PatternType.LITERAL) for each in rules(MOST_REMOVED))


async def rules_of_others(broker: Broker) -> None:
    """Many, which every change of the rules meets."""
    broker.acls.add(decode_acl(replace(each, principal="User:other"), PatternType.LITERAL) for each in rules(20_000))


def quotas() -> list[EntryData]:
    """All of as many users as one request may name."""
    operations = [OpData(key=key, value=1e6, remove=False) for key in CLIENT_KEYS]
    items = 2 + len(operations)
    return [
        EntryData(entity=[EntityData(entity_type="user", entity_name=f"u{number}")], ops=operations)
        for number in range(SERVED[ApiKey.ALTER_CLIENT_QUOTAS].limit // items)
    ]


ROWS: dict[str, tuple[Prepare, ApiKey, int, Any]] = {
    "DeleteGroups": (offsets_of_a_group, ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=("g",))),
    "DeleteTopics": (offsets_of_a_topic, ApiKey.DELETE_TOPICS, 3, DeleteTopicsRequest(topic_names=("t",))),
    "CreateTopics": (nothing, ApiKey.CREATE_TOPICS, 5, CreateTopicsRequest(topics=topics_with_settings(1_000))),
    "DeleteTopics of many": (topics, ApiKey.DELETE_TOPICS, 3, DeleteTopicsRequest(topic_names=TOPICS)),
    "AlterClientQuotas": (
        nothing,
        ApiKey.ALTER_CLIENT_QUOTAS,
        1,
        AlterClientQuotasRequest(entries=quotas(), validate_only=False),
    ),
    "AlterUserScramCredentials": (
        nothing,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        0,
        AlterUserScramCredentialsRequest(deletions=[], upsertions=users(4_990)),
    ),
    "a snapshot": (
        a_long_log_of_10_000_partitions,
        ApiKey.CREATE_ACLS,
        3,
        CreateAclsRequest(creations=rules(1)),
    ),
    "ConsumerGroupHeartbeat": (
        a_member_of_20_000_partitions,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        joining("second"),
    ),
    "CreateAcls": (rules_of_others, ApiKey.CREATE_ACLS, 3, CreateAclsRequest(creations=rules(4_990))),
    "DeleteAcls": (rules_of_a_user, ApiKey.DELETE_ACLS, 3, DeleteAclsRequest(filters=[ANY_RULE])),
}


@pytest.mark.lengthy
@pytest.mark.parametrize("row", ROWS)
async def test_a_large_change_holds_the_loop_for_no_step_of_20_ms(
    broker: Broker, row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, key, version, request = ROWS[row]
    await prepare(broker)
    calls = Calls(broker.turns)
    frame = frame_of(key, version, request)
    with calls.counted(monkeypatch):
        await ask(broker, frame)
    assert calls.most <= MOST_CALLS
