"""Batches: bounded, one kind of time each, at the offsets that their records have."""

from dataclasses import replace
from pathlib import Path

import pytest
from stepdown.pipeline.writing.log_writer import BatchSettings, LogWriter
from stepdown.pipeline.writing.staging import Staging
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Record
from stepdown.storage.files.files import Files
from support.log_directories import keyed_records
from support.segments import START_MS

MAGICS_AND_CODECS = [(magic, codec) for magic in (0, 1, 2) for codec in Codec if magic == 2 or codec is not Codec.ZSTD]


def written(tmp_path: Path, records: list[Record], **batching: object) -> list[list[Record]]:
    """The records of each batch that was written."""
    log = Staging(Files(), str(tmp_path), "job", segment_bytes=1 << 20).open("topic", 0, records[0].offset)
    writer = LogWriter(log, BatchSettings(**batching))  # type: ignore[arg-type]
    for record in records:
        writer.add(record)
    assert writer.next_offset == records[-1].offset + 1
    writer.flush()
    log.close()
    assert writer.records == len(records)
    data = b"".join(path.read_bytes() for path in sorted(Path(log.directory).glob("*.log")))
    assert len(data) == writer.stored_bytes
    return [list(batch.records()) for batch in iter_batches(data)]


@pytest.mark.parametrize(("magic", "codec"), MAGICS_AND_CODECS, ids=lambda value: getattr(value, "name", value))
def test_offsets_with_gaps_are_kept_in_every_magic_and_codec(tmp_path: Path, magic: int, codec: Codec) -> None:
    given = [replace(record, offset=100 + record.offset**2) for record in keyed_records(0, 30)]
    found = [record for batch in written(tmp_path, given, magic=magic, codec=codec) for record in batch]
    assert [(r.offset, r.key, r.value) for r in found] == [(r.offset, r.key, r.value) for r in given]
    assert {r.timestamp for r in found} == ({-1} if magic == 0 else {r.timestamp for r in given})


def test_a_batch_ends_where_it_is_full_or_too_wide(tmp_path: Path) -> None:
    given = [Record(offset=offset, timestamp=START_MS, value=b"v" * 40) for offset in (0, 1, 2, 1 << 32, 1 << 33)]
    assert [len(batch) for batch in written(tmp_path, given, batch_bytes=100)] == [2, 1, 1, 1]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_append_times_do_not_share_a_batch_with_others(tmp_path: Path, magic: int) -> None:
    kinds = [(0, 5), (0, 6), (1, 7), (1, 7), (1, 8), (0, 8)]
    given = [
        Record(offset=at, timestamp=START_MS + ms, timestamp_type=TimestampType(kind), value=b"v")
        for at, (kind, ms) in enumerate(kinds)
    ]
    batches = written(tmp_path, given, magic=magic, codec=Codec.GZIP)
    assert [len(batch) for batch in batches] == ([6] if magic == 0 else [2, 2, 1, 1])
    if magic:
        assert [(r.timestamp_type, r.timestamp - START_MS) for batch in batches for r in batch] == kinds


def test_what_no_producer_can_write_is_refused() -> None:
    for given, reason in (
        ({"magic": 3}, "no magic 3"),
        ({"magic": 1, "codec": Codec.ZSTD}, "has no zstd"),
        ({"batch_bytes": 0}, "below 1"),
    ):
        with pytest.raises(ValueError, match=reason):
            BatchSettings(**given)  # type: ignore[arg-type]
