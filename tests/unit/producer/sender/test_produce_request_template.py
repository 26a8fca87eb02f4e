"""Requests of one batch, and their answers, as the schema would write and read them."""

from typing import Any

import pytest
from stepdown.producer.sender.produce_request_template import SINCE_VERSION, BatchAnswer, ProduceRequestTemplate
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import encode_request, encode_response
from stepdown.protocol.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

SPEC = API[ApiKey.PRODUCE]
VERSIONS = range(SINCE_VERSION, SPEC.max_version + 1)


def template(version: int, **fields: Any) -> ProduceRequestTemplate:
    return ProduceRequestTemplate(version, "me", ProduceRequest(acks=-1, timeout_ms=30_000, **fields), "träger", 7)


def answer(version: int, throttle_ms: int = 3, topic: str = "träger", correlation_id: int = 9, **fields: Any) -> bytes:
    part = PartitionProduceResponse(**({"index": 7, "base_offset": 1 << 40, "log_start_offset": 5} | fields))
    response = ProduceResponse(
        responses=[TopicProduceResponse(name=topic, partition_responses=[part])], throttle_time_ms=throttle_ms
    )
    return b"".join(bytes(piece) for piece in encode_response(SPEC, version, correlation_id, response))[4:]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size_bytes", [1, 126, 127, 16_383, 16_384, 100_000])
@pytest.mark.parametrize("transactional_id", [None, "mine"])
def test_a_frame_is_what_the_schema_writes(version: int, size_bytes: int, transactional_id: str | None) -> None:
    kept, records = template(version, transactional_id=transactional_id), bytes(range(256)) * 400
    for correlation_id in (1, 1 << 30):
        pieces = kept.make_frame(correlation_id, records[:size_bytes])
        assert all(map(len, pieces))  # an empty one keeps the transport of Python 3.12 busy for ever
        framed = b"".join(pieces)
        written = encode_request(SPEC, version, correlation_id, "me", kept.make_message(records[:size_bytes]))
        assert framed == b"".join(bytes(piece) for piece in written)


def test_records_are_not_copied() -> None:
    records = memoryview(bytearray(1000))
    assert template(11).make_frame(1, records)[1] is records


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_to_a_batch_that_was_written_tells_offset_time_and_throttle(version: int) -> None:
    kept = template(version)
    assert kept.read_answer(9, memoryview(answer(version))) == BatchAnswer(1 << 40, -1, 3)
    stamped = memoryview(answer(version, throttle_ms=0, log_append_time_ms=1_700_000_000_000))
    assert kept.read_answer(9, stamped) == BatchAnswer(1 << 40, 1_700_000_000_000, 0)


@pytest.mark.parametrize(
    "changed",
    [
        {"error_code": 6},
        {"index": 8},
        {"topic": "träges"},
        {"topic": "t"},
        {"correlation_id": 8},
        {"error_message": "but"},
        {"current_leader": LeaderIdAndEpoch(leader_id=1, leader_epoch=2)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_any_other_answer_is_left_to_the_schema(changed: dict[str, Any]) -> None:
    assert template(11).read_answer(9, memoryview(answer(11, **changed))) is None


@pytest.mark.parametrize("left", [0, 3, 30])
def test_an_answer_that_is_cut_off_is_left_to_the_schema(left: int) -> None:
    assert template(11).read_answer(9, memoryview(answer(11))[:left]) is None
    assert template(11).read_answer(9, memoryview(answer(11) + b"\0")) is None
