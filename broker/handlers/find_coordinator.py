"""FindCoordinator, versions 0-6: which broker serves a group or a transactional id (KIP-98, 699).

It is the leader of the partition of `__consumer_offsets`, or `__transaction_state`, that the key's hash gives. Kafka
answers COORDINATOR_NOT_AVAILABLE until that topic is made; here the first request waits until it has been.

Version notes: v0 knows groups only; from v4 on several keys, each with an answer of its own, in the order asked; v6 may
name share groups, which are not offered: COORDINATOR_NOT_AVAILABLE, before v6 INVALID_REQUEST.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from ...protocol.coordinator.partitioning import partition_of
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from ..dispatch.call import Call
from ..metadata.image import Endpoint
from ..metadata.topic_rules import OFFSETS_TOPIC, TRANSACTION_TOPIC

if TYPE_CHECKING:
    from ..services import Services

FIRST_VERSION_WITH_SEVERAL_KEYS = 4
FIRST_VERSION_WITH_SHARE_GROUPS = 6
NOBODY = -1


class CoordinatorType(IntEnum):
    """What a key names."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


TOPICS = {CoordinatorType.GROUP: OFFSETS_TOPIC, CoordinatorType.TRANSACTION: TRANSACTION_TOPIC}


async def handle(services: "Services", request: FindCoordinatorRequest, call: Call) -> FindCoordinatorResponse:
    topic = _topic_of_type(request.key_type, call.version)
    keys = _keys(request, call.version)
    return _make_response([await _find_coordinator(services, topic, key, call) for key in keys], call.version)


def refuse(request: FindCoordinatorRequest, error: ApiError, call: Call) -> FindCoordinatorResponse:
    return _make_response([_make_failure(key, error) for key in _keys(request, call.version)], call.version)


def _keys(request: FindCoordinatorRequest, version: int) -> Sequence[str]:
    return request.coordinator_keys if version >= FIRST_VERSION_WITH_SEVERAL_KEYS else (request.key,)


def _topic_of_type(key_type: int, version: int) -> str:
    if key_type == CoordinatorType.SHARE and version >= FIRST_VERSION_WITH_SHARE_GROUPS:
        raise ApiError("share groups are not offered", ErrorCode.COORDINATOR_NOT_AVAILABLE)
    topic = TOPICS.get(CoordinatorType(key_type)) if key_type in CoordinatorType.__members__.values() else None
    if topic is None:
        raise ApiError(f"a key type of 0 or 1 expected, found {key_type}", ErrorCode.INVALID_REQUEST)
    return topic


async def _find_coordinator(services: "Services", topic_name: str, key: str, call: Call) -> Coordinator:
    await call.turn.next()
    try:
        topic = await services.topics.ensure(topic_name)
        leader_id = services.cluster.leader_of(topic.partitions[partition_of(key, len(topic.partitions))])
        endpoint = _find_endpoint(services, leader_id, call.peer.listener)
    except ApiError as error:
        return _make_failure(key, ApiError(f"{topic_name}: {error}", ErrorCode.COORDINATOR_NOT_AVAILABLE))
    return Coordinator(key=key, node_id=leader_id, host=endpoint.host, port=endpoint.port)


def _find_endpoint(services: "Services", node_id: int, listener: str) -> Endpoint:
    node = services.cluster.brokers.get(node_id)
    endpoint = None if node is None else node.endpoints.get(listener)
    if endpoint is None:
        raise ApiError(f"broker {node_id} is not reached by listener {listener}", ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return endpoint


def _make_failure(key: str, error: ApiError) -> Coordinator:
    return Coordinator(key=key, node_id=NOBODY, port=NOBODY, error_code=error.code, error_message=error.message)


def _make_response(found: Sequence[Coordinator], version: int) -> FindCoordinatorResponse:
    if version >= FIRST_VERSION_WITH_SEVERAL_KEYS:
        return FindCoordinatorResponse(coordinators=found)
    only = found[0]
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )
