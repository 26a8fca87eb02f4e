"""DeleteTopics (key 20), versions 0–6, flexible from 4: deletes topics. v6 names them by name or by id."""

from collections.abc import Sequence
from uuid import UUID

from ..schema import array, int16, int32, message, string, struct, uuid


@struct
class DeleteTopicState:
    name: str | None = string("6+", nullable="6+", default=None)
    topic_id: UUID = uuid("6+")


@message(versions="0-6", flexible="4+")
class DeleteTopicsRequest:
    """Topics to delete."""

    topics: Sequence[DeleteTopicState] = array(DeleteTopicState, "6+")
    topic_names: Sequence[str] = array(string, "0-5", ignorable=True)
    timeout_ms: int = int32()


@struct
class DeletableTopicResult:
    name: str | None = string(nullable="6+")
    topic_id: UUID = uuid("6+", ignorable=True)
    error_code: int = int16()
    error_message: str | None = string("5+", nullable="5+", default=None, ignorable=True)


@message(versions="0-6", flexible="4+")
class DeleteTopicsResponse:
    """How that went, per topic."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    responses: Sequence[DeletableTopicResult] = array(DeletableTopicResult)
