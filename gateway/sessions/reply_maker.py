"""Makes the replies to a client's requests and counts them."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from ...network.answerer import Reply
from ...protocol.api import API, ApiKey
from ...protocol.errors import MalformedFrame
from ...protocol.frame import encode_response
from ...protocol.primitives import size_of
from ...protocol.schema import Piece
from ..gateway_metrics import GatewayMetrics
from ..request_frame import SIZE, RequestHead

MOST_PIECES = 64
SMALL_PIECE_BYTES = 1024


class ReplyMaker:
    """Counts in `metrics`."""

    def __init__(self, metrics: GatewayMetrics) -> None:
        self._metrics = metrics

    def make_reply(self, pieces: list[Piece] | None, head: RequestHead, began_s: float, sent_as: int) -> Reply:
        """The reply to a request of a version that is offered; `pieces` None: no answer is due."""
        return self._count(pieces, head.key, head.version, sent_as, began_s)

    def make_reply_to_unknown_version(self, pieces: list[Piece], head: RequestHead, began_s: float) -> Reply:
        """The reply to a request of a version that is not offered, and so gets no metric label."""
        return self._count(pieces, head.key, -1, -1, began_s)

    def _count(self, pieces: list[Piece] | None, key: int, version: int, sent_as: int, began_s: float) -> Reply:
        meter = self._metrics.meter_of(key, version, sent_as)
        meter.observe_handling(0, perf_counter() - began_s, 0.0)
        return Reply(pieces, meter, began_s, perf_counter())


def encode_answer(head: RequestHead, response: Any) -> list[Piece]:
    """The frame of the answer to that request.

    Raises: MalformedFrame if the response cannot be encoded in the version that the client asked for.
    """
    try:
        pieces = encode_response(API[ApiKey(head.key)], head.version, head.correlation_id, response)
        return pieces if len(pieces) <= MOST_PIECES else _join_small_pieces(pieces)
    except ValueError as fault:
        raise MalformedFrame(f"the response cannot be encoded in the version of the request: {fault}") from None


def _join_small_pieces(pieces: Sequence[Any]) -> list[Piece]:
    """Joins small pieces with their neighbours, since each piece is sent by itself."""
    joined: list[Piece] = [bytearray()]
    for piece in pieces:
        if len(piece) <= SMALL_PIECE_BYTES:
            joined[-1] += piece
        else:
            joined += (piece, bytearray())
    return [piece for piece in joined if size_of(piece)]


def encode_frame_head(head: RequestHead, size: int) -> bytes:
    """The size and correlation id in front of a body of that size."""
    return SIZE.pack(size + 4) + SIZE.pack(head.correlation_id)


def frame_answer(head: RequestHead, body: Sequence[bytes | memoryview]) -> list[Piece]:
    """The frame of an answer in one piece, so that it can be sent together with others."""
    return [b"".join((encode_frame_head(head, sum(map(len, body))), *body))]


def count_answer_bytes(pieces: list[Piece] | None) -> int:
    """The size of an answer in bytes."""
    return sum(map(size_of, pieces or ()))
