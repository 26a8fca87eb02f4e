"""A script of admin requests, right and wrong, in all their versions: to be sent to two brokers that should agree.

The broker is number 1 and begins without topics. Steps build on each other; `reads` tells that a step changes nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from stepdown.protocol.messages import alter_client_quotas as acq
from stepdown.protocol.messages import alter_configs as ac
from stepdown.protocol.messages import alter_partition_reassignments as apr
from stepdown.protocol.messages import alter_replica_log_dirs as ard
from stepdown.protocol.messages import create_partitions as cp
from stepdown.protocol.messages import delete_records as dr
from stepdown.protocol.messages import delete_topics as dt
from stepdown.protocol.messages import describe_client_quotas as dcq
from stepdown.protocol.messages import describe_configs as dc
from stepdown.protocol.messages import describe_log_dirs as dld
from stepdown.protocol.messages import describe_quorum as dq
from stepdown.protocol.messages import describe_topic_partitions as dtp
from stepdown.protocol.messages import incremental_alter_configs as iac
from stepdown.protocol.messages import list_offsets as lo
from stepdown.protocol.messages import offset_for_leader_epoch as ofle
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from stepdown.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from stepdown.protocol.messages.describe_acls import DescribeAclsRequest
from stepdown.protocol.messages.describe_cluster import DescribeClusterRequest
from stepdown.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from stepdown.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from stepdown.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from stepdown.protocol.messages.list_client_metrics_resources import ListClientMetricsResourcesRequest
from stepdown.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from stepdown.protocol.messages.sasl_handshake import SaslHandshakeRequest
from stepdown.protocol.messages.unregister_broker import UnregisterBrokerRequest
from stepdown.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

from .admin import new_topic
from .record_sets import record_set

TIMEOUT_MS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A request and its version."""

    name: str
    request: Any
    version: int
    reads: bool = True


def steps() -> Iterator[Step]:
    """All of them, in their order; each name once."""
    yield from _creations()
    yield from _metadata()
    yield from _growth()
    yield from _configs()
    yield from _records()
    yield from _cluster()
    yield from _features()
    yield from _quotas()
    yield from _security()
    yield from _deletions()


def _each(
    name: str, request: Any | Callable[[int], Any], versions: Iterable[int], *, reads: bool = True
) -> Iterator[Step]:
    for version in versions:
        made = request(version) if callable(request) else request
        yield Step(name=f"{name} v{version}", request=made, version=version, reads=reads)


# Topics


def _assigned(name: str, partitions: int, factor: int, *lists: tuple[int, Sequence[int]]) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in lists],
    )


