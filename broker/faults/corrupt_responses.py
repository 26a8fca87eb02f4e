"""Corrupt responses: wrong checksums, truncated batches, wrong frame lengths, connections closed in mid-response."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from ...network.converted_piece import ConvertedPiece
from ...protocol.messages.fetch import FetchResponse, PartitionData
from ...protocol.primitives import BUFFER_TYPES
from ...protocol.records.layout import CRC_OFFSET, LEGACY_CRC_OFFSET, MAGIC_OFFSET, MAGIC_V2
from ...protocol.schema import Piece
from ...storage.files.file_slice import FileSlice
from .error_responses import Meant
from .request_topics_and_groups import TopicName, topic_of

SIZE = slice(0, 4)
CORRELATION_ID = slice(4, 8)
WRONG_BYTES = 1000
GARBAGE = b"HTTP/1.1 200 OK\r\nserver: no Kafka\r\n\r\n"


class PieceThatCutsResponse:
    """A piece of a response at which the connection ends."""

    is_in_file = True
    size_bytes = 1
    position = 0

    def fileno(self) -> int:
        """Raises: ConnectionAbortedError, in place of a file to send."""
        raise ConnectionAbortedError("a fault ends the connection in the middle of an answer")

    def report_send_failure(self, error: OSError, position: int) -> None:
        pass


def read_pieces(pieces: Sequence[Piece]) -> bytes:
    """Reads what would go over the wire."""
    return b"".join(map(_read_piece, pieces))


def _read_piece(piece: Piece) -> bytes:
    if type(piece) in BUFFER_TYPES:
        return bytes(cast(bytes, piece))
    if isinstance(piece, FileSlice):
        return piece.read(0, piece.size_bytes)
    conversion = cast(ConvertedPiece, piece)
    conversion.drop()
    stream, data = conversion.stream, bytearray()
    while len(data) < conversion.size_bytes:
        buffer = bytearray(stream.buffer_bytes)
        data += buffer[: stream.fill(buffer)]
    conversion.close()
    return bytes(data)


def close_connection_after(pieces: Sequence[Piece], sent_bytes: int) -> list[Piece]:
    """The first bytes of an answer, then the end of the connection."""
    return [read_pieces(pieces)[:sent_bytes], PieceThatCutsResponse()]


def corrupt_frame(pieces: Sequence[Piece], what: str) -> list[Piece]:
    """An answer with a wrong correlation id or length, or bytes that are no answer."""
    if what == "garbage":
        return [GARBAGE]
    data = bytearray(read_pieces(pieces))
    field, change = (CORRELATION_ID, WRONG_BYTES) if what == "correlation_id" else (SIZE, -1)
    data[field] = (int.from_bytes(data[field], "big") + change).to_bytes(4, "big")
    return [bytes(data)]


def has_records(response: FetchResponse, is_meant: Meant, topic_name: TopicName) -> bool:
    """Whether a partition that is meant has records."""
    return any(
        each.records is not None
        and len(cast(Any, each.records))
        and is_meant(topic_of(topic, topic_name), each.partition_index)
        for topic in response.responses
        for each in topic.partitions
    )


def with_corrupt_records(response: FetchResponse, what: str, is_meant: Meant, topic_name: TopicName) -> FetchResponse:
    """The first batch of each partition has a wrong checksum, or the last one lacks its end."""

    def spoil(data: PartitionData) -> PartitionData:
        if data.records is None or not len(cast(Any, data.records)):
            return data
        records = bytearray(_read_piece(data.records))
        if what == "truncated":
            return replace(data, records=bytes(records[:-1]))
        records[CRC_OFFSET if records[MAGIC_OFFSET] == MAGIC_V2 else LEGACY_CRC_OFFSET] ^= 0xFF
        return replace(data, records=bytes(records))

    return _with_partitions(response, spoil, is_meant, topic_name)


def with_higher_watermarks(
    response: FetchResponse, higher: int, stable_higher: int, is_meant: Meant, topic_name: TopicName
) -> FetchResponse:
    """Adds `higher` to high watermarks and `stable_higher` to last stable offsets."""

    def raise_both(data: PartitionData) -> PartitionData:
        return replace(
            data,
            high_watermark=data.high_watermark + higher,
            last_stable_offset=data.last_stable_offset + stable_higher,
        )

    return _with_partitions(response, raise_both, is_meant, topic_name)


def _with_partitions(response: FetchResponse, change: Any, is_meant: Meant, topic_name: TopicName) -> FetchResponse:
    topics = tuple(
        replace(
            topic,
            partitions=tuple(
                change(each) if is_meant(topic_of(topic, topic_name), each.partition_index) else each
                for each in topic.partitions
            ),
        )
        for topic in response.responses
    )
    return replace(response, responses=topics)
