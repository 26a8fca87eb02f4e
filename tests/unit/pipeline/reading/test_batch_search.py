"""The next whole batch is found after any damage, and nothing that only looks like one."""

from pathlib import Path
from struct import pack

import pytest
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading import batch_search
from stepdown.pipeline.reading.batch_search import BatchSearch
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from support.log_directories import keyed_records

FILES = PlaceFiles()


def find(path: Path, data: bytes, start: int = 0, base_offset: int = 0) -> int | None:
    path.write_bytes(data)
    return BatchSearch(FILES.handle(str(path)), end=len(data), base_offset=base_offset).find_batch(start)


@pytest.mark.parametrize("before", [b"", b"\0" * 999, b"\xff" * 77, b"\0\x01" * 50], ids=["none", "0", "255", "0 1"])
@pytest.mark.parametrize(("magic", "codec"), [(0, Codec.NONE), (1, Codec.GZIP), (2, Codec.LZ4)], ids=str)
def test_a_batch_is_found_after_anything(tmp_path: Path, before: bytes, magic: int, codec: Codec) -> None:
    count = 1 if codec is Codec.NONE else 5
    batch = build_batch(keyed_records(40, count), magic=magic, codec=codec)
    assert find(tmp_path / "log", before + batch + before) == len(before)
    assert find(tmp_path / "log", before + batch, start=len(before) + 1) is None


def test_a_batch_across_windows_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = build_batch(keyed_records(40, 9))
    monkeypatch.setattr(batch_search, "WINDOW_BYTES", 100)
    for before in range(60, 130):
        assert find(tmp_path / "log", b"x" * before + batch) == before


def test_what_only_looks_like_a_batch_is_none(tmp_path: Path) -> None:
    batch = bytearray(build_batch(keyed_records(40, 9)))
    batch[-1] ^= 1
    assert find(tmp_path / "log", bytes(batch)) is None
    assert find(tmp_path / "log", build_batch(keyed_records(40, 9)), base_offset=50) is None
    assert find(tmp_path / "log", build_batch(keyed_records(40, 9))[:-1]) is None


def test_bytes_that_look_like_many_large_batches_end_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would be summed up to the end of the file."""
    monkeypatch.setattr(batch_search, "MAX_CHECKED_BYTES", 20_000)
    fakes = b"".join(pack(">qiIb", 1, 5000, 0, 2) + bytes(3) for _ in range(500))
    assert find(tmp_path / "log", fakes + build_batch(keyed_records(40, 9))) is None
