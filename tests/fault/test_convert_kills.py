"""A conversion that is killed again and again ends with the files of one that was not."""

import random
from pathlib import Path

import pytest
from stepdown.pipeline.workload.log_directory import write_log_directory
from stepdown.pipeline.workload.records import Workload
from stepdown.protocol.records.layout import Codec
from support.jobs import VICTIMS, JobProcess

pytestmark = [pytest.mark.java, pytest.mark.slow]

KILLS = 4
SEGMENT_BYTES = 200_000
MOST_FILES_OF_A_ROUND = 25


def test_kills_of_driver_and_executor_leave_the_same_files(tmp_path: Path) -> None:
    source = tmp_path / "in"
    work = Workload(records=60_000, size=500, partitions=2, codec=Codec.GZIP, keys="uniform")
    write_log_directory(work, str(source), segment_bytes=SEGMENT_BYTES)
    expected = tmp_path / "whole"
    JobProcess("convert", words(source, expected), expected, tmp_path / "whole.log").succeed()
    out, rng, killed = tmp_path / "out", random.Random(4), 0
    while killed < KILLS:
        run = JobProcess("convert", words(source, out), out, tmp_path / "out.log")
        assert run.kill_when_written(rng.randint(1, MOST_FILES_OF_A_ROUND), VICTIMS[killed % len(VICTIMS)])
        killed += 1
    JobProcess("convert", [*words(source, out), "--verify"], out, tmp_path / "out.log").succeed()
    assert files(out) == files(expected)


def words(source: Path, out: Path) -> list[str]:
    return [str(source), str(out), "--magic", "1"]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
