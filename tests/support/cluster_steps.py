"""The second half of a script of admin requests: records, the cluster, features, quotas, rules, and the end of topics.

It goes on with the topics t0 to t7 and c0 to c7 that `admin_steps` has made.
"""

from collections.abc import Iterator, Sequence
from uuid import UUID

from stepdown.protocol.messages import alter_client_quotas as acq
from stepdown.protocol.messages import alter_partition_reassignments as apr
from stepdown.protocol.messages import alter_replica_log_dirs as ard
from stepdown.protocol.messages import delete_records as dr
from stepdown.protocol.messages import delete_topics as dt
from stepdown.protocol.messages import describe_client_quotas as dcq
from stepdown.protocol.messages import describe_log_dirs as dld
from stepdown.protocol.messages import describe_quorum as dq
from stepdown.protocol.messages import list_offsets as lo
from stepdown.protocol.messages import offset_for_leader_epoch as ofle
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from stepdown.protocol.messages.describe_acls import DescribeAclsRequest
from stepdown.protocol.messages.describe_cluster import DescribeClusterRequest
from stepdown.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from stepdown.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from stepdown.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from stepdown.protocol.messages.list_client_metrics_resources import ListClientMetricsResourcesRequest
from stepdown.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from stepdown.protocol.messages.sasl_handshake import SaslHandshakeRequest
from stepdown.protocol.messages.unregister_broker import UnregisterBrokerRequest
from stepdown.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

from .record_sets import record_set
from .steps import TIMEOUT_MS, Step, each_version


def cluster_steps() -> Iterator[Step]:
    """All of them, in their order; each name once."""
    yield from _records()
    yield from _cluster()
    yield from _features()
    yield from _quotas()
    yield from _security()
    yield from _deletions()


# Records


def _records() -> Iterator[Step]:
    written = TopicProduceData(name="t0", partition_data=(PartitionProduceData(index=0, records=record_set(2)),))
    request = ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=(written,))
    for number in range(3):
        yield from each_version(f"write set {number}", request, (7,), reads=False)
    for timestamp in (-1, -2, -3, -4, -5, -6, 0, 1_700_000_000_000):
        for isolation in (0, 1):
            name = f"offsets at {timestamp}, isolation {isolation}"
            yield from each_version(name, _offsets(timestamp, 0), range(2))
            yield from each_version(name, _offsets(timestamp, isolation), range(2, 10))
    for epoch in (-1, 0, 1):
        yield from each_version(f"offsets in epoch {epoch}", _offsets(-1, 0, epoch=epoch), range(4, 10))
    yield from each_version("offsets twice", _offsets(-1, 0, times=2), range(10))
    yield from each_version("offsets for a debugger", _offsets(-1, 0, replica=-2), range(10))
    for epoch in (-1, 0, 1):
        yield from each_version(f"end of epoch {epoch}", _epoch_end(epoch), range(5))
    yield from each_version("delete records", _record_deletion(), range(3), reads=False)
    yield from each_version("offsets after that", _offsets(-2, 0), range(10))


def _offsets(
    timestamp: int, isolation: int, *, epoch: int = -1, times: int = 1, replica: int = -1
) -> lo.ListOffsetsRequest:
    def asked(index: int) -> lo.ListOffsetsPartition:
        return lo.ListOffsetsPartition(partition_index=index, timestamp=timestamp, current_leader_epoch=epoch)

    topics = (
        lo.ListOffsetsTopic(name="t0", partitions=(*[asked(0)] * times, asked(1), asked(9))),
        lo.ListOffsetsTopic(name="nope", partitions=(asked(0),)),
    )
    return lo.ListOffsetsRequest(replica_id=replica, isolation_level=isolation, topics=topics)


def _epoch_end(epoch: int) -> ofle.OffsetForLeaderEpochRequest:
    def asked(index: int, current: int) -> ofle.OffsetForLeaderPartition:
        return ofle.OffsetForLeaderPartition(partition=index, leader_epoch=epoch, current_leader_epoch=current)

    topics = (
        ofle.OffsetForLeaderTopic(topic="t0", partitions=(asked(0, -1), asked(1, 0), asked(2, 3), asked(9, -1))),
        ofle.OffsetForLeaderTopic(topic="nope", partitions=(asked(0, -1),)),
    )
    return ofle.OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)


