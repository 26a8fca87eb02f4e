"""An index whose bits changed on the disk: no record is passed over for it."""

from pathlib import Path
from random import Random

import pytest
from stepdown.storage.files.file_names import OFFSET_INDEX
from support.logs import append, make_log, read_all, values_of

RECORDS = 300


def flipped(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


@pytest.mark.parametrize("seed", range(60))
def test_a_reader_gets_every_record_whichever_bit_of_the_index_changed(tmp_path: Path, seed: int) -> None:
    log = make_log(tmp_path / "orders-0", index_interval_bytes=200)
    for number in range(RECORDS):
        append(log, b"%d" % number)
    path = Path(log.segments.active.path(OFFSET_INDEX))
    log.close()
    flipped(path, Random(seed).randrange(8 * path.stat().st_size))
    log = make_log(tmp_path / "orders-0", index_interval_bytes=200)
    segment, random = log.segments.active, Random(seed)
    for offset in random.sample(range(RECORDS), 100):
        place = segment.locate(offset)
        assert place is not None
        header = next(segment.batches(place.position))
        assert header.base_offset <= offset <= header.last_offset
    assert values_of(read_all(log)) == [b"%d" % number for number in range(RECORDS)]
