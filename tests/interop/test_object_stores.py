"""Azure, GCS and WebDAV: what their servers hold is read as a folder is; Azure is written to as well."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from stepdown.pipeline.convert.job import plan_tasks
from stepdown.pipeline.convert.segment_conversion import convert_segment
from stepdown.pipeline.failures import BadUsage
from stepdown.pipeline.job_source import Source
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.splits import OffsetsToRead
from stepdown.protocol.errors import DiskFault
from support.log_directories import write_topic
from support.object_stores import Store, azure_store, google_store, webdav_store
from support.planned_rows import offsets_of

RANGE = OffsetsToRead(first=33, end=90)


@pytest.mark.parametrize("opened", [azure_store, google_store, webdav_store])
def test_a_log_directory_is_read(opened: Callable[[], AbstractContextManager[Store]], tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", partitions=2, segments=3)
    with opened() as store:
        root, files = store.upload(tmp_path, "some logs"), PlaceFiles(store.options)
        assert offsets_of(files, root, RANGE, split_bytes=1000) == list(range(33, 90)) * 2
        with pytest.raises(BadUsage, match="no such log directory"):
            find_partition_logs(files, f"{store.root}/missing")


def test_a_conversion_goes_to_azure(tmp_path: Path) -> None:
    write_topic(tmp_path / "in", "topic", partitions=2, segments=3)
    with azure_store() as store:
        root, out = store.upload(tmp_path / "in", "logs"), f"{store.root}/out"
        for to in (out, str(tmp_path / "out")):
            for task in plan_tasks(PlaceFiles(store.options), Source(path=root, store=store.options), to, 1, None):
                convert_segment(task)
        files = PlaceFiles(store.options, writable=True)
        for name in ("00000000000000000000.log", "00000000000000000040.log", "00000000000000000000.index"):
            converted = files.read_whole(f"{out}/topic-0/{name}", 1 << 20)
            assert converted == (tmp_path / "out" / "topic-0" / name).read_bytes()
        assert files.remove(f"{out}/topic-0/00000000000000000000.log")
        assert not files.exists(f"{out}/topic-0/00000000000000000000.log")


def test_webdav_is_not_written_to() -> None:
    with webdav_store() as store, pytest.raises(DiskFault):
        PlaceFiles(store.options, writable=True).replace(f"{store.root}/new", b"data")
