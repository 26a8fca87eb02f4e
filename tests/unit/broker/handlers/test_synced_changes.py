"""Requests that change the metadata synced their log in the event loop: a disk that takes a fifth of a second held all
other clients for as long, and a hundred resources of a request a hundred times.
"""

import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
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
from stepdown.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from support.client import RawClient
from support.running import running_broker

TOPIC_RESOURCE = 2
TOPICS = tuple(f"t{number}" for number in range(20))
RETENTION = AlterableConfig(name="retention.ms", config_operation=0, value="1000")
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


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    rights = {
        "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super_users": "User:ANONYMOUS",
    }
    async with running_broker(tmp_path, **rights) as running:
        yield running


async def test_a_change_is_synced_by_a_worker_once_a_request(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    async with await RawClient.connect(broker.address.host, broker.address.port) as client:
        topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in TOPICS]
        await client.send(CreateTopicsRequest(topics=topics), 2)
        await client.send(
            IncrementalAlterConfigsRequest(
                resources=named(
                    AlterConfigsResource, (AlterableConfig(name="cleanup.policy", config_operation=0, value="compact"),)
                )
            ),
            0,
        )
        threads: list[int] = []
        sync = os.fsync

        def note(descriptor: int) -> None:
            if (
                "__cluster_metadata" in str(Path(f"/proc/self/fd/{descriptor}").readlink())
                and os.fstat(descriptor).st_size
            ):
                threads.append(threading.get_ident())
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", note)
        for name, (request, version) in CHANGES.items():
            threads.clear()
            response = await client.send(request, version)
            assert threading.get_ident() not in threads, name
            assert 1 <= len(threads) <= 2, (name, response)  # of the log, and of its folder
            metadata = broker.topics.store.log
            assert metadata.synced_offset == metadata.end_offset, name
