"""An answer of the cluster is the same in whatever pieces it comes; one that came whole and alone is left whole."""

import struct

import pytest
from stepdown.config import HostPort
from stepdown.gateway.upstream_connection import UpstreamConnection

BODIES = (b"", b"one", b"second")
ANSWERS = tuple(struct.pack(">ii", 4 + len(body), number) + body for number, body in enumerate(BODIES))


def connection_that_got(*pieces: bytes) -> UpstreamConnection:
    connection = UpstreamConnection(HostPort("kafka", 9092), lambda: None)
    for piece in pieces:
        connection.data_received(piece)
    return connection


async def read_answer(connection: UpstreamConnection) -> bytes:
    frame = await connection.read_frame_if_whole()
    if frame is not None:
        return frame
    size, correlation_id = await connection.read_head()
    return struct.pack(">ii", size + 4, correlation_id) + await connection.read(size)


@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_answer_that_came_alone_is_read_as_it_came(answer: bytes) -> None:
    connection = connection_that_got(answer)
    assert await connection.read_frame_if_whole() == answer


@pytest.mark.parametrize("cut", range(1, len(b"".join(ANSWERS))))
async def test_answers_are_the_same_in_whatever_pieces_they_come(cut: int) -> None:
    data = b"".join(ANSWERS)
    connection = connection_that_got(data[:cut], data[cut:])
    assert [await read_answer(connection) for _ in ANSWERS] == list(ANSWERS)


async def test_what_comes_of_an_answer_before_the_broker_hangs_up_is_no_answer() -> None:
    connection = connection_that_got(ANSWERS[1][:9])
    connection.connection_lost(None)
    with pytest.raises(ConnectionResetError):
        await read_answer(connection)
