"""The way of kept chunks into a socket, each step beside what it is to count."""

import mmap
from collections.abc import Iterator

import pytest
from stepdown.storage.downconversion.kept_chunks import WHOLE, KeptChunk, KeptRun
from support.line import Line

ME, OTHER = 7, 8
SIZES = (50_000, 10, 70_000)


@pytest.fixture
def memory() -> Iterator[mmap.mmap]:
    with mmap.mmap(-1, 200_000) as memory:
        memory[:] = bytes(range(250)) * 800
        yield memory


def kept(memory: mmap.mmap, sizes: tuple[int, ...] = SIZES) -> dict[tuple[int, int], KeptChunk]:
    """Chunks that begin at 0, 1000, 2000 … of their file and lie one behind the other in `memory`, with gaps."""
    chunks, at = {}, 0
    for number, size in enumerate(sizes):
        chunk = KeptChunk(1000 * (number + 1), size, number + 1, 10 * (number + 1), False, memory, at)
        chunk.reader = OTHER
        chunks[1000 * number, WHOLE] = chunk
        at += size + 100
    return chunks


def data(memory: mmap.mmap, sizes: tuple[int, ...] = SIZES) -> bytes:
    parts, at = [], 0
    for size in sizes:
        parts.append(memory[at : at + size])
        at += size + 100
    return b"".join(parts)


def run_of(line: Line, chunks: dict[tuple[int, int], KeptChunk], **where: int) -> KeptRun:
    at = {"position": 0, "skip": 0, "first_offset": WHOLE, "end": 1 << 20, "most": 1 << 20, "turn": 1 << 20, **where}
    run = KeptRun(at["position"], at["skip"])
    run.go(chunks, at["first_offset"], at["end"], ME, line.fileno(), at["most"], at["turn"])
    return run


def told(run: KeptRun) -> tuple[int, int, int, int, int, bool]:
    return run.end, run.skip, run.sent_bytes, run.written_bytes, run.found_bytes, run.is_full


def test_all_that_lie_one_behind_the_other_go(memory: mmap.mmap) -> None:
    with Line(1 << 20) as line:
        run = run_of(line, kept(memory))
        line.drain()
        assert told(run) == (3000, 0, 120_010, 120_010, 120_010, False)
        assert (run.records, run.temporary_bytes, run.needs_worker) == (6, 60, False)
        assert line.received == data(memory)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"position": 3000}, (3000, 0, 0, 0, 0, False)),
        ({"first_offset": 5}, (0, 0, 0, 0, 0, False)),
        ({"end": 2999}, (2000, 0, 50_010, 50_010, 50_010, False)),
        ({"turn": 1}, (1000, 0, 50_000, 50_000, 50_000, False)),
        ({"turn": 50_000}, (1000, 0, 50_000, 50_000, 50_000, False)),
        ({"turn": 50_001}, (2000, 0, 50_010, 50_010, 50_010, False)),
        ({"most": 49_999}, (1000, 0, 49_999, 50_000, 50_000, False)),
        ({"most": 50_005}, (2000, 0, 50_005, 50_010, 50_010, False)),
        ({"skip": 49_990, "turn": 11}, (2000, 0, 20, 50_010, 50_010, False)),
        ({"skip": 50_004, "turn": 1}, (2000, 0, 6, 50_010, 50_010, False)),
        ({"skip": 50_000, "turn": 1}, (2000, 0, 10, 50_010, 50_010, False)),
        ({"position": 2000, "skip": 100}, (3000, 0, 69_900, 70_000, 70_000, False)),
    ],
    ids=str,
)
def test_how_far_a_run_goes(
    memory: mmap.mmap, where: dict[str, int], expected: tuple[int, int, int, int, int, bool]
) -> None:
    skipped = where.get("position", 0) // 1000
    before = sum(SIZES[:skipped]) + where.get("skip", 0)
    with Line(1 << 20) as line:
        run = run_of(line, kept(memory), **where)
        line.drain()
        assert told(run) == expected
        assert line.received == data(memory)[before : before + run.sent_bytes]


def test_what_the_socket_does_not_take_is_for_later(memory: mmap.mmap) -> None:
    chunks = kept(memory)
    with Line(10_000) as line:
        position = skip = 0
        while position < 3000:
            run = run_of(line, chunks, position=position, skip=skip)
            position, skip = run.end, run.skip
            assert run.is_full or position == 3000
            line.drain()
        assert line.received == data(memory)


def test_who_had_a_chunk_last_does_not_find_it(memory: mmap.mmap) -> None:
    chunks = kept(memory)
    with Line(1 << 20) as line:
        chunks[0, WHOLE].reader = ME
        assert run_of(line, chunks).found_bytes == 70_010
        assert run_of(line, chunks).found_bytes == 0
        assert {chunk.reader for chunk in chunks.values()} == {ME}


def test_a_batch_for_a_codec_ends_the_run(memory: mmap.mmap) -> None:
    chunks = {**kept(memory), (0, 5): KeptChunk(1000, 10, 1, 0, True, memory, 0)}
    with Line(1 << 20) as line:
        run = run_of(line, chunks, first_offset=5)
        assert (run.end, run.needs_worker) == (1000, True)


def test_a_peer_that_has_gone_raises(memory: mmap.mmap) -> None:
    with Line(1 << 20) as line:
        line.far.close()
        with pytest.raises(BrokenPipeError):
            run_of(line, kept(memory))


LIES = [
    (1, 200_000),
    (200_001, 0),
    (1, -1),
    (-1, 0),
    (1 << 40, 1 << 40),
    (1 << 62, 1 << 62),
    ((1 << 63) - 1, 1),
]


@pytest.mark.parametrize(("size", "at"), LIES)
def test_a_chunk_lies_within_its_memory(memory: mmap.mmap, size: int, at: int) -> None:
    with pytest.raises(ValueError, match="bytes at"):
        KeptChunk(1, size, 0, 0, False, memory, at)


def test_memory_that_is_gone_is_not_read(memory: mmap.mmap) -> None:
    chunks = kept(memory)
    memory.close()
    with Line(1 << 20) as line, pytest.raises(ValueError, match="closed"):
        run_of(line, chunks)


@pytest.mark.parametrize(("position", "skip"), [(-1, 0), (0, -50)])
def test_a_run_begins_within_a_file(position: int, skip: int) -> None:
    with pytest.raises(ValueError, match="bytes sent of what is at"):
        KeptRun(position, skip)