WRONG_TOPICS = (
    *(new_topic(name) for name in ("bad name", ".", "..", "", "x" * 250, "ä", "dup", "dup", "__cluster_metadata")),
    *(new_topic(f"p{count}", count) for count in (0, -2)),
    *(new_topic(f"f{count}", 1, count) for count in (0, -2, 3)),
    new_topic("no-value", configs={"retention.ms": None}),
    new_topic("no-key", configs={"foo": "bar"}),
    new_topic("no-number", configs={"retention.ms": "abc"}),
    new_topic("low", configs={"retention.ms": "-2"}),
    new_topic("lags", configs={"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}),
    new_topic("capitals", configs={"cleanup.policy": "Compact"}),
    new_topic("tiers", configs={"remote.storage.enable": "true"}),
    new_topic("format", configs={"message.format.version": "9.9"}),
    _assigned("a1", 1, -1, (0, [1])),
    _assigned("a2", -1, 1, (0, [1])),
    _assigned("a3", -1, -1, (0, [2])),
    _assigned("a4", -1, -1, (0, [1, 1])),
    _assigned("a5", -1, -1, (0, [])),
    _assigned("a6", -1, -1, (1, [1])),
    _assigned("a7", -1, -1, (0, [1]), (0, [1])),
)
ODD_TOPICS = (
    _assigned("by-hand", -1, -1, (1, [1]), (0, [1])),
    new_topic("no-policy", configs={"cleanup.policy": ""}),
    new_topic("blanks", configs={"retention.ms": " 5 ", "cleanup.policy": "compact, delete"}),
    new_topic("old-format", configs={"message.format.version": "0.9.0"}),
    new_topic("throttled", configs={"leader.replication.throttled.replicas": "0:1,1:1"}),
    new_topic("negative", configs={"retention.bytes": "-5"}),
)


def _creations() -> Iterator[Step]:
    def two(version: int) -> CreateTopicsRequest:
        default = -1 if version == 4 else 1
        plain = new_topic(f"t{version}", -1 if version == 4 else 3, default)
        own = new_topic(f"c{version}", configs={"retention.ms": "1234", "cleanup.policy": "compact"})
        return CreateTopicsRequest(topics=(plain, own))

    versions = range(8)
    yield from _each("create", two, versions, reads=False)
    yield from _each("create again", two, versions, reads=False)
    yield from _each("create wrong", CreateTopicsRequest(topics=WRONG_TOPICS), versions, reads=False)
    yield from _each("create odd", CreateTopicsRequest(topics=ODD_TOPICS), (7,), reads=False)
    check = CreateTopicsRequest(topics=(new_topic("v1", 2), new_topic("t0")), validate_only=True)
    yield from _each("validate", check, range(1, 8))
    for name in ("same.name", "same_name"):
        yield from _each(f"create {name}", CreateTopicsRequest(topics=(new_topic(name),)), (4,), reads=False)


def _metadata() -> Iterator[Step]:
    def some(version: int) -> MetadataRequest:
        return MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in ("t1", "c1", "nope", "bad name", "t1")],
            allow_auto_topic_creation=version < 4,
            include_cluster_authorized_operations=8 <= version <= 10,
            include_topic_authorized_operations=version >= 8,
        )

    yield from _each("metadata of some", some, range(13))
    yield from _each("metadata of none", MetadataRequest(topics=()), range(1, 13))
    yield from _each("metadata of all", lambda v: MetadataRequest(topics=None if v else ()), range(13))
    nameless = MetadataRequest(topics=(MetadataRequestTopic(name=None),))
    yield from _each("metadata without a name", nameless, (10, 11))
    by_id = MetadataRequestTopic(name=None, topic_id=UUID(int=5))
    ids = MetadataRequest(topics=(by_id, MetadataRequestTopic(name="t1")))
    yield from _each("metadata by id", ids, range(10, 13))
    yield from _each("all topic partitions", dtp.DescribeTopicPartitionsRequest(), (0,))
    names = [dtp.TopicRequest(name=name) for name in ("t1", "nope", "bad name", "c1", "t2")]
    for limit in (2000, 1, 2, 5, 0, -1):
        request = dtp.DescribeTopicPartitionsRequest(topics=names, response_partition_limit=limit)
        yield from _each(f"topic partitions, at most {limit}", request, (0,))
    for name, index in (("t1", 2), ("a", 0), ("t1", -2), ("t2", 99)):
        cursor = dtp.Cursor(topic_name=name, partition_index=index)
        request = dtp.DescribeTopicPartitionsRequest(topics=names, cursor=cursor)
        yield from _each(f"topic partitions from {name}-{index}", request, (0,))


def _growth() -> Iterator[Step]:
    def topic(name: str, count: int, *brokers: int) -> cp.CreatePartitionsTopic:
        lists = [cp.CreatePartitionsAssignment(broker_ids=(broker,)) for broker in brokers] or None
        return cp.CreatePartitionsTopic(name=name, count=count, assignments=lists)

    def grown(version: int) -> cp.CreatePartitionsRequest:
        topics = (
            topic("t1", 4 + version),
            topic("t2", 3),
            topic("t3", 2),
            topic("t4", 2 + version, 1),
            topic("t5", 5, 1),
            topic("t6", 4, 7),
            topic("t7", 0),
            topic("nope", 2),
            topic("nope2", 2),
            topic("nope2", 2),
        )
        return cp.CreatePartitionsRequest(topics=topics, timeout_ms=TIMEOUT_MS)

    yield from _each("grow", grown, range(4), reads=False)
    check = cp.CreatePartitionsRequest(topics=(topic("t1", 50),), timeout_ms=TIMEOUT_MS, validate_only=True)
    yield from _each("validate growth", check, (3,))


# Settings


def _described(*resources: tuple[int, str, Sequence[str] | None]) -> list[dc.DescribeConfigsResource]:
    return [
        dc.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        for kind, name, keys in resources
    ]


RETENTION = ["log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.segment.bytes"]
DESCRIBED = _described(
    (2, "c1", None),
    (2, "c2", ["retention.ms", "nonsense"]),
    (2, "t1", []),
    (2, "nope", None),
    (2, "bad name", None),
    (4, "1", RETENTION),
    (4, "", None),
    (4, "2", None),
    (4, "x", None),
    (16, "m", None),
    (16, "", None),
    (8, "", None),
    (8, "2", None),
)


