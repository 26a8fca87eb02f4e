"""A request of each API for the authorization matrix: about a resource that rules may name, and about others.

None of them changes anything that a later one would notice: what can only be tried is tried on what is not there, or
with an id that nobody has, so that "not allowed" and "allowed, but wrong" are told apart by their codes.
"""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from stepdown.protocol.acls import ResourceType
from stepdown.protocol.api import ApiKey
from stepdown.protocol.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_client_metrics_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
    txn_offset_commit,
    unregister_broker,
    update_features,
    write_txn_markers,
)
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record

TOPIC, OTHER_TOPIC, ABSENT_TOPIC = "t-one", "u-two", "t-none"
TOPICS = (TOPIC, OTHER_TOPIC, ABSENT_TOPIC)
GROUP, OTHER_GROUP = "g-one", "h-two"
TRANSACTION, OTHER_TRANSACTION = "x-one", "y-two"
AS_A_BROKER = "as if a broker"
NOW_MS = 1_700_000_000_000
NOBODY = 987_654_321
"""A producer id that was never handed out."""

Build = Callable[[int], Any]


def batch(*, transactional: bool = False) -> bytes:
    if not transactional:
        return build_batch([Record(offset=0, timestamp=NOW_MS, value=b"v")])
    return build_batch(
        [Record(offset=0, timestamp=NOW_MS, value=b"v")],
        producer_id=NOBODY,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )


def requests(ids: dict[str, UUID]) -> Iterator[tuple[ApiKey, str, Build]]:
    """API, what is tried, and the request by its version; `ids` of topics are the broker's own."""
    yield from _records(ids)
    yield from _topics(ids)
    yield from _groups()
    yield from _transactions()
    yield from _cluster()


def _records(ids: dict[str, UUID]) -> Iterator[tuple[ApiKey, str, Build]]:
    def produced(version: int, *, transactional_id: str | None = None, transactional: bool = False) -> Any:
        data = [produce.PartitionProduceData(index=0, records=batch(transactional=transactional))]
        return produce.ProduceRequest(
            transactional_id=transactional_id if version >= 3 else None,
            acks=1,
            timeout_ms=1000,
            topic_data=[produce.TopicProduceData(name=name, partition_data=data) for name in TOPICS],
        )

    def fetched(version: int, replica_id: int = -1) -> Any:
        partition = fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        replica = fetch.ReplicaState(replica_id=replica_id, replica_epoch=-1)
        return fetch.FetchRequest(
            replica_id=replica_id if version < 15 else -1,
            **({"replica_state": replica} if version >= 15 else {}),
            max_wait_ms=0,
            min_bytes=1,
            topics=[
                fetch.FetchTopic(topic=name, topic_id=ids.get(name, UUID(int=77)), partitions=[partition])
                for name in TOPICS
            ],
        )

    yield ApiKey.PRODUCE, "three topics", lambda version: produced(version) if version >= 3 else None
    yield (
        ApiKey.PRODUCE,
        "in a transaction",
        lambda version: produced(version, transactional_id=TRANSACTION, transactional=True) if version >= 3 else None,
    )
    yield ApiKey.FETCH, "three topics", fetched
    yield ApiKey.FETCH, AS_A_BROKER, lambda version: fetched(version, 1)
    yield (
        ApiKey.LIST_OFFSETS,
        "three topics",
        lambda version: list_offsets.ListOffsetsRequest(
            replica_id=-1,
            topics=[
                list_offsets.ListOffsetsTopic(
                    name=name, partitions=[list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-2)]
                )
                for name in TOPICS
            ],
        ),
    )
    yield (
        ApiKey.DELETE_RECORDS,
        "three topics",
        lambda version: delete_records.DeleteRecordsRequest(
            timeout_ms=1000,
            topics=[
                delete_records.DeleteRecordsTopic(
                    name=name, partitions=[delete_records.DeleteRecordsPartition(partition_index=0, offset=1 << 40)]
                )
                for name in TOPICS
            ],
        ),
    )
    yield (
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        "three topics",
        lambda version: offset_for_leader_epoch.OffsetForLeaderEpochRequest(
            topics=[
                offset_for_leader_epoch.OffsetForLeaderTopic(
                    topic=name,
                    partitions=[offset_for_leader_epoch.OffsetForLeaderPartition(partition=0, leader_epoch=0)],
                )
                for name in TOPICS
            ],
        ),
    )
    yield (
        ApiKey.DESCRIBE_PRODUCERS,
        "three topics and an illegal name",
        lambda version: describe_producers.DescribeProducersRequest(
            topics=[
                describe_producers.TopicRequest(name=name, partition_indexes=[0])
                for name in (OTHER_TOPIC, ABSENT_TOPIC, "bad name")
            ]
        ),
    )


