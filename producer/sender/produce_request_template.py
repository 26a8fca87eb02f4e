"""Frames of the usual Produce request, with one batch, and of its success response.

From one request to the next of a partition only numbers and the records differ. So what the schema writes for the first
is kept, in two pieces, and the rest is put between:

    size, key, version, correlation id | kept: client id to index | size of the records | records | kept: to the end

An answer is compared with what the schema writes where all went well. Any other is left to the schema.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple, cast

from ...protocol.api import API, ApiKey
from ...protocol.frame import SIZE_BYTES, encode_request, encode_response
from ...protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from ...protocol.primitives import Buffer, Piece, write_uvarint

SINCE_VERSION: Final = 5
"""From this version on answers have all the numbers of `BatchAnswer`."""
_PRODUCE: Final = ApiKey.PRODUCE
_SPEC: Final = API[_PRODUCE]
_START: Final = Struct(">ihhi")
_SIZE: Final = Struct(">i")
_OFFSETS: Final = Struct(">qqq")
_ONE: Final = b"\x01"


class BatchAnswer(NamedTuple):
    """Where a broker has written the one batch of a request, and its throttle time."""

    base_offset: int
    append_time: int
    throttle_ms: int


class ProduceRequestTemplate:
    """All requests of a producer in one version that have one batch for the partition."""

    __slots__ = ("_after", "_answer", "_before", "_between", "_flexible", "_kept_bytes", "_request", "_version")

    def __init__(self, version: int, client_id: str, request: ProduceRequest, topic: str, partition: int) -> None:
        """`request` is without topics."""
        self._version, self._flexible = version, _SPEC.is_flexible(version)
        self._request = request, topic, partition
        head, _, *tail = _join_pieces(encode_request(_SPEC, version, 0, client_id, self.make_message(_ONE)))
        self._before, self._after = head[_START.size : -1 if self._flexible else -_SIZE.size], tail
        self._kept_bytes = _START.size - SIZE_BYTES + len(self._before) + sum(map(len, tail))
        self._answer, self._between = _answer_layout(version, topic, partition)

    def make_message(self, records: Buffer) -> ProduceRequest:
        """The request that `make_frame` encodes, as a message."""
        like, topic, partition = self._request
        part = PartitionProduceData(index=partition, records=records)
        return ProduceRequest(
            transactional_id=like.transactional_id,
            acks=like.acks,
            timeout_ms=like.timeout_ms,
            topic_data=[TopicProduceData(name=topic, partition_data=[part])],
        )

    def make_frame(self, correlation_id: int, records: Buffer) -> list[Buffer]:
        """The pieces of the request with these records, which are not copied."""
        size = len(records)
        length = write_uvarint(size + 1) if self._flexible else _SIZE.pack(size)
        start = _START.pack(self._kept_bytes + len(length) + size, _PRODUCE, self._version, correlation_id)
        # An empty piece keeps the transport of Python 3.12 and later busy for ever.
        return [start + self._before + length, records, *self._after]

    def read_answer(self, correlation_id: int, frame: memoryview) -> BatchAnswer | None:
        """The numbers in the answer; None: decode it with the schema."""
        if len(frame) != self._answer.size:
            return None
        answered, head, base_offset, append_time, _, middle, throttle_ms, end = self._answer.unpack_from(frame)
        if answered != correlation_id or (head, middle, end) != self._between:
            return None
        return BatchAnswer(base_offset, append_time, throttle_ms)


class RequestFromTemplate(NamedTuple):
    """A Produce request of one batch: its template, and the records in it."""

    template: ProduceRequestTemplate
    records: Buffer


def _join_pieces(pieces: Iterable[Piece]) -> list[bytes]:
    return [bytes(cast(Buffer, piece)) for piece in pieces]  # of bytes alone, since there is no file here


def _answer_layout(version: int, topic: str, partition: int) -> tuple[Struct, tuple[bytes, bytes, bytes]]:
    """The layout of the answer that all went well, and what stands in it between the numbers."""
    offsets, throttle_ms = (0x5EA, 0x5EB, 0x5EC), 0x7EAD
    part = PartitionProduceResponse(
        index=partition, base_offset=offsets[0], log_append_time_ms=offsets[1], log_start_offset=offsets[2]
    )
    answer = TopicProduceResponse(name=topic, partition_responses=[part])
    response = ProduceResponse(responses=[answer], throttle_time_ms=throttle_ms)
    frame = b"".join(_join_pieces(encode_response(_SPEC, version, 0, response)))
    head, rest = frame[SIZE_BYTES + _SIZE.size :].split(_OFFSETS.pack(*offsets))
    middle, end = rest.split(_SIZE.pack(throttle_ms))
    return Struct(f">i{len(head)}sqqq{len(middle)}si{len(end)}s"), (head, middle, end)