def _record_deletion() -> dr.DeleteRecordsRequest:
    def topic(name: str, *deletions: tuple[int, int]) -> dr.DeleteRecordsTopic:
        partitions = [dr.DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in deletions]
        return dr.DeleteRecordsTopic(name=name, partitions=partitions)

    topics = (
        topic("t0", (0, 1), (1, -1), (2, -2), (9, 0)),
        topic("c7", (0, 0)),
        topic("t1", (0, 99)),
        topic("nope", (0, 0)),
    )
    return dr.DeleteRecordsRequest(topics=topics, timeout_ms=TIMEOUT_MS)


# The cluster


def _cluster() -> Iterator[Step]:
    for endpoint in (1, 2, 9):
        request = DescribeClusterRequest(endpoint_type=endpoint, include_cluster_authorized_operations=endpoint == 1)
        yield from each_version(f"cluster by endpoint {endpoint}", request, (1,) if endpoint > 1 else (0, 1))
    log_dirs = (
        ("all", None),
        ("some", (dld.DescribableLogDirTopic(topic="t0", partitions=(0, 9)),)),
        ("no", ()),
    )
    for name, topics in log_dirs:
        yield from each_version(
            f"log directories with {name} topics", dld.DescribeLogDirsRequest(topics=topics), range(5)
        )
    elected = (TopicPartitions(topic="t1", partitions=(0, 99)), TopicPartitions(topic="nope", partitions=(0,)))
    yield from each_version("elect", ElectLeadersRequest(topic_partitions=elected), range(3))
    yield from each_version("elect uncleanly", ElectLeadersRequest(election_type=1, topic_partitions=elected), (1, 2))
    yield from each_version("elect oddly", ElectLeadersRequest(election_type=7, topic_partitions=elected), (1, 2))
    yield from each_version("elect all", ElectLeadersRequest(topic_partitions=None), range(3))
    yield from each_version("reassign", _reassignment(), (0,))
    yield from each_version("reassignments", ListPartitionReassignmentsRequest(topics=None), (0,))
    yield from each_version("move to nowhere", _move("/nowhere"), range(3))
    for name, partition in (("__cluster_metadata", 0), ("t1", 0)):
        asked = dq.TopicData(topic_name=name, partitions=(dq.PartitionData(partition_index=partition),))
        yield from each_version(f"quorum of {name}", dq.DescribeQuorumRequest(topics=(asked,)), range(3))
    producers = [
        TopicRequest(name=name, partition_indexes=indexes)
        for name, indexes in (("t0", (0, 9)), ("nope", (0,)), ("bad name", (0,)))
    ]
    yield from each_version("producers", DescribeProducersRequest(topics=producers), (0,))
    yield from each_version("unregister", UnregisterBrokerRequest(broker_id=77), (0,))
    yield from each_version("client metrics", ListClientMetricsResourcesRequest(), (0,))


def _reassignment() -> apr.AlterPartitionReassignmentsRequest:
    wanted: tuple[tuple[int, list[int] | None], ...] = (
        (0, [1]),
        (1, [2]),
        (2, None),
        (99, [1]),
        (3, []),
        (4, [1, 1]),
    )
    partitions = [apr.ReassignablePartition(partition_index=index, replicas=ids) for index, ids in wanted]
    topics = (
        apr.ReassignableTopic(name="t1", partitions=partitions),
        apr.ReassignableTopic(name="nope", partitions=partitions[:1]),
    )
    return apr.AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=TIMEOUT_MS)


def _move(path: str) -> ard.AlterReplicaLogDirsRequest:
    topics = [ard.AlterReplicaLogDirTopic(name=name, partitions=(0,)) for name in ("t1", "nope")]
    return ard.AlterReplicaLogDirsRequest(dirs=(ard.AlterReplicaLogDir(path=path, topics=topics),))


def _features() -> Iterator[Step]:
    software = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    yield from each_version("features", software, (3, 4))
    yield from each_version(
        "wrong software", ApiVersionsRequest(client_software_name="-", client_software_version="1"), (3, 4)
    )
    updates = (
        *((("metadata.version", level, 1)) for level in (21, 22, 19, -1)),
        *((("metadata.version", level, 2)) for level in (19, 10, 0)),
        *((("metadata.version", 21, kind)) for kind in (0, 7)),
        ("metadata.version", 10, 3),
        ("unheard.of", 1, 1),
        ("unheard.of", 0, 1),
    )
    for feature, level, kind in updates:
        update = FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind)
        request = UpdateFeaturesRequest(feature_updates=(update,), validate_only=True, timeout_ms=TIMEOUT_MS)
        yield from each_version(f"feature {feature} to {level} by {kind}", request, (1,))