def _topics(ids: dict[str, UUID]) -> Iterator[tuple[ApiKey, str, Build]]:
    def described(version: int, names: tuple[str, ...] | None, *, creates: bool = False) -> Any:
        return metadata.MetadataRequest(
            topics=(None if version else ())
            if names is None
            else [metadata.MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=creates or version < 4,
            include_cluster_authorized_operations=8 <= version <= 10,
            include_topic_authorized_operations=version >= 8,
        )

    def creation(name: str) -> Any:
        return create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1)

    def deleted(version: int) -> Any:
        if version < 6:
            return delete_topics.DeleteTopicsRequest(topic_names=(ABSENT_TOPIC, "u-none"), timeout_ms=1000)
        asked = [delete_topics.DeleteTopicState(name=name) for name in (ABSENT_TOPIC, "u-none")]
        unknown = delete_topics.DeleteTopicState(name=None, topic_id=UUID(int=77))
        return delete_topics.DeleteTopicsRequest(topics=[*asked, unknown], timeout_ms=1000)

    def configs(module: Any, resource: Any, **fields: Any) -> list[Any]:
        return [resource(resource_type=kind, resource_name=name, **fields) for kind, name in _resources()]

    yield ApiKey.METADATA, "three topics", lambda version: described(version, TOPICS)
    yield ApiKey.METADATA, "all topics", lambda version: described(version, None)
    yield (
        ApiKey.METADATA,
        "by id",
        lambda version: (
            metadata.MetadataRequest(
                topics=[
                    metadata.MetadataRequestTopic(name=None, topic_id=topic_id)
                    for topic_id in (*ids.values(), UUID(int=77))
                ]
            )
            if version >= 12
            else None
        ),
    )
    yield (
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        "three topics",
        lambda version: describe_topic_partitions.DescribeTopicPartitionsRequest(
            topics=[describe_topic_partitions.TopicRequest(name=name) for name in TOPICS]
        ),
    )
    yield (
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        "all topics",
        lambda version: describe_topic_partitions.DescribeTopicPartitionsRequest(),
    )
    yield (
        ApiKey.CREATE_TOPICS,
        "to validate",
        lambda version: (
            create_topics.CreateTopicsRequest(
                topics=[creation(name) for name in ("t-new", "u-new", TOPIC, "__cluster_metadata", "dup", "dup")],
                validate_only=True,
            )
            if version >= 1
            else None
        ),
    )
    yield ApiKey.DELETE_TOPICS, "that are not there", deleted
    yield (
        ApiKey.CREATE_PARTITIONS,
        "to validate",
        lambda version: create_partitions.CreatePartitionsRequest(
            topics=[create_partitions.CreatePartitionsTopic(name=name, count=5) for name in (*TOPICS, "dup", "dup")],
            timeout_ms=1000,
            validate_only=True,
        ),
    )
    yield (
        ApiKey.DESCRIBE_CONFIGS,
        "topics and the broker",
        lambda version: describe_configs.DescribeConfigsRequest(
            resources=configs(
                describe_configs, describe_configs.DescribeConfigsResource, configuration_keys=("retention.ms",)
            )
        ),
    )
    yield (
        ApiKey.ALTER_CONFIGS,
        "to validate",
        lambda version: alter_configs.AlterConfigsRequest(
            resources=configs(
                alter_configs,
                alter_configs.AlterConfigsResource,
                configs=(),
            ),
            validate_only=True,
        ),
    )
    yield (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        "to validate",
        lambda version: incremental_alter_configs.IncrementalAlterConfigsRequest(
            resources=configs(
                incremental_alter_configs,
                incremental_alter_configs.AlterConfigsResource,
                configs=(),
            ),
            validate_only=True,
        ),
    )


