"""Chunks that several readers get: who finds them, when they are given up, and that bytes are what each gets alone."""

import os
import weakref
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from stepdown.storage.downconversion.conversion_rules import CHUNK_BYTES, ConversionRules
from stepdown.storage.downconversion.converted_chunks import ConvertedChunks
from stepdown.storage.downconversion.converted_slice import ConvertedSlice
from stepdown.storage.downconversion.shared_chunks import SWEEP_MS, SharedChunks
from stepdown.storage.downconversion.shelf import SHELF_BYTES
from stepdown.storage.files.file_slice import FileSlice
from stepdown.storage.files.files import Files
from support.clock import ManualClock
from support.line import Line

LIMIT_BYTES = 4 * SHELF_BYTES


class Memory:
    """A budget of which so much is free."""

    def __init__(self, free_bytes: int = 1 << 30) -> None:
        self.free_bytes = free_bytes
        self.drops: list[Callable[[], None]] = []

    def try_spare(self, size_bytes: int, drop: Callable[[], None]) -> "Loan | None":
        if size_bytes > self.free_bytes:
            return None
        self.free_bytes -= size_bytes
        self.drops.append(drop)
        return Loan(self, size_bytes)


class Loan:
    def __init__(self, memory: Memory, size_bytes: int) -> None:
        self.memory, self.size_bytes = memory, size_bytes

    def release(self) -> None:
        self.memory.free_bytes += self.size_bytes
        self.size_bytes = 0


