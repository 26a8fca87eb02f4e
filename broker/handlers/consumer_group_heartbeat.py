"""ConsumerGroupHeartbeat, versions 0-1: joins, keeps alive and leaves a group of the consumer protocol (KIP-848).

Answered UNSUPPORTED_VERSION unless group.coordinator.rebalance.protocols has `consumer`, as Kafka 3.9 does. The broker
assigns, uniformly or by ranges; group.consumer.migration.policy lets classic groups change over while they have
members. A client that names a topic that it may not DESCRIBE is refused, as in Kafka 4: the assignment would show
that the topic exists.

Version notes: in v0 a member may leave its id to the broker. v1 is Kafka 4.0's and what librdkafka needs: members make
their own id (KIP-1082) and may subscribe by an expression, which matches whole names, but not those of internal topics.
"""

from typing import TYPE_CHECKING

from ...protocol.acls import AclOperation, ResourceType
from ...protocol.errors import ApiError
from ...protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from ..dispatch.call import Call
from .join_group import caller_of

if TYPE_CHECKING:
    from ..services import Services


async def handle(
    services: "Services", request: ConsumerGroupHeartbeatRequest, call: Call
) -> ConsumerGroupHeartbeatResponse:
    for topic in request.subscribed_topic_names or ():
        call.access.ensure_allows(AclOperation.DESCRIBE, ResourceType.TOPIC, topic)
        await call.turn.next()
    return await services.groups.consumer_heartbeat(request, caller_of(call))


def refuse(request: ConsumerGroupHeartbeatRequest, error: ApiError, call: Call) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
