import pytest
from stepdown.protocol.errors import InvalidRecord
from stepdown.protocol.records import kernel
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.conversion.record_stream import RecordStream, run_loop
from stepdown.protocol.records.record import Record, encode_record


def records(count, size):
    return [Record(offset=n, timestamp=n, value=bytes(size)) for n in range(count)]


def body(source):
    return b"".join(encode_record(record, base_offset=0, base_timestamp=0) for record in source)


def cut(data, size):
    """The data in pieces that share one buffer, as some codecs hand them out."""
    buffer = bytearray(size)
    for at in range(0, len(data), size):
        piece = data[at : at + size]
        buffer[: len(piece)] = piece
        yield memoryview(buffer)[: len(piece)]


@pytest.mark.parametrize("size", [1, 5, 64, 1000, 100_000])
@pytest.mark.parametrize("room", [40, 1000, 100_000])
def test_it_does_not_matter_how_a_stream_is_cut_or_how_much_room_there_is(size, room):
    source = records(50, 30)
    written = bytearray()
    down = kernel.RecordsDown(1, 50, 0, 0, None, False, 0)
    run_loop(RecordStream(cut(body(source), size)), down, written.extend, out=bytearray(room))
    assert written == build_batch(source, magic=1)
    assert down.check_and_summarize() == (50, 49, 49)


def test_a_record_larger_than_piece_and_room_gets_both():
    source = records(2, 300_000)
    written = bytearray()
    run_loop(RecordStream(cut(body(source), 1000)), kernel.RecordsDown(0, 2, 0, 0, None, False, 0), written.extend)
    assert written == build_batch(source, magic=0)


def test_a_stream_that_ends_inside_a_record_leaves_records_missing():
    down = kernel.RecordsDown(1, 2, 0, 0, None, False, 0)
    run_loop(RecordStream(cut(body(records(2, 30))[:-1], 16)), down, bytearray().extend)
    with pytest.raises(InvalidRecord, match="as many"):
        down.check_and_summarize()


def test_bytes_behind_the_last_record_are_invalid():
    down = kernel.RecordsDown(1, 2, 0, 0, None, False, 0)
    with pytest.raises(InvalidRecord, match="as many"):
        run_loop(RecordStream(cut(body(records(3, 30)), 16)), down, bytearray().extend)


def test_pieces_are_taken_as_views_and_end_with_an_error():
    pieces = RecordStream(cut(b"abcdefgh", 3))
    assert b"".join(bytes(piece) for piece in pieces.take(5)) == b"abcde"
    with pytest.raises(InvalidRecord, match="1 bytes before"):
        list(pieces.take(4))