class Sharing:
    """What is shared, and what it tells."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES, free_bytes: int = 1 << 30) -> None:
        self.clock, self.memory = ManualClock(), Memory(free_bytes)
        self.readers: list[Reader] = []
        self.found_bytes = self.kept = self.dropped = 0
        self.chunks = SharedChunks(self.memory, self.clock, limit_bytes, self.on_found, self.on_kept, self.on_dropped)

    def reader(self, room_bytes: int = 1 << 20) -> "Reader":
        self.readers.append(Reader(room_bytes))
        return self.readers[-1]

    def on_found(self, size_bytes: int) -> None:
        self.found_bytes += size_bytes

    def on_kept(self) -> None:
        self.kept += 1

    def on_dropped(self) -> None:
        self.dropped += 1

    def slice(self, source: FileSlice, *, target: int = 1, first_offset: int = 0) -> ConvertedSlice:
        rules = ConversionRules(target=target, first_offset=first_offset)
        return promised(ConvertedSlice(source, rules, self.chunks))


class Reader:
    """A connection that is sent one slice after the other."""

    def __init__(self, room_bytes: int = 1 << 20) -> None:
        self.line = Line(room_bytes)
        self.left_bytes = 0
        self.chunks: ConvertedChunks | None = None

    def begin(self, lazily: ConvertedSlice) -> None:
        self.chunks, self.left_bytes = lazily.chunks(), lazily.size_bytes

    def turn(self, turn_bytes: int = 1 << 20) -> None:
        """What `Sender` does in one: the rest of a chunk that it would hold is read at once."""
        chunks, before = self.chunks, self.line.taken_bytes
        assert chunks is not None
        out = bytearray(chunks.buffer_bytes)
        shared, is_for_later = chunks.send_shared(self.line, self.left_bytes, turn_bytes)
        self.left_bytes -= shared
        before += shared
        if is_for_later or shared >= turn_bytes or not self.left_bytes:
            return
        done, unsent, taken = chunks.run(out, self.line, self.left_bytes, turn_bytes - shared)
        assert self.line.taken_bytes == before + done + taken
        if len(unsent):
            self.line.send_all(unsent[taken:])
            chunks.advance()
        elif not done and (made := chunks.make(out)) is not None:
            self.line.send_all(made[: self.left_bytes])
            chunks.advance()
        self.left_bytes -= self.line.taken_bytes - before

    def read(self, lazily: ConvertedSlice) -> bytes:
        """All of a slice."""
        self.begin(lazily)
        while self.left_bytes:
            self.turn()
            self.line.drain()
        return self.received()

    def received(self) -> bytes:
        self.line.drain()
        received = bytes(self.line.received)
        self.line.received.clear()
        return received


def batches(count: int, *, first: int = 0, records: int = 16, size: int = 1000, seed: int = 1) -> list[bytes]:
    random = Random(seed)
    return [
        build_batch(
            [Record(offset=first + at * records + n, timestamp=5, key=b"k", value=random.randbytes(size))
             for n in range(records)],
        )
        for at in range(count)
    ]  # fmt: skip


def stored(folder: Path, data: bytes, *, name: str = "segment") -> FileSlice:
    path = folder / name
    path.write_bytes(data)
    return FileSlice(Files().handle(str(path)).opened(), 0, len(data))


def alone(source: FileSlice, *, target: int = 1, first_offset: int = 0) -> bytes:
    lazily = ConvertedSlice(source, ConversionRules(target=target, first_offset=first_offset))
    return Reader().read(promised(lazily))


def promised(lazily: ConvertedSlice) -> ConvertedSlice:
    while not lazily.promise():
        assert lazily.needs_worker
    return lazily


def in_turns(sharing: Sharing, readers: list[Reader], source: FileSlice, after_turn: Callable[[], None]) -> list[bytes]:
    """What each of `readers` has when all have read the slice, one turn after the other."""
    for reader in readers:
        reader.begin(sharing.slice(source))
    received = [b""] * len(readers)
    while any(reader.left_bytes for reader in readers):
        for at, reader in enumerate(readers):
            if reader.left_bytes:
                reader.turn()
            received[at] += reader.received()
            after_turn()
    return received


@pytest.fixture
def source(tmp_path: Path) -> FileSlice:
    return stored(tmp_path, b"".join(batches(60)))


def test_the_third_reader_finds_what_the_second_made(source: FileSlice) -> None:
    sharing, expected = Sharing(), alone(source)
    assert sharing.reader().read(sharing.slice(source)) == expected
    assert (sharing.kept, sharing.found_bytes) == (0, 0)
    second, third = sharing.slice(source), sharing.slice(source)
    readers = [sharing.reader(), sharing.reader()]
    assert readers[0].read(second) == expected
    assert sharing.kept == -(-source.size_bytes // CHUNK_BYTES) == second.stats.chunks
    assert readers[1].read(third) == expected
    assert sharing.found_bytes >= len(expected)
    assert third.stats.chunks == 0
    assert third.stats.records == second.stats.records
    assert third.stats.temporary_bytes == second.stats.temporary_bytes


def test_nothing_is_kept_for_a_reader_alone_however_often_it_reads(source: FileSlice) -> None:
    sharing = Sharing()
    reader = sharing.reader()
    for _ in range(5):
        reader.read(sharing.slice(source))
    assert (sharing.kept, sharing.chunks.held_bytes) == (0, 0)


def test_readers_of_different_files_share_nothing(tmp_path: Path) -> None:
    sharing = Sharing()
    sources = [stored(tmp_path, b"".join(batches(20, seed=n)), name=str(n)) for n in range(2)]
    readers = [sharing.reader(), sharing.reader()]
    for _ in range(3):
        for reader, its in zip(readers, sources, strict=True):
            reader.read(sharing.slice(its))
    assert sharing.kept == 0


async def test_what_one_reader_finds_again_and_again_does_not_keep_it(source: FileSlice) -> None:
    sharing = Sharing()
    reader = sharing.reader()
    others = [sharing.reader(), sharing.reader()]
    for other in others:
        other.read(sharing.slice(source))
    for _ in range(3):
        reader.read(sharing.slice(source))
        await sharing.clock.advance(SWEEP_MS)
    assert sharing.chunks.held_bytes == 0
    assert sharing.memory.free_bytes == 1 << 30
    assert sharing.dropped == sharing.kept


async def test_all_is_given_up_when_nothing_was_found_for_a_second(source: FileSlice) -> None:
    sharing = Sharing()
    for reader in [sharing.reader(), sharing.reader(), sharing.reader()]:
        reader.read(sharing.slice(source))
    assert sharing.chunks.held_bytes
    await sharing.clock.advance(SWEEP_MS)
    assert sharing.chunks.held_bytes  # found within that second
    await sharing.clock.advance(SWEEP_MS)
    assert sharing.chunks.held_bytes == 0
    await sharing.clock.advance(2 * SWEEP_MS)
    kept = sharing.kept
    sharing.reader().read(sharing.slice(source))
    assert sharing.kept == kept  # nobody else began that slice of late


def test_another_magic_is_another_conversion(source: FileSlice) -> None:
    sharing = Sharing()
    readers = [sharing.reader() for _ in range(6)]
    for number, reader in enumerate(readers):
        target = number % 2
        assert reader.read(sharing.slice(source, target=target)) == alone(source, target=target)
    assert sharing.found_bytes


def test_a_batch_of_which_a_reader_wants_a_part_is_not_taken_for_the_whole(source: FileSlice) -> None:
    sharing = Sharing()
    readers = [sharing.reader() for _ in range(8)]
    for number, reader in enumerate(readers):
        first_offset = (0, 5, 5, 9)[number % 4]
        assert reader.read(sharing.slice(source, first_offset=first_offset)) == alone(source, first_offset=first_offset)
    assert sharing.found_bytes


def test_a_reader_that_began_elsewhere_meets_the_others(source: FileSlice) -> None:
    sharing = Sharing()
    for reader in [sharing.reader(), sharing.reader()]:
        reader.read(sharing.slice(source))
    one = len(batches(1)[0])
    later = source.part(3 * one, source.size_bytes)
    before = sharing.found_bytes
    assert sharing.reader().read(sharing.slice(later, first_offset=3 * 16)) == alone(later, first_offset=3 * 16)
    assert sharing.found_bytes - before > later.size_bytes - CHUNK_BYTES - one


def test_a_chunk_that_goes_further_than_the_slice_is_not_for_its_reader(source: FileSlice) -> None:
    sharing = Sharing()
    for reader in [sharing.reader(), sharing.reader()]:
        reader.read(sharing.slice(source))
    shorter = source.part(0, 200_000)
    assert sharing.reader().read(sharing.slice(shorter)) == alone(shorter)


def test_a_chunk_of_which_a_part_was_sent_and_that_cannot_be_made_again_ends_the_connection(
    tmp_path: Path,
) -> None:
    """Padding went out in the middle of a message."""
    path = tmp_path / "segment"
    path.write_bytes(b"".join(batches(40)))
    source = FileSlice(Files().handle(str(path)).opened(), 0, path.stat().st_size)
    sharing = Sharing()
    for reader in [sharing.reader(), sharing.reader()]:
        reader.read(sharing.slice(source))
    chunks, line = sharing.slice(source).chunks(), sharing.reader(room_bytes=5000).line
    sent, is_for_later = chunks.send_shared(line, source.size_bytes, source.size_bytes)
    assert 0 < sent < CHUNK_BYTES and is_for_later
    for drop in sharing.memory.drops:
        drop()
    os.truncate(path, 100)
    line.drain()
    with pytest.raises(EOFError, match="cannot be made again"):
        chunks.run(bytearray(chunks.buffer_bytes), line, source.size_bytes - sent, 1 << 20)


def test_what_is_known_of_a_file_does_not_keep_it_open(tmp_path: Path) -> None:
    sharing = Sharing()
    readers = [sharing.reader(), sharing.reader(), sharing.reader()]
    path = tmp_path / "segment"
    path.write_bytes(b"".join(batches(40)))
    handle = Files().handle(str(path))
    source = FileSlice(handle.opened(), 0, path.stat().st_size)
    opened = weakref.ref(handle.opened())
    for reader in readers:
        reader.read(sharing.slice(source))
        reader.chunks = None
    assert sharing.chunks.held_bytes and opened() is not None
    handle.close()
    del source
    assert opened() is None


@pytest.mark.parametrize("evicts", [False, True], ids=["same-handle", "handle-opened-again"])
def test_bytes_that_were_cut_off_are_never_sent_again(tmp_path: Path, evicts: bool) -> None:
    old, new = batches(40, seed=1), batches(40, seed=2)
    path = tmp_path / "segment"
    files = Files(max_open=1)
    handle = files.handle(str(path))
    handle.write(old, 0)
    size = len(b"".join(old))
    sharing, held = Sharing(), FileSlice(handle.opened(), 0, size)
    for reader in [sharing.reader(), sharing.reader(), sharing.reader()]:
        reader.read(sharing.slice(held))
    assert sharing.found_bytes
    if evicts:
        path.with_name("other").write_bytes(b"")
        files.handle(str(path.with_name("other"))).opened()
    handle.truncate(len(old[0]))
    handle.write(new[1:], len(old[0]))
    again = FileSlice(handle.opened(), 0, size)
    expected = alone(stored(tmp_path, b"".join([old[0], *new[1:]]), name="expected"))
    for reader in [sharing.reader(), sharing.reader(), sharing.reader()]:
        assert reader.read(sharing.slice(again)) == expected


def test_memory_that_others_need_is_given_up_while_readers_are_on_their_way(source: FileSlice) -> None:
    sharing, expected = Sharing(), alone(source)
    readers = [sharing.reader(20_000), sharing.reader(20_000), sharing.reader(20_000)]

    def give_up() -> None:
        while sharing.memory.drops and sharing.chunks.held_bytes:
            sharing.memory.drops[-1]()
        assert sharing.memory.free_bytes == 1 << 30

    assert in_turns(sharing, readers, source, give_up) == [expected] * 3


def test_without_memory_each_has_its_own(source: FileSlice) -> None:
    sharing, expected = Sharing(free_bytes=100_000), alone(source)
    for reader in [sharing.reader(), sharing.reader(), sharing.reader()]:
        assert reader.read(sharing.slice(source)) == expected
    assert (sharing.kept, sharing.found_bytes) == (0, 0)


def test_a_limit_of_nothing_turns_it_off(source: FileSlice) -> None:
    sharing = Sharing(limit_bytes=0)
    for reader in [sharing.reader(), sharing.reader(), sharing.reader()]:
        reader.read(sharing.slice(source))
    assert sharing.kept == 0


def test_no_more_is_held_than_the_limit_and_what_came_first_goes(tmp_path: Path) -> None:
    sharing = Sharing(limit_bytes=2 * SHELF_BYTES)
    source = stored(tmp_path, b"".join(batches(300)))
    expected, readers = alone(source), [sharing.reader(), sharing.reader(), sharing.reader()]
    held: list[int] = []
    received = in_turns(sharing, readers, source, lambda: held.append(sharing.chunks.held_bytes))
    assert received == [expected] * 3
    assert max(held) <= 2 * SHELF_BYTES
    assert sharing.dropped
    assert sharing.found_bytes > 1.5 * len(expected)


def test_readers_too_far_apart_are_left_alone(tmp_path: Path) -> None:
    """A second reader comes behind when all that was kept of what the first had is gone again."""
    sharing = Sharing(limit_bytes=SHELF_BYTES)
    data = batches(300)
    source, part_bytes = stored(tmp_path, b"".join(data)), 60 * len(data[0])
    parts = [source.part(at, part_bytes) for at in range(0, source.size_bytes, part_bytes)]
    readers = [sharing.reader(), sharing.reader()]
    for reader in readers * 4:
        for part in parts:
            reader.read(sharing.slice(part))
    assert 0 < sharing.kept * CHUNK_BYTES < 8 * source.size_bytes / 2


def test_small_slices_are_not_looked_for(tmp_path: Path) -> None:
    sharing, source = Sharing(), stored(tmp_path, b"".join(batches(1, size=100)))
    for reader in [sharing.reader(), sharing.reader(), sharing.reader()]:
        reader.read(sharing.slice(source))
    assert sharing.kept == 0


def any_batch(random: Random, first: int) -> tuple[bytes, int]:
    """A batch of any kind and size from the offset `first` on, and the offset behind it."""
    count, size = random.randint(1, 40), random.choice((10, 300, 1000, 8000))
    kind, codec = random.random(), Codec.NONE
    if kind < 0.05:
        return build_batch([], base_offset=first, last_offset=first + count), first + count + 1
    if kind < 0.1:
        marker = Record(offset=first, timestamp=5, key=b"\0\0\0\1", value=bytes(6))
        return build_batch([marker], producer_id=3, producer_epoch=1, transactional=True, control=True), first + 1
    if kind < 0.2:
        codec = random.choice((Codec.GZIP, Codec.LZ4, Codec.SNAPPY))
    elif kind < 0.25:
        count, size = random.randint(1, 2), random.choice((100_000, 200_000, 400_000))
    elif kind < 0.3:
        count, size = random.randint(1000, 5000), random.randint(0, 30)
    records = [Record(offset=first + n, timestamp=5, key=b"k", value=random.randbytes(size)) for n in range(count)]
    return build_batch(records, codec=codec, magic=random.choice((2, 2, 2, 1))), first + count


@pytest.mark.parametrize("seed", range(25))
def test_each_reader_gets_what_it_would_get_alone(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    parts: list[bytes] = []
    offset = 0
    while sum(map(len, parts)) < 1_500_000:
        part, offset = any_batch(random, offset)
        parts.append(part)
    source = stored(tmp_path, b"".join(parts))
    starts = [sum(map(len, parts[:at])) for at in range(len(parts))]
    sharing = Sharing(random.choice((1, 2, 8)) * SHELF_BYTES)
    readers = [sharing.reader(random.choice((5000, 100_000, 1 << 20))) for _ in range(random.randint(2, 6))]
    expected, received, slices = [], [b""] * len(readers), []
    for reader in readers:
        start = random.choice((0, 0, random.choice(starts)))
        part = source.part(start, random.choice((source.size_bytes, 1_000_000, 300_000)))
        target, first_offset = random.choice((0, 1, 1)), 0
        if random.random() < 0.4:
            first_offset = sum(1 for at in starts if at < start) and int.from_bytes(
                os.pread(part.fileno(), 8, part.position), "big"
            ) + random.randint(0, 2)
        expected.append(alone(part, target=target, first_offset=first_offset))
        slices.append(sharing.slice(part, target=target, first_offset=first_offset))
        reader.begin(slices[-1])
    while any(reader.left_bytes for reader in readers):
        at = random.choice([n for n, reader in enumerate(readers) if reader.left_bytes])
        readers[at].turn(random.choice((1, 30_000, 1 << 20)))
        if random.random() < 0.7:
            received[at] += readers[at].received()
        if random.random() < 0.05 and sharing.chunks.held_bytes:
            sharing.memory.drops[0]()
    for at, reader in enumerate(readers):
        assert received[at] + reader.received() == expected[at]
    assert sharing.chunks.held_bytes <= sharing.chunks.limit_bytes
