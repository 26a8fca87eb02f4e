"""The permissions that requests need, as in Kafka 3.9's `KafkaApis` and `ControllerApis`: parts of rules."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from ...protocol.acls import CLUSTER_NAME, AclOperation, ResourceType
from ...protocol.errors import ApiError
from ...protocol.records.layout import (
    ATTRIBUTES_OFFSET,
    LOG_OVERHEAD,
    LOW_ATTRIBUTES_OFFSET,
    MAGIC_OFFSET,
    MAGIC_V2,
    RECORD_OVERHEAD_V0,
    SIZE_OFFSET,
    TRANSACTIONAL_BIT,
)
from ..metadata.config_resources import ResourceType as ConfigType
from ..metadata.topic_rules import METADATA_TOPIC, is_legal_name
from ..security.authorization.access import Access, make_denial
from ..security.authorization.authorization_rule import AuthorizationRule, AuthorizedItems, Check, Judge


def _find_denial(
    access: Access, operation: AclOperation, kind: ResourceType, name: str = CLUSTER_NAME
) -> ApiError | None:
    return None if access.may(operation, kind, name) else make_denial(operation, kind, name)


def needs(operation: AclOperation, kind: ResourceType, field: str = "") -> Check:
    """Checks the operation on the resource that a field of the request names; without a field, on the cluster."""

    def check(access: Access, request: Any, version: int) -> ApiError | None:
        return _find_denial(access, operation, kind, getattr(request, field) if field else CLUSTER_NAME)

    return check


def each(operation: AclOperation, kind: ResourceType, field: str = "name") -> Callable[[Access, Any], Judge]:
    """Judges each item by the operation on the resource that its field names; field "": the item is the name."""

    def judge(access: Access, request: Any) -> Judge:
        return lambda item: _find_denial(access, operation, kind, getattr(item, field) if field else item)

    return judge


ON_CLUSTER = {
    operation: needs(operation, ResourceType.CLUSTER)
    for operation in (
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    )
}


def cluster_rule(operation: AclOperation) -> AuthorizationRule:
    return AuthorizationRule(whole=(ON_CLUSTER[operation],))


def topic_items(
    operation: AclOperation, *, field: str = "topics", answers: str = "topics", name: str = "name"
) -> AuthorizedItems:
    return AuthorizedItems(field=field, answers=answers, judge=each(operation, ResourceType.TOPIC, name))


READ_GROUP = needs(AclOperation.READ, ResourceType.GROUP, "group_id")
WRITE_TRANSACTION = needs(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "transactional_id")
MEMBER = AuthorizationRule(whole=(READ_GROUP,))


def check_since(version: int, check: Check) -> Check:
    return lambda access, request, asked: check(access, request, asked) if asked >= version else None


def check_before(version: int, check: Check) -> Check:
    return lambda access, request, asked: check(access, request, asked) if asked < version else None


def check_transactional_produce(access: Access, request: Any, version: int) -> ApiError | None:
    transactional_id = request.transactional_id
    if transactional_id is None or not _has_transactional_records(request):
        return None  # without an id the handler refuses such records
    return WRITE_TRANSACTION(access, request, version)


def _has_transactional_records(request: Any) -> bool:
    return any(
        data.records is not None and _begins_with_transactional_batch(data.records)
        for topic in request.topic_data
        for data in topic.partition_data
    )


def _begins_with_transactional_batch(records: memoryview | bytes) -> bool:
    """Whether the first batch is transactional and has all bytes that its length says, even if too few for a batch.

    Source: Kafka 3.9 `RequestUtils.hasTransactionalRecords`, `ByteBufferLogInputStream.nextBatch`.
    """
    size = len(records)
    if size < ATTRIBUTES_OFFSET + 2 or records[MAGIC_OFFSET] != MAGIC_V2:
        return False
    length = int.from_bytes(records[SIZE_OFFSET:LOG_OVERHEAD], "big", signed=True)
    is_whole = RECORD_OVERHEAD_V0 <= length <= size - LOG_OVERHEAD
    return is_whole and bool(records[LOW_ATTRIBUTES_OFFSET] & TRANSACTIONAL_BIT)


def check_init_producer_id(access: Access, request: Any, version: int) -> ApiError | None:
    if request.transactional_id is not None:
        return WRITE_TRANSACTION(access, request, version)
    if access.may_see(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME):
        return None
    if access.may_some(AclOperation.WRITE, ResourceType.TOPIC):
        return None
    return make_denial(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME)


def check_write_txn_markers(access: Access, request: Any, version: int) -> ApiError | None:
    if access.may_see(AclOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME):
        return None
    return ON_CLUSTER[AclOperation.CLUSTER_ACTION](access, request, version)


def make_create_topics_judge(access: Access, request: Any) -> Judge:
    """Lets the metadata topic and repeated names pass, so that the handler answers with its own error."""
    if access.may_see(AclOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        return lambda topic: None
    judge = each(AclOperation.CREATE, ResourceType.TOPIC)(access, request)
    spared = _find_repeated_names(topic.name for topic in request.topics) | {METADATA_TOPIC}
    return lambda topic: None if topic.name in spared else judge(topic)


def make_create_partitions_judge(access: Access, request: Any) -> Judge:
    judge = each(AclOperation.ALTER, ResourceType.TOPIC)(access, request)
    spared = _find_repeated_names(topic.name for topic in request.topics)
    return lambda topic: None if topic.name in spared else judge(topic)


def _find_repeated_names(names: Iterable[Hashable]) -> set[Hashable]:
    return {name for name, count in Counter(names).items() if count > 1}


def make_offset_for_leader_epoch_judge(access: Access, request: Any) -> Judge:
    if access.may_see(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME):
        return lambda topic: None
    return each(AclOperation.DESCRIBE, ResourceType.TOPIC, "topic")(access, request)


def make_describe_producers_judge(access: Access, request: Any) -> Judge:
    judge = each(AclOperation.READ, ResourceType.TOPIC)(access, request)
    return lambda topic: judge(topic) if is_legal_name(topic.name) else None


def configs_judge(operation: AclOperation) -> Callable[[Access, Any], Judge]:
    """Topics need the operation on the topic, others on the cluster; unknown types and repetitions are left alone."""

    def judge(access: Access, request: Any) -> Judge:
        spared: set[Hashable] = set()
        if operation is AclOperation.ALTER_CONFIGS:
            spared = _find_repeated_names((each.resource_type, each.resource_name) for each in request.resources)

        def judge_item(resource: Any) -> ApiError | None:
            code, name = resource.resource_type, resource.resource_name
            if code not in ConfigType.__members__.values() or (code, name) in spared:
                return None
            if code == ConfigType.TOPIC:
                return _find_denial(access, operation, ResourceType.TOPIC, name)
            return _find_denial(access, operation, ResourceType.CLUSTER)

        return judge_item

    return judge


_COORDINATED = {
    0: (ResourceType.GROUP, AclOperation.DESCRIBE),
    1: (ResourceType.TRANSACTIONAL_ID, AclOperation.DESCRIBE),
}


def check_find_coordinator(access: Access, request: Any, version: int) -> ApiError | None:
    """For versions with one key."""
    return make_find_coordinator_judge(access, request)(request.key) if version < 4 else None


def make_find_coordinator_judge(access: Access, request: Any) -> Judge:
    kind, operation = _COORDINATED.get(request.key_type, (None, AclOperation.DESCRIBE))
    if kind is None:
        return lambda key: None
    return each(operation, kind, "")(access, request)


def group_items(operation: AclOperation, field: str, answers: str, name: str = "") -> AuthorizedItems:
    return AuthorizedItems(field=field, answers=answers, judge=each(operation, ResourceType.GROUP, name))


OPEN = AuthorizationRule()
