"""Files of an archive: by day, month or topic, joined when they are small; what is late goes where its day is."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from stepdown.pipeline.archive.compact_job import compact_archive
from stepdown.pipeline.archive.log_archive import Format
from stepdown.pipeline.archive.parquet_archive import group_files_to_join
from stepdown.pipeline.archive.parquet_manifest import ListedFile
from stepdown.pipeline.archive.partitioning import PartitionBy, first_days_of_periods, folder_of, partition_values
from stepdown.pipeline.failures import BadUsage
from stepdown.protocol.records.record import Record
from support.archive_runs import archive_of, here, read_table, run
from support.log_directories import keyed_records, write_batches, write_topic

FORMATS: tuple[Format, ...] = ("parquet", "delta")
DAY_MS = 86_400_000


def on_days(first: int, *days: int) -> list[Record]:
    """A record a day, so many days after that of `keyed_records`."""
    found = keyed_records(first, len(days))
    return [replace(record, timestamp=record.timestamp + day * DAY_MS) for record, day in zip(found, days, strict=True)]


def names(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*.parquet"))


def in_table(out: Path, kind: Format) -> list[str]:
    """The files that readers of the table, or of the manifest, see."""
    if kind == "delta":
        from deltalake import DeltaTable

        return sorted(uri.removeprefix(f"{out}/") for uri in DeltaTable(str(out)).file_uris())
    return sorted(each["path"] for each in json.loads((out / "_manifest.json").read_text())["files"])


@pytest.mark.parametrize(
    ("partition_by", "files", "folder"),
    [("date", 400, "date=2023-11-14"), ("month", 14, "month=2023-11-01"), ("topic", 1, None)],
)
@pytest.mark.parametrize("kind", FORMATS)
def test_files_lie_by_day_month_or_topic(
    kind: Format, partition_by: PartitionBy, files: int, folder: str | None, tmp_path: Path
) -> None:
    """An archive of 3,000 days was 3,000 files."""
    write_batches(tmp_path / "logs", "topic", 0, [on_days(0, *range(400))])
    out = tmp_path / "out"
    written = run(archive_of(tmp_path / "logs", out, kind, partition_by=partition_by))
    assert len(written) == len(in_table(out, kind)) == files
    assert (out / "topic=topic" / (folder or "") / names(out)[0].rpartition("/")[2]).exists()
    rows = read_table(out, kind)
    assert sorted(rows.column("offset").to_pylist()) == list(range(400))
    assert set(rows.column_names) >= {"topic", *([partition_by] if partition_by != "topic" else [])}


@pytest.mark.parametrize("kind", FORMATS)
def test_small_files_are_joined(kind: Format, tmp_path: Path) -> None:
    log_dir, out = tmp_path / "logs", tmp_path / "out"
    write_topic(log_dir, "topic", partitions=3, headers=True)
    run(archive_of(log_dir, out, kind, max_offsets=30, lineage=True))
    before = read_table(out, kind)
    assert len(in_table(out, kind)) > 8
    files, became = compact_archive(here, str(out), {}, 1 << 20)
    assert (files > 8, became) == (True, 1)
    assert len(in_table(out, kind)) == 1
    order = [("partition", "ascending"), ("offset", "ascending")]
    after = read_table(out, kind).select(before.column_names)
    assert after.sort_by(order).equals(before.sort_by(order))
    assert compact_archive(here, str(out), {}, 1 << 20) == (0, 0)
    if kind == "parquet":
        assert names(out) == ["topic=topic/date=2023-11-14/joined-00000000-000000.parquet"]
        first = after.select(["partition", "offset"]).to_pylist()
        assert first == sorted(first, key=lambda row: (row["partition"], row["offset"]))


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_late_is_added_where_its_day_is(kind: Format, tmp_path: Path) -> None:
    log_dir, out = tmp_path / "logs", tmp_path / "out"
    write_batches(log_dir, "topic", 0, [on_days(0, 0, 0, 1)])
    archive = archive_of(log_dir, out, kind)
    run(archive)
    compact_archive(here, str(out), {}, 1 << 20)
    write_batches(log_dir, "topic", 0, [on_days(3, 1, 0, -30)], base=3)
    late = run(archive)
    assert [(file.values["date"], file.rows) for file in late] == [
        ("2023-10-15", 1),
        ("2023-11-14", 1),
        ("2023-11-15", 1),
    ]
    assert run(archive) == []
    assert compact_archive(here, str(out), {}, 1 << 20) == (4, 2)
    assert sorted(read_table(out, kind).column("offset").to_pylist()) == list(range(6))


def test_files_of_an_earlier_version_are_joined_too(tmp_path: Path) -> None:
    """It wrote no manifest."""
    write_topic(tmp_path / "logs", "topic", partitions=2)
    out = tmp_path / "out"
    run(archive_of(tmp_path / "logs", out, max_offsets=40))
    (out / "_manifest.json").unlink()
    assert compact_archive(here, str(out), {}, 1 << 20)[1] == 1
    assert read_table(out, "parquet").num_rows == 160


def test_joined_files_are_as_large_as_they_may_be() -> None:
    sizes = [40, 40, 40, 90, 10, 100, 5, 5]
    files = [ListedFile(f"t/d/part-00000000-0-{number:020}.parquet", 1, size) for number, size in enumerate(sizes)]
    other = [ListedFile("t/e/part-00000000-0-0.parquet", 1, 1)]
    joins = list(group_files_to_join([*reversed(files), *other], 100))
    assert [(folder, [file.size_bytes for file in run]) for folder, run in joins] == [
        ("t/d", [40, 40]),
        ("t/d", [90, 10]),
        ("t/d", [5, 5]),
    ]


def test_neighbours_are_joined_in_the_order_of_their_offsets() -> None:
    paths = ["t/joined-00000000-000000.parquet", "t/part-00000001-10-5.parquet", "t/part-00000002-9-7.parquet"]
    ((_, run),) = group_files_to_join([ListedFile(path, 1, 1) for path in paths], 100)
    assert [file.path for file in run] == [paths[2], paths[1], paths[0]]


def test_what_cannot_be_joined_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match=r"is no archive: there is no _archive.json"):
        compact_archive(here, str(tmp_path), {}, 1 << 20)
    write_topic(tmp_path / "logs", "topic")
    out = tmp_path / "out"
    run(archive_of(tmp_path / "logs", out))
    state = json.loads((out / "_archive.json").read_text())
    (out / "_archive.json").write_text(json.dumps(state | {"writing": {"topic": {"0": [80, 90, None]}}}))
    with pytest.raises(BadUsage, match="run archive again first"):
        compact_archive(here, str(out), {}, 1 << 20)
    (out / "_archive.json").write_text(json.dumps({"bootstrap": "h:1", "topics": None, "format": "parquet"}))
    with pytest.raises(BadUsage, match="_spark_metadata names its files"):
        compact_archive(here, str(out), {}, 1 << 20)


def test_periods_are_those_of_the_calendar() -> None:
    import numpy as np

    times = np.array([0, 86_400_000_000 * 31, -1, 1 << 62, -(1 << 62)], np.int64)
    assert first_days_of_periods("topic", times).tolist() == [0] * 5
    assert first_days_of_periods("date", times)[:3].tolist() == [0, 31, -1]
    months = [
        partition_values("month", "t", period)["month"] for period in first_days_of_periods("month", times).tolist()
    ]
    assert months == ["1970-01-01", "1970-02-01", "1969-12-01", "9999-12-31", "0001-01-01"]
    assert folder_of(partition_values("topic", "t", 0)) == "topic=t"