def _quotas() -> Iterator[Step]:
    def entry(entity: Sequence[tuple[str, str | None]], *quotas: tuple[str, float]) -> acq.EntryData:
        return acq.EntryData(
            entity=[acq.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            ops=[acq.OpData(key=key, value=value) for key, value in quotas],
        )

    entries = (
        entry([("user", "a")], ("producer_byte_rate", 1024.0)),
        entry([("user", None), ("client-id", "c")], ("consumer_byte_rate", 1.5)),
        entry([("user", None), ("client-id", "d")], ("consumer_byte_rate", 2.0)),
        entry([("ip", "1.2.3.4")], ("connection_creation_rate", 5.0)),
        entry([("ip", "1.2.3.4"), ("user", "x")], ("connection_creation_rate", 5.0)),
        entry([("ip", "2.2.2.2")], ("producer_byte_rate", 5.0)),
        entry([("user", "")], ("producer_byte_rate", 1.0)),
        entry([("group", "a")], ("producer_byte_rate", 1.0)),
        entry([], ("producer_byte_rate", 1.0)),
        entry([("user", "b")], ("nonsense", 1.0)),
        entry([("user", "c")], ("producer_byte_rate", 0.0)),
        entry([("user", "d")], ("producer_byte_rate", 1.0), ("producer_byte_rate", 1.0)),
        entry([("user", "e")], ("request_percentage", 1.5), ("controller_mutation_rate", 0.5)),
    )
    yield from each_version("quotas", acq.AlterClientQuotasRequest(entries=entries), range(2), reads=False)
    filters: tuple[Sequence[tuple[str, int, str | None]], ...] = (
        (),
        (("user", 0, "a"),),
        (("user", 1, None),),
        (("user", 2, None),),
        (("user", 2, None), ("client-id", 2, None)),
        (("ip", 2, None),),
        (("ip", 2, None), ("user", 2, None)),
        (("group", 2, None),),
        (("", 2, None),),
        (("user", 0, None),),
        (("user", 1, "x"),),
        (("user", 5, None),),
        (("user", 2, None), ("user", 1, None)),
    )
    for strict in (False, True):
        for wanted in filters:
            components = [dcq.ComponentData(entity_type=t, match_type=m, match=n) for t, m, n in wanted]
            request = dcq.DescribeClientQuotasRequest(components=components, strict=strict)
            yield from each_version(f"quotas of {wanted}{' strictly' if strict else ''}", request, range(2))


def _security() -> Iterator[Step]:
    rule = AclCreation(
        resource_type=2, resource_name="t1", principal="User:a", host="*", operation=3, permission_type=3
    )
    wanted = DeleteAclsFilter(resource_type_filter=2, operation=1, permission_type=1)
    yield from each_version("create rules", CreateAclsRequest(creations=(rule, rule)), range(4))
    yield from each_version("delete rules", DeleteAclsRequest(filters=(wanted,)), range(4))
    described = DescribeAclsRequest(resource_type_filter=2, operation=1, permission_type=1)
    yield from each_version("describe rules", described, range(4))
    for names in ((), ("a", "b"), ("a", "a")):
        users = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])
        yield from each_version(f"passwords of {names}", users, (0,))
    yield from each_version("authenticate", SaslAuthenticateRequest(auth_bytes=b"x"), range(3))
    yield from each_version("shake hands", SaslHandshakeRequest(mechanism="PLAIN"), range(2))


def _deletions() -> Iterator[Step]:
    def deleted(version: int) -> dt.DeleteTopicsRequest:
        if version < 6:
            names = (f"t{version}", "nope", "twice", "twice")
            return dt.DeleteTopicsRequest(topic_names=names, timeout_ms=TIMEOUT_MS)
        five, six = UUID(int=5), UUID(int=6)
        topics = (
            *(dt.DeleteTopicState(name=name) for name in ("t6", "nope", "twice", "twice", None)),
            *(dt.DeleteTopicState(name=None, topic_id=topic_id) for topic_id in (five, six, six)),
            dt.DeleteTopicState(name="x", topic_id=five),
        )
        return dt.DeleteTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS)

    yield from each_version("delete", deleted, range(7), reads=False)