def _resources() -> tuple[tuple[int, str], ...]:
    return (2, TOPIC), (2, OTHER_TOPIC), (2, ABSENT_TOPIC), (4, "1"), (4, "")


def _groups() -> Iterator[tuple[ApiKey, str, Build]]:
    def of_member(module: Any, name: str, **fields: Any) -> Build:
        return lambda version: getattr(module, name)(group_id=GROUP, member_id="nobody", **fields)

    def committed(version: int) -> Any:
        partition = offset_commit.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=1, committed_metadata=""
        )
        return offset_commit.OffsetCommitRequest(
            group_id=GROUP,
            topics=[offset_commit.OffsetCommitRequestTopic(name=name, partitions=[partition]) for name in TOPICS],
        )

    def fetched(version: int, *, everything: bool = False) -> Any:
        if version >= 8:
            topics = None
            if not everything:
                topics = [offset_fetch.OffsetFetchRequestTopics(name=name, partition_indexes=[0]) for name in TOPICS]
            return offset_fetch.OffsetFetchRequest(
                groups=[
                    offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=topics)
                    for group in (GROUP, OTHER_GROUP)
                ]
            )
        if everything:
            return offset_fetch.OffsetFetchRequest(group_id=GROUP, topics=None) if version >= 2 else None
        if version == 0:
            return None  # from ZooKeeper, which KRaft does not have
        return offset_fetch.OffsetFetchRequest(
            group_id=GROUP,
            topics=[offset_fetch.OffsetFetchRequestTopic(name=name, partition_indexes=[0]) for name in TOPICS],
        )

    def left(version: int) -> Any:
        if version < 3:
            return leave_group.LeaveGroupRequest(group_id=GROUP, member_id="nobody")
        return leave_group.LeaveGroupRequest(group_id=GROUP, members=[leave_group.MemberIdentity(member_id="nobody")])

    yield (
        ApiKey.JOIN_GROUP,
        "as a member it does not have",
        of_member(
            join_group,
            "JoinGroupRequest",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[join_group.JoinGroupRequestProtocol(name="range", metadata=b"")],
        ),
    )
    yield ApiKey.HEARTBEAT, "as a member it does not have", of_member(heartbeat, "HeartbeatRequest", generation_id=1)
    yield (
        ApiKey.SYNC_GROUP,
        "as a member it does not have",
        of_member(sync_group, "SyncGroupRequest", generation_id=1, protocol_type="consumer", protocol_name="range"),
    )
    yield ApiKey.LEAVE_GROUP, "as a member it does not have", left
    yield (
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        "as a member it does not have",
        lambda version: (
            consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(group_id="g-new", member_id="nobody", member_epoch=5)
            if version == 0
            else None
        ),
    )
    yield (
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        "two groups",
        lambda version: (
            consumer_group_describe.ConsumerGroupDescribeRequest(
                group_ids=(GROUP, OTHER_GROUP), include_authorized_operations=True
            )
            if version == 0
            else None
        ),
    )
    yield ApiKey.OFFSET_COMMIT, "three topics", lambda version: committed(version) if version >= 2 else None
    yield ApiKey.OFFSET_FETCH, "three topics", fetched
    yield ApiKey.OFFSET_FETCH, "all topics", lambda version: fetched(version, everything=True)
    yield (
        ApiKey.OFFSET_DELETE,
        "of a partition that is not there",
        lambda version: offset_delete.OffsetDeleteRequest(
            group_id=GROUP,
            topics=[
                offset_delete.OffsetDeleteRequestTopic(
                    name=name, partitions=[offset_delete.OffsetDeleteRequestPartition(partition_index=9)]
                )
                for name in TOPICS
            ],
        ),
    )
    yield (
        ApiKey.DESCRIBE_GROUPS,
        "two groups",
        lambda version: describe_groups.DescribeGroupsRequest(
            groups=(GROUP, OTHER_GROUP), include_authorized_operations=version >= 3
        ),
    )
    yield ApiKey.LIST_GROUPS, "all", lambda version: list_groups.ListGroupsRequest()
    yield (
        ApiKey.DELETE_GROUPS,
        "that are not there",
        lambda version: delete_groups.DeleteGroupsRequest(groups_names=("g-none", "h-none")),
    )
    for key_type, keys in ((0, (GROUP, OTHER_GROUP)), (1, (TRANSACTION, OTHER_TRANSACTION))):
        yield ApiKey.FIND_COORDINATOR, f"of type {key_type}", _coordinator(key_type, keys)


