"""A script of admin requests, right and wrong, in all versions: topics and settings, then what `cluster_steps` has.

The broker is number 1 and begins without topics. Steps build on each other.
"""

from collections.abc import Iterator, Sequence
from uuid import UUID

from stepdown.protocol.messages import alter_configs as ac
from stepdown.protocol.messages import create_partitions as cp
from stepdown.protocol.messages import describe_configs as dc
from stepdown.protocol.messages import describe_topic_partitions as dtp
from stepdown.protocol.messages import incremental_alter_configs as iac
from stepdown.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

from .admin import new_topic
from .cluster_steps import cluster_steps
from .steps import TIMEOUT_MS, Step, each_version


def steps() -> Iterator[Step]:
    """All of them, in their order; each name once."""
    yield from _creations()
    yield from _metadata()
    yield from _growth()
    yield from _configs()
    yield from cluster_steps()


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
    yield from each_version("create", two, versions, reads=False)
    yield from each_version("create again", two, versions, reads=False)
    yield from each_version("create wrong", CreateTopicsRequest(topics=WRONG_TOPICS), versions, reads=False)
    yield from each_version("create odd", CreateTopicsRequest(topics=ODD_TOPICS), (7,), reads=False)
    check = CreateTopicsRequest(topics=(new_topic("v1", 2), new_topic("t0")), validate_only=True)
    yield from each_version("validate", check, range(1, 8))
    for name in ("same.name", "same_name"):
        yield from each_version(f"create {name}", CreateTopicsRequest(topics=(new_topic(name),)), (4,), reads=False)


def _metadata() -> Iterator[Step]:
    def some(version: int) -> MetadataRequest:
        return MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in ("t1", "c1", "nope", "bad name", "t1")],
            allow_auto_topic_creation=version < 4,
            include_cluster_authorized_operations=8 <= version <= 10,
            include_topic_authorized_operations=version >= 8,
        )

    yield from each_version("metadata of some", some, range(13))
    yield from each_version("metadata of none", MetadataRequest(topics=()), range(1, 13))
    yield from each_version("metadata of all", lambda v: MetadataRequest(topics=None if v else ()), range(13))
    nameless = MetadataRequest(topics=(MetadataRequestTopic(name=None),))
    yield from each_version("metadata without a name", nameless, (10, 11))
    by_id = MetadataRequestTopic(name=None, topic_id=UUID(int=5))
    ids = MetadataRequest(topics=(by_id, MetadataRequestTopic(name="t1")))
    yield from each_version("metadata by id", ids, range(10, 13))
    yield from each_version("all topic partitions", dtp.DescribeTopicPartitionsRequest(), (0,))
    names = [dtp.TopicRequest(name=name) for name in ("t1", "nope", "bad name", "c1", "t2")]
    for limit in (2000, 1, 2, 5, 0, -1):
        request = dtp.DescribeTopicPartitionsRequest(topics=names, response_partition_limit=limit)
        yield from each_version(f"topic partitions, at most {limit}", request, (0,))
    for name, index in (("t1", 2), ("a", 0), ("t1", -2), ("t2", 99)):
        cursor = dtp.Cursor(topic_name=name, partition_index=index)
        request = dtp.DescribeTopicPartitionsRequest(topics=names, cursor=cursor)
        yield from each_version(f"topic partitions from {name}-{index}", request, (0,))


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

    yield from each_version("grow", grown, range(4), reads=False)
    check = cp.CreatePartitionsRequest(topics=(topic("t1", 50),), timeout_ms=TIMEOUT_MS, validate_only=True)
    yield from each_version("validate growth", check, (3,))


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

    yield from each_version("describe configs", described, range(5))
    for kind in (0, 1, 3, 32):
        resources = _described((kind, "x", None), (2, "t1", ["retention.ms"]))
        yield from each_version(f"describe type {kind}", dc.DescribeConfigsRequest(resources=resources), (4,))
    yield from _replacements()
    yield from _alterations()
    yield from each_version("describe changed configs", described, range(5))


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
            yield from each_version(name, request, range(3), reads=only)


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
        yield from each_version("validate changes" if only else "change configs", request, range(2), reads=only)
    for name in ("1", ""):
        for key, value in BROKER_CHANGES:
            change = _altered(4, name, (key, 0, value))
            request = iac.IncrementalAlterConfigsRequest(resources=(change,), validate_only=True)
            yield from each_version(f"change {key} of broker {name!r} to {value}", request, (1,))
