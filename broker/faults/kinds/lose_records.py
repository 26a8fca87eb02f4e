"""`lose`: a Produce is acknowledged and not appended."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ....protocol.api import ApiKey
from ....protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from ..armed_fault_state import ArmedFaultState
from ..fault import Fault, field_with_parser
from ..field_parsers import parse_apis
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseRecordsFault(Fault):
    """A Produce is answered as a success and not appended."""

    kind: ClassVar[str] = "lose"
    only_apis: ClassVar[tuple[ApiKey, ...]] = (ApiKey.PRODUCE,)
    api: tuple[ApiKey, ...] = field_with_parser(parse_apis, (ApiKey.PRODUCE,))

    async def act_before(self, request: PassingRequest, state: ArmedFaultState) -> Any | None:
        return request.answer_part(self.is_about, lambda part: _make_success(request, part))


def _make_success(request: PassingRequest, part: ProduceRequest) -> ProduceResponse:
    """A success for records that are written nowhere: each partition's log end offset, where they would have begun."""
    cluster = request.services.cluster
    return ProduceResponse(
        responses=tuple(
            TopicProduceResponse(
                name=topic.name,
                partition_responses=tuple(
                    PartitionProduceResponse(
                        index=data.index,
                        base_offset=cluster.partition(topic.name, data.index).log.log_end_offset,
                    )
                    for data in topic.partition_data
                ),
            )
            for topic in part.topic_data
        )
    )
