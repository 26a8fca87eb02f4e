"""The table of what clients need to be allowed for each API, as Kafka 3.9's `KafkaApis` and `ControllerApis` ask.

A broker does not start while an API that it serves is missing here.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from ...protocol.acls import CLUSTER_NAME, AclOperation, ResourceType
from ...protocol.api import ApiKey
from ...protocol.errors import ApiError
from ...protocol.records.layout import (
    ATTRIBUTES_OFFSET,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    RECORD_OVERHEAD_V0,
    SIZE_OFFSET,
    TRANSACTIONAL_BIT,
)
from ..metadata.config_resources import ResourceType as ConfigType
from ..metadata.topic_rules import METADATA_TOPIC, is_legal_name
from ..security.authorization.access import Access, denial
from ..security.authorization.authorization_rule import Check, Items, Judge, Rule


def _needs(operation: AclOperation, kind: ResourceType, field: str = "") -> Check:
    """The operation on the resource that a field of the request names; without a field, on the cluster."""

    def check(access: Access, request: Any, version: int) -> ApiError | None:
        name = getattr(request, field) if field else CLUSTER_NAME
        return None if access.may(operation, kind, name) else denial(operation, kind, name)

    return check


def _each(operation: AclOperation, kind: ResourceType, field: str = "name") -> Callable[[Access, Any, int], Judge]:
    """The operation on the resource that a field of each item names; field "": that the item is."""

    def judge(access: Access, request: Any, version: int) -> Judge:
        def judge_item(item: Any) -> ApiError | None:
            name = getattr(item, field) if field else item
            return None if access.may(operation, kind, name) else denial(operation, kind, name)

        return judge_item

    return judge


_ON_CLUSTER = {
    operation: _needs(operation, ResourceType.CLUSTER)
    for operation in (
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    )
}


def _cluster(operation: AclOperation) -> Rule:
    return Rule(whole=(_ON_CLUSTER[operation],))


def _topics(operation: AclOperation, *, field: str = "topics", answers: str = "topics", name: str = "name") -> Items:
    return Items(field=field, answers=answers, judge=_each(operation, ResourceType.TOPIC, name))


_READ_GROUP = _needs(AclOperation.READ, ResourceType.GROUP, "group_id")
_WRITE_TRANSACTION = _needs(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "transactional_id")
_MEMBER = Rule(whole=(_READ_GROUP,))


def _from(version: int, check: Check) -> Check:
    return lambda access, request, asked: check(access, request, asked) if asked >= version else None


def _before(version: int, check: Check) -> Check:
    return lambda access, request, asked: check(access, request, asked) if asked < version else None


def _transactional_produce(access: Access, request: Any, version: int) -> ApiError | None:
    transactional_id = request.transactional_id
    if transactional_id is None or not _has_transactional_records(request):
        return None  # without an id the handler refuses such records
    return _WRITE_TRANSACTION(access, request, version)


def _has_transactional_records(request: Any) -> bool:
    return any(
        data.records is not None and _begins_with_transactional_batch(data.records)
        for topic in request.topic_data
        for data in topic.partition_data
    )


def _begins_with_transactional_batch(records: memoryview | bytes) -> bool:
    """Whether the first batch is whole by its length, however short, and transactional.

    Source: Kafka 3.9 `RequestUtils.hasTransactionalRecords`, `ByteBufferLogInputStream.nextBatch`.
    """
    size = len(records)
    if size < ATTRIBUTES_OFFSET + 2 or records[MAGIC_OFFSET] != MAGIC_V2:
        return False
    length = int.from_bytes(records[SIZE_OFFSET:LOG_OVERHEAD], "big", signed=True)
    is_whole = RECORD_OVERHEAD_V0 <= length <= size - LOG_OVERHEAD
    return is_whole and bool(records[ATTRIBUTES_OFFSET + 1] & TRANSACTIONAL_BIT)


def _producer_id(access: Access, request: Any, version: int) -> ApiError | None:
    if request.transactional_id is not None:
        return _WRITE_TRANSACTION(access, request, version)
    if access.may_see(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME):
        return None
    if access.may_some(AclOperation.WRITE, ResourceType.TOPIC):
        return None
    return denial(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME)


def _markers(access: Access, request: Any, version: int) -> ApiError | None:
    if access.may_see(AclOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME):
        return None
    return _ON_CLUSTER[AclOperation.CLUSTER_ACTION](access, request, version)


def _creations(access: Access, request: Any, version: int) -> Judge:
    """What nobody may create, and what is named twice, is for the handler to refuse."""
    if access.may_see(AclOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        return lambda topic: None
    judge = _each(AclOperation.CREATE, ResourceType.TOPIC)(access, request, version)
    spared = _find_repeated_names(topic.name for topic in request.topics) | {METADATA_TOPIC}
    return lambda topic: None if topic.name in spared else judge(topic)


def _growths(access: Access, request: Any, version: int) -> Judge:
    judge = _each(AclOperation.ALTER, ResourceType.TOPIC)(access, request, version)
    spared = _find_repeated_names(topic.name for topic in request.topics)
    return lambda topic: None if topic.name in spared else judge(topic)


def _find_repeated_names(names: Iterable[Hashable]) -> set[Hashable]:
    return {name for name, count in Counter(names).items() if count > 1}


def _epochs(access: Access, request: Any, version: int) -> Judge:
    if access.may_see(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME):
        return lambda topic: None
    return _each(AclOperation.DESCRIBE, ResourceType.TOPIC, "topic")(access, request, version)


def _producers(access: Access, request: Any, version: int) -> Judge:
    judge = _each(AclOperation.READ, ResourceType.TOPIC)(access, request, version)
    return lambda topic: judge(topic) if is_legal_name(topic.name) else None


def _configs(operation: AclOperation) -> Callable[[Access, Any, int], Judge]:
    """Topics by themselves, all else by the cluster; types that are not known, and repetitions, are the handler's."""

    def judge(access: Access, request: Any, version: int) -> Judge:
        spared: set[Hashable] = set()
        if operation is AclOperation.ALTER_CONFIGS:
            spared = _find_repeated_names((each.resource_type, each.resource_name) for each in request.resources)

        def judge_item(resource: Any) -> ApiError | None:
            code, name = resource.resource_type, resource.resource_name
            if code not in ConfigType.__members__.values() or (code, name) in spared:
                return None
            if code == ConfigType.TOPIC:
                on_topic = access.may(operation, ResourceType.TOPIC, name)
                return None if on_topic else denial(operation, ResourceType.TOPIC, name)
            return _ON_CLUSTER[operation](access, request, version)

        return judge_item

    return judge


