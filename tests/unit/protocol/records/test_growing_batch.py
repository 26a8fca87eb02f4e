"""Records on their way into a batch, compiled and as the readable twin."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from stepdown.protocol.records import growing_batch
from stepdown.protocol.records.record import Record, encode_record
from support.twin import load_twin

NO_HEADERS = b"\0"
ONE_HEADER = b"\x02\x02a\x01"
NUMBERS = ("count", "size_bytes", "estimated_bytes", "largest_bytes", "base_timestamp", "max_timestamp", "full")


@pytest.fixture(params=["compiled", "twin"])
def make(request: pytest.FixtureRequest) -> Callable[..., Any]:
    module = growing_batch if request.param == "compiled" else load_twin("growing_batch")
    made: Callable[..., Any] = module.GrowingBatch
    return made


def test_both_encode_alike_what_the_plain_encoder_does() -> None:
    twin, draws = load_twin("growing_batch"), random.Random(3)
    for limit, factor in [(16384, 1.0), (100, 1.0), (500, 0.3), (90_000, 0.1)] * 10:
        both = growing_batch.GrowingBatch(limit, factor), twin.GrowingBatch(limit, factor)
        taken: list[Record] = []
        for _ in range(60):
            timestamp = draws.choice([0, 2**63 - 1, 1_700_000_000_000 + draws.randrange(-(10**7), 10**7)])
            key = draws.choice([None, b"", draws.randbytes(draws.randrange(200))])
            value = draws.choice([None, b"", draws.randbytes(draws.randrange(draws.choice([100, 70_000])))])
            headers = draws.choice([(), (("a", None),)])
            grown = [each.append(timestamp, key, value, ONE_HEADER if headers else NO_HEADERS) for each in both]
            assert grown[0] == grown[1]
            if grown[0]:
                taken.append(Record(offset=len(taken), timestamp=timestamp, key=key, value=value, headers=headers))
        base = taken[0].timestamp
        wanted = b"".join(encode_record(record, base_offset=0, base_timestamp=base) for record in taken)
        assert bytes(both[0].close_without_header()) == bytes(both[1].close_without_header()) == wanted
        assert [getattr(both[0], name) for name in NUMBERS] == [getattr(both[1], name) for name in NUMBERS]


def test_the_first_record_always_fits_and_counts_the_header(make: Callable[..., Any]) -> None:
    buffer = make(100, 1.0)
    grown = buffer.append(7, None, b"x" * 500, NO_HEADERS)
    assert grown == buffer.estimated_bytes == 61 + buffer.size_bytes
    assert buffer.full and buffer.append(7, None, b"", NO_HEADERS) == 0


def test_a_record_without_room_leaves_nothing_behind(make: Callable[..., Any]) -> None:
    buffer = make(200, 1.0)
    buffer.append(7, None, b"x" * 50, NO_HEADERS)
    before = bytes(buffer.close_without_header()[:])
    buffer = make(200, 1.0)
    assert buffer.append(7, None, b"x" * 50, NO_HEADERS) and not buffer.full
    assert buffer.append(9, None, b"y" * 100, NO_HEADERS) == 0
    assert (buffer.count, buffer.max_timestamp, bytes(buffer.close_without_header())) == (1, 7, before)


def test_the_new_record_counts_uncompressed_and_those_inside_as_estimated(make: Callable[..., Any]) -> None:
    buffer = make(1000, 0.1)
    while buffer.append(0, None, b"x" * 93, NO_HEADERS):
        pass
    assert not buffer.full
    assert buffer.estimated_bytes == 61 + int(buffer.size_bytes * 0.1)
    assert buffer.estimated_bytes + 103 > 1000 > 100 + buffer.size_bytes / 10


def test_a_buffer_may_grow_by_nothing_but_tells_at_least_one(make: Callable[..., Any]) -> None:
    buffer = make(1000, 0.001)
    buffer.append(0, None, None, NO_HEADERS)
    assert buffer.append(0, None, None, NO_HEADERS) == 1


def test_the_largest_record_is_known_by_its_bound(make: Callable[..., Any]) -> None:
    buffer = make(1000, 1.0)
    buffer.append(0, b"k", b"v" * 9, NO_HEADERS)
    buffer.append(0, None, b"v" * 9, ONE_HEADER)
    assert buffer.largest_bytes == 61 + 21 + 1 + 1 + 9 + len(ONE_HEADER)


def test_a_released_buffer_takes_nothing_and_keeps_its_numbers(make: Callable[..., Any]) -> None:
    buffer = make(1000, 1.0)
    buffer.append(0, None, b"v", NO_HEADERS)
    buffer.release()
    assert (buffer.append(0, None, b"v", NO_HEADERS), buffer.count) == (0, 1)


def test_a_record_that_no_memory_was_found_for_leaves_no_room_that_is_not_there(make: Callable[..., Any]) -> None:
    buffer, other = make(90_000, 1.0), make(90_000, 1.0)
    held = buffer.close_with_header_room()  # its memory cannot be moved now, so growing fails
    buffer.full = False
    with pytest.raises(BufferError):
        buffer.append(7, None, b"x" * 20_000, NO_HEADERS)
    held.release()
    for each in (buffer, other):
        each.append(7, None, b"y" * 20_000, NO_HEADERS)
    assert bytes(buffer.close_without_header()) == bytes(other.close_without_header())
