"""Headers of batches as Arrow columns, against what each header says by itself."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from stepdown.pipeline.reading.batch_header_columns import TYPES, make_header_record_batch
from stepdown.pipeline.reading.splits import Split
from stepdown.protocol.records.batch_header import BatchHeader, batch_headers_in
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec, TimestampType
from support.deadline import DEADLINE_S
from support.log_directories import keyed_records

SPLIT = Split(topic="größer", partition=3, path="", base_offset=7, start=0, end=1, first_offset=0, end_offset=9)
SCHEMA = pa.schema([pa.field(name, kind) for name, kind in TYPES.items()])
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WITHOUT_PANDAS = """
import sys
import pyarrow as pa
from stepdown.pipeline.reading.batch_header_columns import TYPES, make_header_record_batch
from stepdown.pipeline.reading.splits import Split
from stepdown.protocol.records.batch_header import BatchHeader
split = Split(topic="t", partition=0, path="", base_offset=0, start=0, end=1, first_offset=0, end_offset=9)
schema = pa.schema([pa.field(name, kind) for name, kind in TYPES.items()])
make_header_record_batch([BatchHeader(*range(13)), BatchHeader(*[-1] * 13)], split, schema)
assert "pandas" not in sys.modules, "each worker of Spark would import it"
"""


def headers() -> list[BatchHeader]:
    records = keyed_records(0, 3)
    sets = [build_batch(records, magic=magic, codec=codec) for magic in (0, 1) for codec in (Codec.NONE, Codec.GZIP)]
    sets += [build_batch(records, codec=codec, producer_id=codec) for codec in Codec]
    sets.append(build_batch(records, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=5000))
    sets.append(build_batch(records, producer_id=9, producer_epoch=0, base_sequence=0, transactional=True))
    return [header for data in sets for header in batch_headers_in(data)]


def row(header: BatchHeader) -> dict[str, object]:
    return {
        "topic": "größer",
        "partition": 3,
        "segment": 7,
        "position": header.position,
        "size": header.size_bytes,
        "magic": header.magic,
        "codec": Codec(header.attributes & 7).name.lower(),
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "records": None if header.record_count < 0 else header.record_count,
        "timestampType": -1 if header.magic == 0 else header.attributes >> 3 & 1,
        "maxTimestamp": EPOCH + timedelta(milliseconds=header.max_timestamp),
        "producerId": header.producer_id,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "damage": None,
    }


def test_columns_say_what_each_header_says() -> None:
    found = headers()
    batch = make_header_record_batch(found, SPLIT, SCHEMA)
    batch.validate(full=True)
    assert batch.to_pylist() == [row(header) for header in found]
    assert {header.magic for header in found} == {0, 1, 2}
    assert any(header.record_count < 0 for header in found)


def test_only_the_columns_that_are_named_are_made() -> None:
    batch = make_header_record_batch(headers(), SPLIT, pa.schema([pa.field("size", pa.int32())]))
    assert batch.to_pylist() == [{"size": header.size_bytes} for header in headers()]


def test_an_unknown_codec_is_named_by_its_number() -> None:
    header = headers()[-1]._replace(attributes=6)
    assert make_header_record_batch([header], SPLIT, SCHEMA).to_pylist()[0]["codec"] == "unknown-6"


def test_a_time_that_spark_cannot_hold_is_null() -> None:
    """One such batch ended the census of a whole directory."""
    header = headers()[-1]
    batch = make_header_record_batch([header._replace(max_timestamp=1 << 60), header], SPLIT, SCHEMA)
    assert [time is None for time in batch.column("maxTimestamp").to_pylist()] == [True, False]


def test_pandas_is_not_imported() -> None:
    words = [sys.executable, "-c", WITHOUT_PANDAS]
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr
