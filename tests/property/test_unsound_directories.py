"""Unsound directories, from a seed: no row is missing or wrong without a word.

What a broker that starts on a copy serves is what the source reads, or the damage names the difference. The broker is
stepdown's storage, and Kafka's own log of 3.9.1. Every second log was written by a real Kafka of 0.10.2 to 4.4.0.
`make unsound-directories SEEDS=500` runs more of them.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StructField, StructType
from stepdown.pipeline.failures import PipelineFailure
from stepdown.pipeline.reading.damage import Damage
from stepdown.pipeline.sources.kafka_segments import COLUMNS, DAMAGED, KafkaSegments
from stepdown.protocol.errors import ApiError
from stepdown.protocol.records.batches import iter_batches
from stepdown.storage.files.clock import SystemClock
from stepdown.storage.files.files import Files
from stepdown.storage.log.delayed_deletion import PendingDeletions
from stepdown.storage.log.log import Log
from stepdown.storage.log.log_config import LogConfig
from stepdown.storage.recovery.log_loading import LogOpening, open_log
from support.java_oracle import JavaError, java_oracle_for
from support.kafka_log import load_by_kafka
from support.logs_of_releases import RELEASES
from support.unsound_directories import TOPIC, UnsoundDirectory, make_unsound_directory

SEEDS = int(os.environ.get("STEPDOWN_SEEDS", 20))
SCHEMA = StructType([StructField(name, kind) for name, kind in (COLUMNS | DAMAGED).items()])
LENIENT = {"failOnDataLoss": "false", "skipCorrupt": "true"}

Row = tuple[bytes | None, bytes | None]


class Found(NamedTuple):
    """Offsets and rows of the partition, offsets of the sound one beside it, and the damage of all."""

    rows: list[tuple[int, Row]]
    sound: list[int]
    damages: list[Damage]

    def of_partition(self) -> list[Damage]:
        return [each for each in self.damages if each.partition == 0]


def read(directory: UnsoundDirectory, **options: str) -> Found:
    source = KafkaSegments(CaseInsensitiveDict({"path": directory.places, "maxPartitionBytes": "700", **options}))
    reader = source.reader(SCHEMA)
    rows: list[tuple[int, Row]] = []
    sound: list[int] = []
    damages: list[Damage] = []
    for task in reader.partitions():
        for batch in reader.read(task):
            for row in batch.to_pylist():
                found = row["damage"]
                if found is None and row["partition"]:
                    sound.append(row["offset"])
                elif found is None:
                    rows.append((row["offset"], (row["key"], row["value"])))
                else:
                    damages.append(
                        Damage(
                            topic=row["topic"],
                            partition=row["partition"],
                            kind=found["kind"],
                            reason=found["reason"],
                            file=found["file"],
                            first_offset=found["firstOffset"],
                            end_offset=found["endOffset"],
                        )
                    )
    return Found(rows, sound, damages)


def serve(directory: UnsoundDirectory, copy: Path) -> dict[int, Row]:
    """What a broker that starts on a copy after a crash serves."""
    files = Files()
    opening = LogOpening(
        files=files,
        clock=SystemClock(),
        deletions=PendingDeletions(files),
        clean=False,
        log_start_offset=directory.log_start,
    )
    log = open_log(str(copy / f"{TOPIC}-0"), TOPIC, 0, LogConfig(), opening)
    try:
        return dict(_fetch_all(log))
    finally:
        log.close()


def serve_by_kafka(directory: UnsoundDirectory, copy: Path) -> dict[int, Row]:
    """The same of Kafka, nothing where it does not start."""
    oracle = java_oracle_for("loading")
    try:
        return load_by_kafka(oracle, copy / f"{TOPIC}-0", directory.log_start, directory.recovery_point)
    except JavaError:
        return {}


def _fetch_all(log: Log) -> Iterator[tuple[int, Row]]:
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, 1 << 20, below=log.log_end_offset, min_one_message=True)
        following = offset
        for batch in iter_batches(found.read(0, found.size_bytes)):
            for record in batch.records():
                if record.offset >= offset:
                    yield record.offset, (record.key, record.value)
            following = max(following, batch.last_offset + 1)
        if following == offset:
            return
        offset = following


def names(damages: list[Damage], offset: int) -> bool:
    """Whether a damage says that something is wrong with the offset."""
    return any(
        (each.first_offset is None or each.first_offset <= offset)
        and (each.end_offset is None or offset < each.end_offset)
        for each in damages
    )


@pytest.mark.parametrize("judge", [serve, pytest.param(serve_by_kafka, marks=pytest.mark.java)])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_row_is_missing_or_wrong_without_a_word(
    tmp_path: Path, seed: int, judge: Callable[[UnsoundDirectory, Path], dict[int, Row]]
) -> None:
    release = RELEASES[seed // 2 % len(RELEASES)] if seed % 2 else None
    directory = make_unsound_directory(tmp_path / "logs", seed, release)
    if directory.is_twice:  # no broker starts
        with pytest.raises(PipelineFailure, match="is in two folders"):
            read(directory, **LENIENT)
        return
    rows, sound, all_damages = found_all = read(directory, **LENIENT)
    found, damages = dict(rows), found_all.of_partition()
    shutil.copytree(directory.path, tmp_path / "copy")
    served = judge(directory, tmp_path / "copy")
    told = f"seed {seed}, {release}: {', '.join(directory.damages)}; {all_damages}"

    assert tuple(sound) == directory.sound, told
    assert directory.gone is None or any(each.partition == directory.gone for each in all_damages), told

    twice = [offset for offset, _ in rows if sum(1 for other, _ in rows if other == offset) > 1]
    assert all(names(damages, offset) for offset in twice), f"{told}: {twice} are there twice"

    unlike = [offset for offset, row in served.items() if found.get(offset) != row and not names(damages, offset)]
    assert not unlike, f"{told}: {unlike} are not as served"

    invented = [offset for offset in found if offset not in served and offset not in directory.records]
    first_damage = min((each.first_offset or 0 for each in damages), default=1 << 63)
    assert not [offset for offset in invented if offset < first_damage], f"{told}: {invented} never were"

    # What lies before the first segment retention may have deleted.
    first = min(found, default=min((int(log.stem) for log in directory.folder.glob("*.log")), default=0))
    end = max(directory.known_end, max(found, default=-1) + 1)
    lost = [
        offset
        for offset in directory.records
        if max(directory.log_start, first) <= offset < end and offset not in found
    ]
    silent = [offset for offset in lost if not names(damages, offset)]
    assert not silent, f"{told}: {silent} are missing without a word"

    wrong = [offset for offset in found if offset in directory.records and not _is_same(directory, offset, found)]
    assert not [offset for offset in wrong if not names(damages, offset)], f"{told}: {wrong} are others"

    if all_damages:
        with pytest.raises((PipelineFailure, ApiError)):
            read(directory)
    else:
        assert read(directory) == found_all


def _is_same(directory: UnsoundDirectory, offset: int, found: dict[int, Row]) -> bool:
    record = directory.records[offset]
    return found[offset] == (record.key, record.value)
