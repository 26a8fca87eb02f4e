"""Requests that change the metadata synced in the event loop: a disk that takes a fifth of a second held all other
clients for as long, and a hundred resources of a request a hundred times.
"""

import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.broker_cluster import BrokerCluster
from stepdown.broker.handlers import SERVED
from stepdown.protocol.api import ApiKey
from stepdown.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from stepdown.protocol.messages.alter_configs import AlterConfigsRequest
from stepdown.protocol.messages.alter_configs import AlterConfigsResource as OldResource
from stepdown.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from stepdown.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stepdown.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from stepdown.storage.files import files
from support.authorization_requests import OTHER_TOPIC, TOPIC, requests
from support.client import RawClient
from support.running import running_broker

TOPIC_RESOURCE = 2
TOPICS = tuple(f"t{number}" for number in range(20))
RETENTION = AlterableConfig(name="retention.ms", config_operation=0, value="1000")
ELSEWHERE = {
    ApiKey.API_VERSIONS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,  # one of `CHANGES`
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
}
"""What the walk of the authorization matrix has no request of."""
ANYBODY = {"principal": "User:a", "host": "*", "operation": 3, "permission_type": 3}


def named(resource: Any, configs: Any) -> tuple[Any, ...]:
    return tuple(resource(resource_type=TOPIC_RESOURCE, resource_name=name, configs=configs) for name in TOPICS)


CHANGES: dict[str, tuple[Any, int]] = {
    "create topics": (
        CreateTopicsRequest(topics=[CreatableTopic(name="new", num_partitions=1, replication_factor=1)]),
        2,
    ),
    "create partitions": (
        CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t0", count=2, assignments=None)]),
        1,
    ),
    "delete topics": (DeleteTopicsRequest(topic_names=("t1", "t2")), 3),
    "alter configs": (AlterConfigsRequest(resources=named(OldResource, ())), 1),
    "incremental alter configs": (
        IncrementalAlterConfigsRequest(resources=named(AlterConfigsResource, (RETENTION,))),
        0,
    ),
    "create acls": (
        CreateAclsRequest(creations=[AclCreation(resource_type=TOPIC_RESOURCE, resource_name="t", **ANYBODY)]),
        1,
    ),
    "delete acls": (
        DeleteAclsRequest(
            filters=[
                DeleteAclsFilter(
                    resource_type_filter=1,
                    resource_name_filter=None,
                    pattern_type_filter=1,
                    principal_filter=None,
                    host_filter=None,
                    operation=1,
                    permission_type=1,
                )
            ]
        ),
        1,
    ),
    "alter client quotas": (
        AlterClientQuotasRequest(
            entries=[
                EntryData(
                    entity=[EntityData(entity_type="user", entity_name="a")],
                    ops=[OpData(key="producer_byte_rate", value=1.0, remove=False)],
                )
            ],
            validate_only=False,
        ),
        0,
    ),
    "alter user scram credentials": (
        AlterUserScramCredentialsRequest(
            deletions=(),
            upsertions=[
                ScramCredentialUpsertion(
                    name="a", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"salted"
                )
            ],
        ),
        0,
    ),
    "update features": (
        UpdateFeaturesRequest(
            feature_updates=[FeatureUpdateKey(feature="metadata.version", max_version_level=20, upgrade_type=2)]
        ),
        1,
    ),
}


class Syncs:
    """Which thread has waited for the disk, and for what."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.metadata = 0
        """How often the metadata log, or its folder, was synced."""
        self.by_the_loop: list[str] = []
        self._loop_thread = threading.get_ident()
        self._sync = os.fsync
        monkeypatch.setattr(os, "fsync", self._note)
        monkeypatch.setattr(files, "_sync_file_system", self._note)

    def _note(self, descriptor: int) -> None:
        path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        self.metadata += "__cluster_metadata" in path and "quorum-state" not in path
        if threading.get_ident() == self._loop_thread:
            self.by_the_loop.append(path)
        self._sync(descriptor)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    rights = {
        "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super_users": "User:ANONYMOUS",
    }
    async with running_broker(tmp_path, **rights) as running:
        yield running


def is_synced(broker: Broker) -> bool:
    metadata = broker.topics.store.log
    return metadata.synced_offset == metadata.end_offset and not broker.log_manager.new_logs


async def create_topics(client: RawClient) -> None:
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in TOPICS]
    await client.send(CreateTopicsRequest(topics=topics), 2)
    compact = (AlterableConfig(name="cleanup.policy", config_operation=0, value="compact"),)
    await client.send(IncrementalAlterConfigsRequest(resources=named(AlterConfigsResource, compact)), 0)


async def test_a_change_is_synced_by_a_worker_once_a_request(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs = Syncs(monkeypatch)
    async with await RawClient.connect(broker.address.host, broker.address.port) as client:
        await create_topics(client)
        for name, (request, version) in CHANGES.items():
            syncs.metadata = 0
            response = await client.send(request, version)
            assert 1 <= syncs.metadata <= 2, (name, response)  # of the log, and of its folder
            assert is_synced(broker), name
    assert syncs.by_the_loop == []


async def test_no_request_waits_for_the_disk_in_the_loop(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new partition's folder, and what checkpoints said of a deleted one, were synced in the loop."""
    syncs = Syncs(monkeypatch)
    async with await RawClient.connect(broker.address.host, broker.address.port) as client:
        creation = CreateTopicsRequest(
            topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in (TOPIC, OTHER_TOPIC)]
        )
        deletion = DeleteTopicsRequest(topic_names=(TOPIC, OTHER_TOPIC))
        for request, version in ((creation, 2), (deletion, 3), (creation, 2)):
            await client.send(request, version)
        tried = set()
        for key, _, build in requests({name: broker.cluster.topics[name].topic_id for name in (TOPIC, OTHER_TOPIC)}):
            request = build(SERVED[key].last)
            if request is not None:
                await client.send(request, SERVED[key].last)
                tried.add(key)
    assert SERVED.keys() - tried == ELSEWHERE
    assert syncs.by_the_loop == []


async def test_a_producer_id_is_answered_when_its_block_is_on_the_disk(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs = Syncs(monkeypatch)
    async with await RawClient.connect(broker.address.host, broker.address.port) as client:
        given = [await client.send(InitProducerIdRequest(transactional_id=None), 0) for _ in range(2)]
    assert [each.producer_id for each in given] == [0, 1]
    assert 1 <= syncs.metadata <= 2  # one block
    assert is_synced(broker)
    assert syncs.by_the_loop == []


async def test_a_cluster_is_changed_without_a_wait_in_its_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its controller wrote each change in the loop, and each replica made its folder there."""
    async with BrokerCluster.of(tmp_path, 2) as cluster:
        broker = cluster.brokers[1]
        syncs = Syncs(monkeypatch)
        async with await RawClient.connect(broker.address.host, broker.address.port) as client:
            topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=2) for name in TOPICS]
            await client.send(CreateTopicsRequest(topics=topics), 2)
            for name in ("create partitions", "delete topics", "incremental alter configs"):
                syncs.metadata = 0
                await client.send(*CHANGES[name])
                assert syncs.metadata, name
                assert all(map(is_synced, cluster.brokers.values())), name
            cluster.move_leader("t5", 0, 3 - cluster.leader("t5", 0))
            syncs.metadata = 0
            await cluster.sync_metadata()
            assert syncs.metadata
        assert syncs.by_the_loop == []
