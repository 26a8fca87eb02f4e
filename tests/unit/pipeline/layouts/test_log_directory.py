"""Which files and folders of a log directory are read: those that a broker would serve if it started on it."""

import shutil
from pathlib import Path

import pytest
from stepdown.pipeline.failures import PipelineFailure
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.splits import OffsetsToRead
from stepdown.storage.files.clock import SystemClock
from stepdown.storage.files.files import Files
from stepdown.storage.log.delayed_deletion import PendingDeletions
from stepdown.storage.log.log_config import LogConfig
from stepdown.storage.recovery.log_loading import LogOpening, open_log
from support.log_directories import keyed_records, write_batches, write_topic
from support.planned_rows import offsets_of

CASES = {
    "a swap beside what it replaces": ("cp 0 0.swap",),
    "a swap whose segment is gone": ("mv 40 40.swap",),
    "a swap of two segments": ("join 0 40 0.swap",),
    "a swap that is empty": ("empty 40.swap",),
    "a swap that is cut off": ("cut 40 40.swap",),
    "a copy that was not finished": ("cp 40 40.cleaned", "cp 40 40.swap"),
    "a segment that is deleted": ("mv 0 0.deleted",),
    "an empty segment within another": ("empty 60",),
    "an empty segment at the end": ("empty 80",),
}


def damage(folder: Path, steps: tuple[str, ...]) -> None:
    def path(name: str) -> Path:
        base, _, suffix = name.partition(".")
        return folder / (f"{int(base):020}.log" + (f".{suffix}" if suffix else ""))

    for step in steps:
        what, *names = step.split()
        files = [path(name) for name in names]
        data = b"".join(file.read_bytes() for file in files[:-1])
        files[-1].write_bytes(data[:-1] if what == "cut" else data)
        if what == "mv":
            files[0].unlink()


def rows(log_dir: Path) -> list[int]:
    return offsets_of(PlaceFiles(), str(log_dir), OffsetsToRead(), split_bytes=1 << 20)


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_a_broker_that_starts_on_the_directory(tmp_path: Path, case: str) -> None:
    """Segments that an interrupted replacement left as `.swap` were passed over without a word."""
    write_topic(tmp_path, "topic")
    damage(tmp_path / "topic-0", CASES[case])
    found = rows(tmp_path)
    opening = LogOpening(files=Files(), clock=SystemClock(), deletions=PendingDeletions(Files()))
    open_log(str(tmp_path / "topic-0"), "topic", 0, LogConfig(), opening).close()
    assert found == rows(tmp_path)
    assert found == list(range(40, 80) if "deleted" in case else range(80))


def test_two_folders_of_one_partition_are_refused(tmp_path: Path) -> None:
    """Rows of `topic-01` were those of partition 1 a second time."""
    write_batches(tmp_path, "topic", 1, [keyed_records(0, 10)])
    shutil.copytree(tmp_path / "topic-1", tmp_path / "topic-01")
    with pytest.raises(PipelineFailure, match="topic-1 is in two folders"):
        rows(tmp_path)


@pytest.mark.parametrize("suffix", ["delete", "future", "stray"])
def test_folders_that_brokers_do_not_serve_are_left_out_and_told(
    tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_topic(tmp_path, "topic")
    write_batches(tmp_path, "topic", 1, [keyed_records(0, 10)])
    (tmp_path / "topic-1").rename(tmp_path / f"topic-1.{'0' * 32}-{suffix}")
    assert rows(tmp_path) == list(range(80))
    assert ("left out" in capsys.readouterr().err) == (suffix != "delete")
