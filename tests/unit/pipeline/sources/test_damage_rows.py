"""Damage as rows: with `includeDamage` a column says what of the log is no record, for records and for batches."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceReader
from pyspark.sql.types import StructType
from stepdown.pipeline.sources.kafka_batches import KafkaBatches
from stepdown.pipeline.sources.kafka_segments import KafkaSegments
from stepdown.protocol.records.batches import iter_batches
from support.log_directories import write_topic

LENIENT = {"includeDamage": "true", "skipCorrupt": "true", "failOnDataLoss": "false"}


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    write_topic(tmp_path, "topic", segments=4)
    return tmp_path


def segment(log_dir: Path, base: int) -> Path:
    return log_dir / "topic-0" / f"{base:020}.log"


def positions(path: Path) -> list[int]:
    found = [0]
    for batch in iter_batches(path.read_bytes()):
        found.append(found[-1] + batch.size_bytes)
    return found


def change(path: Path, at: int, *values: int) -> None:
    data = bytearray(path.read_bytes())
    data[at : at + len(values)] = values
    path.write_bytes(data)


def rows(source: type[KafkaSegments] | type[KafkaBatches], log_dir: Path, **options: str) -> list[dict[str, Any]]:
    """The rows as tasks make them, in the order of the splits."""
    opened = source(CaseInsensitiveDict({"path": str(log_dir), **LENIENT, **options}))
    schema = opened.schema()
    return list(_rows(opened.reader(schema if isinstance(schema, StructType) else StructType.fromDDL(schema))))


def _rows(reader: DataSourceReader) -> Iterator[dict[str, Any]]:
    for task in reader.partitions():
        for batch in reader.read(task):
            yield from batch.to_pylist()


def split(found: list[dict[str, Any]]) -> tuple[list[int], list[dict[str, Any]]]:
    """Offsets of records, and the damage of the other rows."""
    records = sorted(row["offset"] for row in found if row["damage"] is None)
    damages = [row["damage"] | {"topic": row["topic"]} for row in found if row["damage"] is not None]
    return records, sorted(damages, key=lambda each: each["firstOffset"])


def test_missing_offsets_are_rows(log_dir: Path) -> None:
    segment(log_dir, 40).unlink()
    segment(log_dir, 80).write_bytes(b"")
    records, damages = split(rows(KafkaSegments, log_dir))
    assert records == [*range(40), *range(120, 160)]
    assert [(each["kind"], each["firstOffset"], each["endOffset"]) for each in damages] == [
        ("missing", 40, 80),
        ("missing", 80, 120),
    ]
    assert damages[0]["file"] == str(segment(log_dir, 0))
    assert {each["topic"] for each in damages} == {"topic"}


DAMAGES: dict[str, Callable[[Path, int], None]] = {
    "a size that is too large": lambda path, position: change(path, position + 9, 1),
    "a size that is too small": lambda path, position: change(path, position + 10, 0, 3),
    "an unknown magic": lambda path, position: change(path, position + 16, 9),
    "a wrong checksum": lambda path, position: change(path, position + 18, 77),
}


@pytest.mark.parametrize("base", [40, 120], ids=["a closed segment", "the newest segment"])
@pytest.mark.parametrize("case", DAMAGES)
def test_reading_goes_on_after_a_damaged_batch(log_dir: Path, case: str, base: int) -> None:
    """The rest of the segment was left out, of the newest one without a word."""
    path = segment(log_dir, base)
    starts = positions(path)
    DAMAGES[case](path, starts[1])
    records, (damage,) = split(rows(KafkaSegments, log_dir))
    assert records == [offset for offset in range(160) if not base + 10 <= offset < base + 20]
    assert (damage["kind"], damage["file"]) == ("corrupt", str(path))
    assert (damage["position"], damage["bytes"]) == (starts[1], starts[2] - starts[1])
    assert (damage["firstOffset"], damage["endOffset"]) == (base + 10, base + 20)


def test_what_is_not_asked_for_is_not_there(log_dir: Path) -> None:
    segment(log_dir, 40).unlink()
    found = rows(KafkaSegments, log_dir, includeDamage="false")
    assert sorted(row["offset"] for row in found) == [*range(40), *range(80, 160)]
    assert "damage" not in found[0]


@pytest.mark.parametrize("case", ["a size that is too large", "a size that is too small", "an unknown magic"])
def test_batches_tell_damage_by_their_headers(spark: SparkSession, log_dir: Path, case: str) -> None:
    path = segment(log_dir, 40)
    starts = positions(path)
    DAMAGES[case](path, starts[1])
    segment(log_dir, 80).unlink()
    found = rows(KafkaBatches, log_dir)
    assert sorted(row["baseOffset"] for row in found if row["damage"] is None) == [
        *range(0, 50, 10),
        *range(60, 80, 10),
        *range(120, 160, 10),
    ]
    damages = [row["damage"] for row in found if row["damage"] is not None]
    assert sorted((each["kind"], each["firstOffset"], each["endOffset"]) for each in damages) == [
        ("corrupt", 50, 60),
        ("missing", 80, 120),
    ]