_COORDINATED = {
    0: (ResourceType.GROUP, AclOperation.DESCRIBE),
    1: (ResourceType.TRANSACTIONAL_ID, AclOperation.DESCRIBE),
}


def _coordinator(access: Access, request: Any, version: int) -> ApiError | None:
    """For versions with one key."""
    return _coordinators(access, request, version)(request.key) if version < 4 else None


def _coordinators(access: Access, request: Any, version: int) -> Judge:
    kind, operation = _COORDINATED.get(request.key_type, (None, AclOperation.DESCRIBE))
    if kind is None:
        return lambda key: None
    return _each(operation, kind, "")(access, request, version)


def _groups(operation: AclOperation, field: str, answers: str, name: str = "") -> Items:
    return Items(field=field, answers=answers, judge=_each(operation, ResourceType.GROUP, name))


_OPEN = Rule()
_FIRST_VERSION_OF_BROKERS = 4  # of AddPartitionsToTxn

RULES: Mapping[ApiKey, Rule] = {
    ApiKey.PRODUCE: Rule(
        whole=(_transactional_produce,), items=_topics(AclOperation.WRITE, field="topic_data", answers="responses")
    ),
    ApiKey.FETCH: Rule(asks="READ of each topic; CLUSTER_ACTION for followers"),
    ApiKey.LIST_OFFSETS: Rule(items=_topics(AclOperation.DESCRIBE)),
    ApiKey.METADATA: Rule(asks="DESCRIBE of each topic; CREATE of it, or on the cluster, where it is to be made"),
    ApiKey.API_VERSIONS: _OPEN,
    ApiKey.SASL_HANDSHAKE: _OPEN,
    ApiKey.SASL_AUTHENTICATE: _OPEN,
    ApiKey.CREATE_TOPICS: Rule(
        items=Items(field="topics", answers="topics", judge=_creations),
        asks="DESCRIBE_CONFIGS of what was created, to show its settings",
    ),
    ApiKey.DELETE_TOPICS: Rule(
        asks="DELETE of each topic, or on the cluster; DESCRIBE of it, to tell whether it is there"
    ),
    ApiKey.DELETE_RECORDS: Rule(items=_topics(AclOperation.DELETE)),
    ApiKey.INIT_PRODUCER_ID: Rule(whole=(_producer_id,)),
    ApiKey.ADD_PARTITIONS_TO_TXN: Rule(
        whole=(
            _from(_FIRST_VERSION_OF_BROKERS, _ON_CLUSTER[AclOperation.CLUSTER_ACTION]),
            _before(
                _FIRST_VERSION_OF_BROKERS,
                _needs(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "v3_and_below_transactional_id"),
            ),
        ),
        asks="WRITE of each topic that is not internal",
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: Rule(whole=(_WRITE_TRANSACTION, _READ_GROUP)),
    ApiKey.END_TXN: Rule(whole=(_WRITE_TRANSACTION,)),
    ApiKey.WRITE_TXN_MARKERS: Rule(whole=(_markers,)),
    ApiKey.TXN_OFFSET_COMMIT: Rule(whole=(_WRITE_TRANSACTION, _READ_GROUP), items=_topics(AclOperation.READ)),
    ApiKey.DESCRIBE_TRANSACTIONS: Rule(
        items=Items(
            field="transactional_ids",
            answers="transaction_states",
            judge=_each(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, ""),
        ),
        asks="DESCRIBE of each topic that is shown",
    ),
    ApiKey.LIST_TRANSACTIONS: Rule(asks="DESCRIBE of each transactional id that is shown"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Rule(items=Items(field="topics", answers="topics", judge=_epochs)),
    ApiKey.DESCRIBE_CONFIGS: Rule(
        items=Items(field="resources", answers="results", judge=_configs(AclOperation.DESCRIBE_CONFIGS))
    ),
    ApiKey.ALTER_CONFIGS: Rule(
        items=Items(field="resources", answers="responses", judge=_configs(AclOperation.ALTER_CONFIGS))
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Rule(
        items=Items(field="resources", answers="responses", judge=_configs(AclOperation.ALTER_CONFIGS))
    ),
    ApiKey.DESCRIBE_LOG_DIRS: _cluster(AclOperation.DESCRIBE),
    ApiKey.ALTER_REPLICA_LOG_DIRS: _cluster(AclOperation.ALTER),
    ApiKey.CREATE_PARTITIONS: Rule(items=Items(field="topics", answers="results", judge=_growths)),
    ApiKey.DESCRIBE_CLUSTER: Rule(asks="DESCRIBE on the cluster, to tell what may be done with it"),
    ApiKey.FIND_COORDINATOR: Rule(
        whole=(_coordinator,), items=Items(field="coordinator_keys", answers="coordinators", judge=_coordinators)
    ),
    ApiKey.JOIN_GROUP: _MEMBER,
    ApiKey.HEARTBEAT: _MEMBER,
    ApiKey.LEAVE_GROUP: _MEMBER,
    ApiKey.SYNC_GROUP: _MEMBER,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _MEMBER,
    ApiKey.OFFSET_COMMIT: Rule(whole=(_READ_GROUP,), items=_topics(AclOperation.READ)),
    ApiKey.OFFSET_FETCH: Rule(
        whole=(_before(8, _needs(AclOperation.DESCRIBE, ResourceType.GROUP, "group_id")),),
        items=_groups(AclOperation.DESCRIBE, "groups", "groups", "group_id"),
        asks="DESCRIBE of each topic",
    ),
    ApiKey.DESCRIBE_GROUPS: Rule(
        items=_groups(AclOperation.DESCRIBE, "groups", "groups"), asks="what may be done with a group"
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Rule(
        items=_groups(AclOperation.DESCRIBE, "group_ids", "groups"), asks="what may be done with a group"
    ),
    ApiKey.LIST_GROUPS: Rule(asks="DESCRIBE on the cluster, or of each group that is shown"),
    ApiKey.DELETE_GROUPS: Rule(items=_groups(AclOperation.DELETE, "groups_names", "results")),
    ApiKey.OFFSET_DELETE: Rule(
        whole=(_needs(AclOperation.DELETE, ResourceType.GROUP, "group_id"),), asks="READ of each topic"
    ),
    ApiKey.DESCRIBE_ACLS: _cluster(AclOperation.DESCRIBE),
    ApiKey.CREATE_ACLS: _cluster(AclOperation.ALTER),
    ApiKey.DELETE_ACLS: _cluster(AclOperation.ALTER),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _cluster(AclOperation.DESCRIBE),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _cluster(AclOperation.ALTER),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Rule(asks="DESCRIBE of each topic"),
    ApiKey.ELECT_LEADERS: _cluster(AclOperation.ALTER),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _cluster(AclOperation.ALTER),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _cluster(AclOperation.DESCRIBE),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _cluster(AclOperation.DESCRIBE_CONFIGS),
    ApiKey.ALTER_CLIENT_QUOTAS: _cluster(AclOperation.ALTER_CONFIGS),
    ApiKey.DESCRIBE_QUORUM: _cluster(AclOperation.DESCRIBE),
    ApiKey.UPDATE_FEATURES: _cluster(AclOperation.ALTER),
    ApiKey.DESCRIBE_PRODUCERS: Rule(items=Items(field="topics", answers="topics", judge=_producers)),
    ApiKey.UNREGISTER_BROKER: _cluster(AclOperation.ALTER),
    ApiKey.LIST_CLIENT_METRICS_RESOURCES: _cluster(AclOperation.DESCRIBE_CONFIGS),
    # Beyond what is served today, so that the handler needs no more than to be there.
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _cluster(AclOperation.ALTER),
}
