"""`duplicate`: a Produce is appended twice."""

from dataclasses import dataclass, replace
from typing import ClassVar

from ....protocol.api import ApiKey
from ....protocol.messages.produce import ProduceRequest
from ....protocol.records.layout import MAGIC_OFFSET, MAGIC_V2, NO_PRODUCER_ID, RECORD_BATCH_OVERHEAD
from ....protocol.records.record import Buffer
from ....protocol.records.v2_header import read_header, write_header
from ..armed_fault_state import ArmedFaultState
from ..error_responses import split_request
from ..fault import Fault, field_with_parser
from ..field_parsers import parse_apis
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateFault(Fault):
    """A Produce outside of a transaction is appended twice, that of an idempotent producer, too."""

    kind: ClassVar[str] = "duplicate"
    only_apis: ClassVar[tuple[ApiKey, ...]] = (ApiKey.PRODUCE,)
    missing_fields: ClassVar[tuple[str, ...]] = ("group",)
    api: tuple[ApiKey, ...] = field_with_parser(parse_apis, (ApiKey.PRODUCE,))

    def is_for(self, request: PassingRequest) -> bool:
        return Fault.is_for(self, request) and not request.call.request.transactional_id

    async def act_before(self, request: PassingRequest, state: ArmedFaultState) -> None:
        _, part = split_request(request.call.request, self.is_about, request.topic_name)
        if part is not None:
            await request.handle(_without_producer(part))


def _without_producer(request: ProduceRequest) -> ProduceRequest:
    """The same records from a producer that is not idempotent: else the broker would see that it has them."""
    return replace(
        request,
        topic_data=tuple(
            replace(
                topic,
                partition_data=tuple(
                    replace(data, records=_without_producer_id(data.records)) for data in topic.partition_data
                ),
            )
            for topic in request.topic_data
        ),
    )


def _without_producer_id(records: Buffer | None) -> Buffer | None:
    if records is None or len(records) < RECORD_BATCH_OVERHEAD or records[MAGIC_OFFSET] != MAGIC_V2:
        return records
    header = read_header(records)
    if header.producer_id == NO_PRODUCER_ID:
        return records
    body = bytes(records[RECORD_BATCH_OVERHEAD:])
    head = write_header(
        body,
        attributes=header.attributes,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
        record_count=header.record_count,
    )
    return head + body
