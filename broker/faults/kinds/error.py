"""`error`: an error code instead of the answer."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ....network.answerer import CloseConnection
from ....protocol.api import ApiKey
from ....protocol.errors import ApiError, ErrorCode
from ....protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from ...fetch.session import FIRST_VERSION_WITH_SESSIONS, FIRST_VERSION_WITH_TOPIC_IDS
from .. import field_parsers
from ..armed_fault_state import ArmedFaultState
from ..error_responses import with_error_code
from ..fault import Fault, FaultStage, field_with_parser
from ..field_parsers import WHEN
from ..passing_request import PassingRequest

FAILS_BY_PARTITION = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.OFFSET_COMMIT,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.DELETE_RECORDS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
    }
)
"""APIs with an effect whose partitions fail one by one, each without that effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorFault(Fault):
    """Answers with an error code: for each matching partition, or, if it names none, as the API refuses a request."""

    kind: ClassVar[str] = "error"
    code: ErrorCode = field_with_parser(field_parsers.parse_error_code)
    when: str = field_with_parser(WHEN, "before")

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage(self.when)

    async def act_before(self, request: PassingRequest, state: ArmedFaultState) -> Any | None:
        call = request.call
        if call.key is ApiKey.FETCH:
            call.request = replace(call.request, max_wait_ms=0)
        if call.key is ApiKey.FETCH or (self.is_for_partitions and call.key not in FAILS_BY_PARTITION):
            request.change_response_later(lambda response: self._change_response(request, response))
            return None
        error = ApiError(f"fault {state.number}", self.code)
        if not self.is_for_partitions:
            raise error
        return request.answer_part(self.is_about, lambda part: request.refuse(error, part))

    async def act_after(self, request: PassingRequest, state: ArmedFaultState, response: Any) -> Any:
        return self._change_response(request, response)

    def _change_response(self, request: PassingRequest, response: Any) -> Any:
        call = request.call
        if response is None:
            raise CloseConnection(f"a fault answers {self.code.name} to a request that has no answer")
        if isinstance(response, FetchResponse):
            response = _add_unchanged_partitions(request, response)
        elif not self.is_for_partitions:
            return request.refuse(ApiError("a fault", self.code))
        whole_topics = call.key is ApiKey.METADATA and self.partition is None
        return with_error_code(
            response, call.version, self.code, self.is_about, request.topic_name, whole_topics=whole_topics
        )


def _add_unchanged_partitions(request: PassingRequest, response: FetchResponse) -> FetchResponse:
    """Adds the partitions of the fetch session that the response leaves out since nothing in them is new."""
    version = request.call.version
    if version < FIRST_VERSION_WITH_SESSIONS:
        return response
    answered = {
        (topic.topic_id if topic.topic_id.int else topic.topic, each.partition_index)
        for topic in response.responses
        for each in topic.partitions
    }
    missing = []
    for interest in request.services.sessions.interests(response.session_id):
        interest.sent_high_watermark = -1  # the client gets an error instead, so the next response has to repeat it
        if interest.key not in answered:
            blank = PartitionData(partition_index=interest.index, high_watermark=-1, records=b"")
            by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
            named = {"topic_id": interest.topic_id} if by_id else {"topic": interest.topic}
            missing.append(FetchableTopicResponse(partitions=(blank,), **named))
    return replace(response, responses=(*response.responses, *missing))
