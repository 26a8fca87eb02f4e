from pathlib import Path

import pytest
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import TimestampType
from stepdown.protocol.records.record import Record
from stepdown.storage.files.files import Files
from stepdown.storage.log.batch_scan import find_batch


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_the_batch_of_each_offset_is_found_among_small_and_large_ones(tmp_path: Path, magic: int) -> None:
    kind = TimestampType.NONE if magic == 0 else TimestampType.CREATE_TIME
    sizes = [10, 20, 5000, 30_000, 10, 10, 900, 1100, 9000, 1, 40_000, 1]
    batches = [
        build_batch(
            [Record(offset=2 * n + 1, timestamp=-1 if magic == 0 else 0, timestamp_type=kind, key=None,
                    value=bytes(size), headers=())],
            magic=magic, base_offset=2 * n + 1,
        )
        for n, size in enumerate(sizes)
    ]  # fmt: skip
    path = tmp_path / "log"
    path.write_bytes(b"".join(batches))
    file, end = Files().handle(str(path)), path.stat().st_size
    starts = [sum(map(len, batches[:n])) for n in range(len(batches))]
    for begin in range(len(batches)):
        for offset in range(2 * begin + bool(begin), 2 * len(batches)):
            n = max(begin, offset // 2)
            assert find_batch(file, offset, starts[begin], end) == (starts[n], len(batches[n]))
        assert find_batch(file, 2 * len(batches), starts[begin], end) is None