def _configs() -> Iterator[Step]:
    def described(version: int) -> dc.DescribeConfigsRequest:
        return dc.DescribeConfigsRequest(resources=DESCRIBED, include_synonyms=version > 0)

    yield from _each("describe configs", described, range(5))
    for kind in (0, 1, 3, 32):
        resources = _described((kind, "x", None), (2, "t1", ["retention.ms"]))
        yield from _each(f"describe type {kind}", dc.DescribeConfigsRequest(resources=resources), (4,))
    yield from _replacements()
    yield from _alterations()
    yield from _each("describe changed configs", described, range(5))


def _replacements() -> Iterator[Step]:
    def replaced(kind: int, name: str, *configs: tuple[str, str | None]) -> ac.AlterConfigsResource:
        values = [ac.AlterableConfig(name=key, value=value) for key, value in configs]
        return ac.AlterConfigsResource(resource_type=kind, resource_name=name, configs=values)

    resources = (
        replaced(2, "c1", ("segment.bytes", "1000000")),
        replaced(2, "nope", ("segment.bytes", "1000000")),
        replaced(2, "c2", ("x", "y")),
        replaced(2, "c3", ("retention.ms", None)),
        replaced(2, "c4", ("retention.ms", "1"), ("retention.ms", "2")),
        replaced(2, ""),
        replaced(2, "bad name"),
        replaced(4, "1", ("broker.id", "3")),
        replaced(4, "2"),
        replaced(4, "x"),
        replaced(8, "1"),
        replaced(1, "n"),
        replaced(0, "n"),
        replaced(2, "t1"),
    )
    # One by one: of a request that fails in part before it reaches its controller, Kafka 3.9.1 never answers.
    for number, resource in enumerate(resources):
        for only in (True, False):
            request = ac.AlterConfigsRequest(resources=(resource,), validate_only=only)
            name = f"{'validate' if only else 'replace'} configs {number}"
            yield from _each(name, request, range(3), reads=only)


def _altered(kind: int, name: str, *configs: tuple[str, int, str | None]) -> iac.AlterConfigsResource:
    changes = [iac.AlterableConfig(name=key, config_operation=what, value=value) for key, what, value in configs]
    return iac.AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)


BROKER_CHANGES = (
    ("broker.id", "3"),
    ("num.io.threads", "100"),
    ("num.io.threads", "3"),
    ("num.io.threads", "x"),
    ("log.cleaner.threads", "2"),
    ("listeners", "PLAINTEXT://:1"),
    ("advertised.listeners", "PLAINTEXT://h:1"),
    ("log.retention.ms", "x"),
    ("log.message.timestamp.type", "x"),
    ("max.connections", "5"),
    ("num.partitions", "5"),
    ("log.cleaner.dedupe.buffer.size", "1"),
    ("compression.type", "zstd"),
    ("compression.type", "junk"),
)


def _alterations() -> Iterator[Step]:
    resources = (
        _altered(2, "c1", ("retention.ms", 0, "77"), ("cleanup.policy", 2, "delete")),
        _altered(2, "c2", ("retention.ms", 1, None), ("cleanup.policy", 3, "compact")),
        _altered(2, "c3", ("retention.ms", 2, "5")),
        _altered(2, "c4", ("foo", 0, "5")),
        _altered(2, "c5", ("foo", 1, None)),
        _altered(2, "c6", ("retention.ms", 0, None)),
        _altered(2, "c7", ("retention.ms", 0, "1"), ("retention.ms", 1, None)),
        _altered(2, "nope", ("retention.ms", 0, "5")),
        _altered(2, "", ("retention.ms", 0, "5")),
        _altered(2, "t1", ("cleanup.policy", 2, "compact")),
        _altered(2, "t2", ("cleanup.policy", 2, "delete")),
        _altered(2, "t3", ("cleanup.policy", 2, "junk")),
        _altered(4, "1", ("log.retention.ms", 0, "123456")),
        _altered(4, "", ("log.segment.bytes", 0, "123456")),
        _altered(4, "2"),
        _altered(32, "x"),
    )
    for only in (True, False):
        request = iac.IncrementalAlterConfigsRequest(resources=resources, validate_only=only)
        yield from _each("validate changes" if only else "change configs", request, range(2), reads=only)
    for name in ("1", ""):
        for key, value in BROKER_CHANGES:
            change = _altered(4, name, (key, 0, value))
            request = iac.IncrementalAlterConfigsRequest(resources=(change,), validate_only=True)
            yield from _each(f"change {key} of broker {name!r} to {value}", request, (1,))


# Records


