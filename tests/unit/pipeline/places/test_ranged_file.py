"""What an object is read by: no byte twice, none that nobody asked for."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from stepdown.pipeline.places.ranged_file import FIRST_PIECE_BYTES, LARGEST_PIECE_BYTES, RangedFile
from stepdown.protocol.errors import DiskFault

DATA = bytes(range(256)) * (80 << 10)  # 20 MiB


class Fetches:
    """Serves DATA and remembers what was asked for."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []

    def __call__(self, start: int, end: int) -> memoryview:
        self.ranges.append((start, end))
        return memoryview(DATA)[start:end]

    @property
    def fetched_bytes(self) -> int:
        return sum(min(end, len(DATA)) - start for start, end in self.ranges)

    def file(self, read_to: int = len(DATA)) -> RangedFile:
        return RangedFile("s3://bucket/object", self, ThreadPoolExecutor(1), read_to)


@pytest.fixture
def fetches() -> Fetches:
    return Fetches()


def test_what_is_read_in_order_is_fetched_once_in_growing_pieces(fetches: Fetches) -> None:
    file = fetches.file()
    window = FIRST_PIECE_BYTES // 8
    found = b"".join(file.read(window, at) for at in range(0, len(DATA), window))
    assert found == DATA
    assert fetches.fetched_bytes == len(DATA)
    assert len(fetches.ranges) <= 6
    assert max(end - start for start, end in fetches.ranges) == LARGEST_PIECE_BYTES


def test_of_much_that_is_asked_for_at_once_the_rest_follows_in_the_largest_pieces(fetches: Fetches) -> None:
    file = fetches.file()
    for at in range(0, len(DATA), FIRST_PIECE_BYTES):
        file.read(FIRST_PIECE_BYTES, at)
    starts = [
        0,
        FIRST_PIECE_BYTES,
        FIRST_PIECE_BYTES + LARGEST_PIECE_BYTES,
        FIRST_PIECE_BYTES + 2 * LARGEST_PIECE_BYTES,
    ]
    assert sorted(fetches.ranges) == list(pairwise([*starts, len(DATA)]))


def test_a_look_at_a_few_bytes_fetches_those(fetches: Fetches) -> None:
    file = fetches.file()
    assert file.read(18, 5_000_000) == DATA[5_000_000:5_000_018]
    assert fetches.ranges == [(5_000_000, 5_000_018)]


def test_nothing_behind_the_end_that_was_said_is_fetched(fetches: Fetches) -> None:
    file = fetches.file(read_to=3 << 20)
    for at in range(2 << 20, 3 << 20, 1 << 18):
        file.read(1 << 18, at)
    assert max(end for _, end in fetches.ranges) == 3 << 20


def test_small_gaps_are_read_over_and_large_ones_left_out(fetches: Fetches) -> None:
    file = fetches.file()
    for at in range(0, 1 << 20, 16 << 10):  # headers of batches of 16 kB
        assert file.read(61, at) == DATA[at : at + 61]
    assert len(fetches.ranges) <= 4
    before = fetches.fetched_bytes
    file.read(61, 18 << 20)
    assert fetches.fetched_bytes - before <= 2 * LARGEST_PIECE_BYTES


def test_the_end_of_an_object_ends_a_read(fetches: Fetches) -> None:
    assert fetches.file().read(100, len(DATA) - 7) == DATA[-7:]


def test_an_object_that_is_shorter_than_was_said_ends_where_it_ends(fetches: Fetches) -> None:
    file = fetches.file(read_to=3 * len(DATA))
    assert b"".join(file.read(FIRST_PIECE_BYTES, at) for at in range(0, len(DATA), FIRST_PIECE_BYTES)) == DATA
    assert file.read(FIRST_PIECE_BYTES, len(DATA)) == b""


def test_after_a_fetch_that_failed_reads_are_right_again(fetches: Fetches) -> None:
    failures = [0, 12 << 20]

    def fetch(start: int, end: int) -> memoryview:
        failing = next((at for at in failures if start <= at < end), None)
        if failing is not None:
            failures.remove(failing)
            raise DiskFault("503 Slow Down")
        return fetches(start, end)

    file = RangedFile("s3://bucket/object", fetch, ThreadPoolExecutor(1), len(DATA))
    failed = 0
    for at in range(0, len(DATA), FIRST_PIECE_BYTES):
        try:
            found = file.read(FIRST_PIECE_BYTES, at)
        except DiskFault:
            failed += 1
            found = file.read(FIRST_PIECE_BYTES, at)
        assert found == DATA[at : at + FIRST_PIECE_BYTES]
    assert failed == 2