def _coordinator(key_type: int, keys: tuple[str, ...]) -> Build:
    def build(version: int) -> Any:
        if version >= 4:
            return find_coordinator.FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys)
        return (
            find_coordinator.FindCoordinatorRequest(key=keys[0], key_type=key_type) if version or not key_type else None
        )

    return build


def _transactions() -> Iterator[tuple[ApiKey, str, Build]]:
    nobody = {"producer_id": NOBODY, "producer_epoch": 0}

    def added(version: int) -> Any:
        topics = [add_partitions_to_txn.AddPartitionsToTxnTopic(name=name, partitions=[0]) for name in TOPICS]
        if version >= 4:
            asked = add_partitions_to_txn.AddPartitionsToTxnTransaction(
                transactional_id=TRANSACTION, verify_only=True, topics=topics, **nobody
            )
            return add_partitions_to_txn.AddPartitionsToTxnRequest(transactions=[asked])
        return add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=TRANSACTION,
            v3_and_below_producer_id=NOBODY,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=topics[: 3 if version else 1],
        )

    def committed(version: int) -> Any:
        partition = txn_offset_commit.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=1, committed_metadata=""
        )
        return txn_offset_commit.TxnOffsetCommitRequest(
            transactional_id=TRANSACTION,
            group_id=GROUP,
            topics=[
                txn_offset_commit.TxnOffsetCommitRequestTopic(name=name, partitions=[partition]) for name in TOPICS
            ],
            **nobody,
        )

    yield (
        ApiKey.INIT_PRODUCER_ID,
        "without a transaction",
        lambda version: init_producer_id.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1),
    )
    yield (
        ApiKey.INIT_PRODUCER_ID,
        "with a timeout that is too long",
        lambda version: init_producer_id.InitProducerIdRequest(
            transactional_id=TRANSACTION, transaction_timeout_ms=(1 << 31) - 1
        ),
    )
    yield ApiKey.ADD_PARTITIONS_TO_TXN, "as a producer that is not there", added
    yield (
        ApiKey.ADD_OFFSETS_TO_TXN,
        "as a producer that is not there",
        lambda version: add_offsets_to_txn.AddOffsetsToTxnRequest(
            transactional_id=TRANSACTION, group_id=GROUP, **nobody
        ),
    )
    yield ApiKey.TXN_OFFSET_COMMIT, "as a producer that is not there", committed
    yield (
        ApiKey.END_TXN,
        "as a producer that is not there",
        lambda version: end_txn.EndTxnRequest(transactional_id=TRANSACTION, committed=True, **nobody),
    )
    yield (
        ApiKey.WRITE_TXN_MARKERS,
        "to a topic that is not there",
        lambda version: write_txn_markers.WriteTxnMarkersRequest(
            markers=[
                write_txn_markers.WritableTxnMarker(
                    producer_id=NOBODY,
                    producer_epoch=0,
                    transaction_result=True,
                    coordinator_epoch=0,
                    topics=[write_txn_markers.WritableTxnMarkerTopic(name=ABSENT_TOPIC, partition_indexes=[0])],
                )
            ]
        ),
    )
    yield (
        ApiKey.DESCRIBE_TRANSACTIONS,
        "two ids",
        lambda version: describe_transactions.DescribeTransactionsRequest(
            transactional_ids=(TRANSACTION, OTHER_TRANSACTION)
        ),
    )
    yield ApiKey.LIST_TRANSACTIONS, "all", lambda version: list_transactions.ListTransactionsRequest()


