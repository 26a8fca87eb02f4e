"""Logs become visible as a whole: whatever happens on the way, a folder with a log's name holds all of it."""

from contextlib import suppress
from pathlib import Path

import pytest
from stepdown.pipeline.failures import PipelineFailure
from stepdown.pipeline.writing.log_writer import BatchSettings, LogWriter
from stepdown.pipeline.writing.staging import StagedLog, Staging, move_staged_into_place, new_job_id, remove_staged_logs
from stepdown.protocol.errors import DiskFault
from stepdown.protocol.records.layout import Codec
from stepdown.storage.directories.log_manager import LogManager
from stepdown.storage.files.checkpoint_file import LOG_STARTS, RECOVERY_POINTS, read_offsets, write_offsets
from stepdown.storage.files.files import Files
from support.clock import ManualClock
from support.files import Crash, FaultyFiles
from support.log_directories import keyed_records, write_topic
from support.logs import read_all

JOB = new_job_id()
COUNT = 30


def stage(files: Files, log_dir: Path, partitions: int = 2, job: str = JOB) -> list[StagedLog]:
    """Stage logs of 30 records in segments of a few batches."""
    found = []
    for partition in range(partitions):
        staging = Staging(files, str(log_dir), job, segment_bytes=600)
        writer = LogWriter(
            staging.open("topic", partition, first_offset=7), BatchSettings(batch_bytes=200, codec=Codec.LZ4)
        )
        for record in keyed_records(7, COUNT):
            writer.add(record)
        writer.flush()
        found.append(staging.complete(writer.log, writer.records, writer.stored_bytes))
    return found


def logs(log_dir: Path) -> dict[str, list[int]]:
    """The offsets of each log that a broker finds; it may not have to repair anything."""
    log_manager = LogManager([str(log_dir)], Files(), ManualClock(0))
    try:
        found = {log.name: [record.offset for record in read_all(log)] for log in log_manager.logs.values()}
        assert all(log.log_start_offset == 7 for log in log_manager.logs.values())
        return found
    finally:
        log_manager.shutdown()


def names(log_dir: Path) -> set[str]:
    return {path.name for path in log_dir.iterdir()}


WHOLE = {f"topic-{partition}": list(range(7, 7 + COUNT)) for partition in (0, 1)}


def test_what_is_committed_is_there_and_nothing_else(tmp_path: Path) -> None:
    staged = stage(Files(), tmp_path)
    assert [log.records for log in staged] == [COUNT, COUNT]
    assert all(name.startswith("topic-") and name.endswith("-delete") for name in names(tmp_path))
    stage(Files(), tmp_path, partitions=1)  # another attempt of a task, which nobody waited for
    move_staged_into_place(Files(), str(tmp_path), JOB, staged)
    assert names(tmp_path) == {"topic-0", "topic-1", ".lock", ".kafka_cleanshutdown"}
    assert len(list((tmp_path / "topic-0").glob("*.log"))) > 1
    assert logs(tmp_path) == WHOLE


def test_an_abort_leaves_nothing_and_other_jobs_alone(tmp_path: Path) -> None:
    stage(Files(), tmp_path)
    other = stage(Files(), tmp_path, partitions=1, job=new_job_id())
    remove_staged_logs(Files(), str(tmp_path), JOB)
    assert names(tmp_path) == {Path(other[0].directory).name}
    remove_staged_logs(Files(), str(tmp_path / "absent"), JOB)


def test_a_partition_of_two_tasks_is_refused_before_anything_is_moved(tmp_path: Path) -> None:
    staged = [*stage(Files(), tmp_path), *stage(Files(), tmp_path, partitions=1)]
    with pytest.raises(PipelineFailure, match="topic-0 was written by two tasks"):
        move_staged_into_place(Files(), str(tmp_path), JOB, staged)
    assert logs(tmp_path) == {}


def test_a_log_with_records_is_refused(tmp_path: Path) -> None:
    staged = stage(Files(), tmp_path)
    write_topic(tmp_path, "topic")
    with pytest.raises(PipelineFailure, match="topic-0 has segments already"):
        stage(Files(), tmp_path)
    with pytest.raises(PipelineFailure, match="topic-0 has segments already"):
        move_staged_into_place(Files(), str(tmp_path), JOB, staged)
    assert not (tmp_path / "topic-1").exists()


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    staged = stage(Files(), tmp_path)
    served = LogManager([str(tmp_path)], Files(), ManualClock(0))
    with pytest.raises(DiskFault, match="in use by another broker"):
        move_staged_into_place(Files(), str(tmp_path), JOB, staged)
    served.shutdown()


def test_an_empty_log_is_replaced_and_its_topic_id_kept(tmp_path: Path) -> None:
    empty = tmp_path / "topic-0"
    empty.mkdir()
    (empty / f"{0:020}.log").touch()
    (empty / "partition.metadata").write_text("version: 0\ntopic_id: Zm9vYmFyYmF6cXV1eDEyMw\n")
    move_staged_into_place(Files(), str(tmp_path), JOB, stage(Files(), tmp_path))
    assert (empty / "partition.metadata").read_text().endswith("Zm9vYmFyYmF6cXV1eDEyMw\n")
    assert not (empty / f"{0:020}.log").exists()
    assert names(tmp_path) == {"topic-0", "topic-1", ".lock"}
    assert logs(tmp_path) == WHOLE


def test_what_checkpoints_say_of_a_former_log_of_that_name_is_forgotten(tmp_path: Path) -> None:
    """A broker begins a log anew that ends below its checkpointed start: all records would be gone."""
    for name in (LOG_STARTS, RECOVERY_POINTS):
        write_offsets(Files(), str(tmp_path / name), {("topic", 0): 500, ("other", 0): 3})
    move_staged_into_place(Files(), str(tmp_path), JOB, stage(Files(), tmp_path))
    assert dict(read_offsets(Files(), str(tmp_path / LOG_STARTS))) == {("other", 0): 3}
    assert logs(tmp_path) == WHOLE


def test_a_disk_that_fails_in_the_middle_takes_all_back(tmp_path: Path) -> None:
    staged = stage(Files(), tmp_path)
    (tmp_path / staged[1].name).write_text("in the way")
    with pytest.raises(DiskFault):
        move_staged_into_place(Files(), str(tmp_path), JOB, staged)
    (tmp_path / staged[1].name).unlink()
    assert not (tmp_path / staged[0].name).exists()
    move_staged_into_place(Files(), str(tmp_path), JOB, staged)
    assert logs(tmp_path) == WHOLE


def test_a_crash_anywhere_leaves_whole_logs_or_none(tmp_path: Path) -> None:
    """With what was not synced gone, as after a power cut."""
    seen = set()
    for changes in range(10_000):
        log_dir = tmp_path / str(changes)
        files = FaultyFiles(seed=changes)
        files.crash_in = changes
        with suppress(Crash):
            move_staged_into_place(files, str(log_dir), JOB, stage(files, log_dir))
        files.lose_power()
        found = logs(log_dir)
        assert found.items() <= WHOLE.items()
        seen.add(len(found))
        if files.crash_in >= 0:
            break
    assert found == WHOLE
    assert seen == {0, 1, 2}
