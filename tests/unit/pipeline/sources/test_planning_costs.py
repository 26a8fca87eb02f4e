"""What planning costs: each folder is listed once, on a disk and in an object store, however many segments it has."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql.types import LongType, StructField, StructType
from stepdown.pipeline.places.object_files import ObjectFiles
from stepdown.pipeline.sources.kafka_segments import SegmentsReader
from stepdown.pipeline.sources.options import read_options
from stepdown.storage.files.files import DirectoryEntry, Files
from support.log_directories import write_topic
from support.s3 import s3_server

PARTITIONS, SEGMENTS = 5, 40
SCHEMA = StructType([StructField("offset", LongType())])


def count_listings(kind: type[Files] | type[ObjectFiles], monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each folder is listed from now on."""
    listed: Counter[str] = Counter()
    entries = kind.entries

    def count(files: Files | ObjectFiles, path: str) -> list[DirectoryEntry]:
        listed[path] += 1
        return entries(files, path)  # type: ignore[arg-type]

    monkeypatch.setattr(kind, "entries", count)
    return listed


def folders(root: str) -> Counter[str]:
    return Counter([root, *(f"{root}/topic-{partition}" for partition in range(PARTITIONS))])


def test_folders_are_listed_once_and_segments_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_topic(tmp_path, "topic", partitions=PARTITIONS, segments=SEGMENTS)
    listed = count_listings(Files, monkeypatch)
    opened: list[str] = []
    handle = Files.handle
    monkeypatch.setattr(Files, "handle", lambda files, path: opened.append(path) or handle(files, path))
    tasks = SegmentsReader(read_options({"path": str(tmp_path)}), SCHEMA).partitions()
    assert len(tasks) == PARTITIONS * SEGMENTS
    assert listed == folders(str(tmp_path))
    newest = f"{(SEGMENTS - 1) * 40:020}"
    assert all(newest in path for path in opened), "only the newest segment of a log may end in zeros"


def test_an_object_store_is_asked_once_for_each_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log directory itself was listed twice."""
    write_topic(tmp_path, "topic", partitions=PARTITIONS, segments=2)
    with s3_server() as server:
        root = server.upload(tmp_path, "logs")
        listed = count_listings(ObjectFiles, monkeypatch)
        tasks = SegmentsReader(read_options({"path": root} | server.spark_options), SCHEMA).partitions()
    assert len(tasks) == PARTITIONS * 2
    assert listed == folders(root)
