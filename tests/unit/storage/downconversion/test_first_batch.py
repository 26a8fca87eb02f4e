"""The first batch of a slice by one call of compiled code, beside the steps that do the same."""

from pathlib import Path
from random import Random

import pytest
from stepdown.protocol.errors import ApiError
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.kernel import convert_plain
from stepdown.protocol.records.layout import Codec, ControlType
from stepdown.protocol.records.record import Record
from stepdown.storage.downconversion.conversion_rules import ConversionRules, is_for_worker
from stepdown.storage.downconversion.converted_slice import ConvertedSlice
from stepdown.storage.downconversion.first_batch import plain_first
from stepdown.storage.downconversion.read_window import KEPT_BYTES, batch_at, read_window, wide_window
from stepdown.storage.files.file_slice import FileSlice
from stepdown.storage.files.files import Files

Found = tuple[int, int, bool, int] | None
AT = 100


def batch(count: int, size: int, magic: int = 2, codec: Codec = Codec.NONE) -> bytes:
    records = [Record(offset=7 + n, timestamp=5 + n, key=b"k", value=bytes([n]) * size) for n in range(count)]
    return build_batch(records, magic=magic, codec=codec)


MARKER = build_control_marker(
    ControlType.COMMIT, offset=7, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=5
)
BATCHES = {
    "one record": batch(1, 10_000),
    "as large as a producer makes them": batch(16, 1000),
    "larger": batch(30, 1000),
    "of a message": batch(1, 300, magic=1),
    "of an old message": batch(1, 300, magic=0),
    "compressed": batch(5, 300, codec=Codec.GZIP),
    "compressed, old": batch(5, 300, magic=1, codec=Codec.GZIP),
    "transaction marker": MARKER,
    "too large for a window": batch(1, KEPT_BYTES),
}


def stored(folder: Path, data: bytes, size: int | None = None) -> FileSlice:
    path = folder / "segment"
    path.write_bytes(bytes(AT) + data)
    return FileSlice(Files().handle(str(path)).opened(), AT, len(data) if size is None else size)


def at_once(source: FileSlice, target: int, first_offset: int) -> Found:
    return plain_first(source.fileno(), source.position, source.size_bytes, target, first_offset, wide_window())


def by_steps(source: FileSlice, target: int, first_offset: int) -> Found:
    try:
        header = batch_at(source, 0)
        if header is None or is_for_worker(header, target):
            return None
        size = convert_plain(read_window(source, 0, header.size_bytes), 0, target, first_offset, None)[1]
    except ApiError:
        return None
    return (header.magic, header.attributes & 0xFF, header.base_offset < first_offset, size) if size else None


@pytest.mark.parametrize("first_offset", [0, 8, 1000])
@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("kind", BATCHES)
def test_what_it_tells_the_steps_tell(tmp_path: Path, kind: str, target: int, first_offset: int) -> None:
    source = stored(tmp_path, BATCHES[kind] + BATCHES["one record"])
    assert at_once(source, target, first_offset) == by_steps(source, target, first_offset)


def test_most_first_batches_are_told(tmp_path: Path) -> None:
    told = {kind for kind, data in BATCHES.items() if at_once(stored(tmp_path, data), 1, 0)}
    assert told == set(BATCHES) - {"compressed", "transaction marker", "too large for a window"}


def test_of_what_is_cut_or_damaged_nothing_is_told_that_is_wrong(tmp_path: Path) -> None:
    random = Random(3)
    told = 0
    for _ in range(2000):
        data = bytearray(random.choice([BATCHES[kind] for kind in ("one record", "of a message", "compressed, old")]))
        for _ in range(random.choice((0, 0, 1, 2))):
            data[random.randrange(random.choice((30, len(data))))] ^= 1 << random.randrange(8)
        whole, target = bytes(data), random.choice((0, 1))
        source = stored(tmp_path, whole[: random.choice((len(whole), random.randrange(1, len(whole))))])
        found = at_once(source, target, 0)
        assert found == by_steps(source, target, 0)
        told += found is not None
    assert 100 < told < 1900


def test_a_file_that_ends_before_its_slice_is_left_to_the_steps(tmp_path: Path) -> None:
    data = BATCHES["larger"]
    for there in (0, 5, 11, 16, 18_000, 19_000, len(data) - 1):
        assert at_once(stored(tmp_path, data[:there], size=1 << 20), 1, 0) is None


def test_a_slice_promises_what_it_tells(tmp_path: Path) -> None:
    lazily = ConvertedSlice(stored(tmp_path, BATCHES["one record"]), ConversionRules(target=1, first_offset=0))
    assert (lazily.needs_worker, lazily.first_magic, lazily.promise()) == (False, 2, True)
    assert lazily.size_bytes == len(BATCHES["one record"])