def _records() -> Iterator[Step]:
    written = TopicProduceData(name="t0", partition_data=(PartitionProduceData(index=0, records=record_set(2)),))
    request = ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=(written,))
    for number in range(3):
        yield from _each(f"write set {number}", request, (7,), reads=False)
    for timestamp in (-1, -2, -3, -4, -5, -6, 0, 1_700_000_000_000):
        for isolation in (0, 1):
            name = f"offsets at {timestamp}, isolation {isolation}"
            yield from _each(name, _offsets(timestamp, 0), range(2))
            yield from _each(name, _offsets(timestamp, isolation), range(2, 10))
    for epoch in (-1, 0, 1):
        yield from _each(f"offsets in epoch {epoch}", _offsets(-1, 0, epoch=epoch), range(4, 10))
    yield from _each("offsets twice", _offsets(-1, 0, times=2), range(10))
    yield from _each("offsets for a debugger", _offsets(-1, 0, replica=-2), range(10))
    for epoch in (-1, 0, 1):
        yield from _each(f"end of epoch {epoch}", _epoch_end(epoch), range(5))
    yield from _each("delete records", _record_deletion(), range(3), reads=False)
    yield from _each("offsets after that", _offsets(-2, 0), range(10))


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
        yield from _each(f"cluster by endpoint {endpoint}", request, (1,) if endpoint > 1 else (0, 1))
    log_dirs = (
        ("all", None),
        ("some", (dld.DescribableLogDirTopic(topic="t0", partitions=(0, 9)),)),
        ("no", ()),
    )
    for name, topics in log_dirs:
        yield from _each(f"log directories with {name} topics", dld.DescribeLogDirsRequest(topics=topics), range(5))
    elected = (TopicPartitions(topic="t1", partitions=(0, 99)), TopicPartitions(topic="nope", partitions=(0,)))
    yield from _each("elect", ElectLeadersRequest(topic_partitions=elected), range(3))
    yield from _each("elect uncleanly", ElectLeadersRequest(election_type=1, topic_partitions=elected), (1, 2))
    yield from _each("elect oddly", ElectLeadersRequest(election_type=7, topic_partitions=elected), (1, 2))
    yield from _each("elect all", ElectLeadersRequest(topic_partitions=None), range(3))
    yield from _each("reassign", _reassignment(), (0,))
    yield from _each("reassignments", ListPartitionReassignmentsRequest(topics=None), (0,))
    yield from _each("move to nowhere", _move("/nowhere"), range(3))
    for name, partition in (("__cluster_metadata", 0), ("t1", 0)):
        asked = dq.TopicData(topic_name=name, partitions=(dq.PartitionData(partition_index=partition),))
        yield from _each(f"quorum of {name}", dq.DescribeQuorumRequest(topics=(asked,)), range(3))
    producers = [
        TopicRequest(name=name, partition_indexes=indexes)
        for name, indexes in (("t0", (0, 9)), ("nope", (0,)), ("bad name", (0,)))
    ]
    yield from _each("producers", DescribeProducersRequest(topics=producers), (0,))
    yield from _each("unregister", UnregisterBrokerRequest(broker_id=77), (0,))
    yield from _each("client metrics", ListClientMetricsResourcesRequest(), (0,))


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
    yield from _each("features", software, (3, 4))
    yield from _each(
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
        yield from _each(f"feature {feature} to {level} by {kind}", request, (1,))


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
    yield from _each("quotas", acq.AlterClientQuotasRequest(entries=entries), range(2), reads=False)
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
            yield from _each(f"quotas of {wanted}{' strictly' if strict else ''}", request, range(2))


def _security() -> Iterator[Step]:
    rule = AclCreation(
        resource_type=2, resource_name="t1", principal="User:a", host="*", operation=3, permission_type=3
    )
    wanted = DeleteAclsFilter(resource_type_filter=2, operation=1, permission_type=1)
    yield from _each("create rules", CreateAclsRequest(creations=(rule, rule)), range(4))
    yield from _each("delete rules", DeleteAclsRequest(filters=(wanted,)), range(4))
    described = DescribeAclsRequest(resource_type_filter=2, operation=1, permission_type=1)
    yield from _each("describe rules", described, range(4))
    for names in ((), ("a", "b"), ("a", "a")):
        users = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])
        yield from _each(f"passwords of {names}", users, (0,))
    yield from _each("authenticate", SaslAuthenticateRequest(auth_bytes=b"x"), range(3))
    yield from _each("shake hands", SaslHandshakeRequest(mechanism="PLAIN"), range(2))


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

    yield from _each("delete", deleted, range(7), reads=False)