def _cluster() -> Iterator[tuple[ApiKey, str, Build]]:
    rule = {
        "resource_type": ResourceType.TOPIC,
        "resource_name": "",  # refused, or there would be a rule
        "resource_pattern_type": 3,
        "principal": "User:a",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    nothing = {
        "resource_type_filter": ResourceType.TOPIC,
        "resource_name_filter": "no-such",
        "pattern_type_filter": 3,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    quota = alter_client_quotas.EntryData(
        entity=[alter_client_quotas.EntityData(entity_type="user", entity_name="u")],
        ops=[alter_client_quotas.OpData(key="producer_byte_rate", value=1.0, remove=False)],
    )
    fixed: tuple[tuple[ApiKey, Any], ...] = (
        (ApiKey.CREATE_ACLS, create_acls.CreateAclsRequest(creations=[create_acls.AclCreation(**rule)])),
        (ApiKey.DELETE_ACLS, delete_acls.DeleteAclsRequest(filters=[delete_acls.DeleteAclsFilter(**nothing)])),
        (ApiKey.DESCRIBE_ACLS, describe_acls.DescribeAclsRequest(**nothing)),
        (ApiKey.DESCRIBE_LOG_DIRS, describe_log_dirs.DescribeLogDirsRequest(topics=())),
        (
            ApiKey.ALTER_REPLICA_LOG_DIRS,
            alter_replica_log_dirs.AlterReplicaLogDirsRequest(
                dirs=[
                    alter_replica_log_dirs.AlterReplicaLogDir(
                        path="/nowhere",
                        topics=[alter_replica_log_dirs.AlterReplicaLogDirTopic(name=TOPIC, partitions=[0])],
                    )
                ]
            ),
        ),
        (
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
            describe_user_scram_credentials.DescribeUserScramCredentialsRequest(
                users=[describe_user_scram_credentials.UserName(name="u")]
            ),
        ),
        (
            ApiKey.ELECT_LEADERS,
            elect_leaders.ElectLeadersRequest(
                topic_partitions=[elect_leaders.TopicPartitions(topic=TOPIC, partitions=[0])]
            ),
        ),
        (
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            alter_partition_reassignments.AlterPartitionReassignmentsRequest(
                topics=[
                    alter_partition_reassignments.ReassignableTopic(
                        name=TOPIC,
                        partitions=[alter_partition_reassignments.ReassignablePartition(partition_index=0)],
                    )
                ]
            ),
        ),
        (
            ApiKey.LIST_PARTITION_REASSIGNMENTS,
            list_partition_reassignments.ListPartitionReassignmentsRequest(topics=None),
        ),
        (ApiKey.DESCRIBE_CLIENT_QUOTAS, describe_client_quotas.DescribeClientQuotasRequest(components=())),
        (
            ApiKey.ALTER_CLIENT_QUOTAS,
            alter_client_quotas.AlterClientQuotasRequest(entries=[quota], validate_only=True),
        ),
        (
            ApiKey.DESCRIBE_QUORUM,
            describe_quorum.DescribeQuorumRequest(
                topics=[
                    describe_quorum.TopicData(
                        topic_name="no-such", partitions=[describe_quorum.PartitionData(partition_index=0)]
                    )
                ]
            ),
        ),
        (
            ApiKey.UPDATE_FEATURES,
            update_features.UpdateFeaturesRequest(
                feature_updates=[update_features.FeatureUpdateKey(feature="no.such", max_version_level=3)]
            ),
        ),
        (ApiKey.UNREGISTER_BROKER, unregister_broker.UnregisterBrokerRequest(broker_id=77)),
        (
            ApiKey.LIST_CLIENT_METRICS_RESOURCES,
            list_client_metrics_resources.ListClientMetricsResourcesRequest(),
        ),
    )
    for key, request in fixed:
        yield key, "", lambda version, request=request: request  # type: ignore[misc]
    yield (
        ApiKey.DESCRIBE_CLUSTER,
        "",
        lambda version: describe_cluster.DescribeClusterRequest(include_cluster_authorized_operations=True),
    )
