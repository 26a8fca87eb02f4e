"""Workloads as log directories: read back by the storage that a broker serves from."""

from itertools import chain
from pathlib import Path

import pytest
from stepdown.pipeline.command import main
from stepdown.pipeline.failures import PipelineFailure
from stepdown.pipeline.workload.log_directory import write_log_directory
from stepdown.pipeline.workload.records import Workload
from stepdown.protocol.records.layout import Codec
from stepdown.storage.directories.log_manager import LogManager
from stepdown.storage.files.files import Files
from support.clock import ManualClock
from support.logs import read_all

MAGICS_AND_CODECS = [(magic, codec) for magic in (0, 1, 2) for codec in Codec if magic == 2 or codec is not Codec.ZSTD]


def stored(directory: Path, topic: str = "workload") -> dict[int, list[tuple[int, bytes | None, bytes | None]]]:
    """(timestamp, key, value) by partition."""
    log_manager = LogManager([str(directory)], Files(), ManualClock(0))
    try:
        return {
            partition: [
                (r.timestamp, None if r.key is None else bytes(r.key), None if r.value is None else bytes(r.value))
                for r in read_all(log)
            ]
            for (name, partition), log in sorted(log_manager.logs.items())
            if name == topic
        }
    finally:
        log_manager.shutdown()


def planned(workload: Workload) -> dict[int, list[tuple[int, bytes | None, bytes | None]]]:
    found: dict[int, list[tuple[int, bytes | None, bytes | None]]] = {n: [] for n in range(workload.partitions)}
    for record in chain.from_iterable(workload.make_chunk(number) for number in workload.chunk_numbers):
        timestamp = record.timestamp if workload.magic else -1
        found[record.partition].append((timestamp, record.key, record.value))
    return found


@pytest.mark.parametrize(("magic", "codec"), MAGICS_AND_CODECS, ids=lambda value: getattr(value, "name", value))
def test_every_magic_and_codec_reads_back_as_planned(tmp_path: Path, magic: int, codec: Codec) -> None:
    workload = Workload(records=300, size=50, partitions=2, keys="uniform", magic=magic, codec=codec, batch_bytes=1000)
    stored_bytes = write_log_directory(workload, str(tmp_path))
    assert stored_bytes == sum(log.stat().st_size for log in tmp_path.glob("workload-*/*.log"))
    assert {log.read_bytes()[16] for log in tmp_path.glob("workload-*/*.log")} == {magic}
    assert stored(tmp_path) == planned(workload)


def test_segments_roll_and_the_same_workload_gives_the_same_bytes(tmp_path: Path) -> None:
    workload = Workload(records=400, size=100, partitions=2, codec=Codec.LZ4, batch_bytes=2000)
    for name in ("one", "two"):
        write_log_directory(workload, str(tmp_path / name), segment_bytes=6000)
    one, two = (
        {log.relative_to(tmp_path / name): log.read_bytes() for log in (tmp_path / name).glob("*/*.log")}
        for name in ("one", "two")
    )
    assert len(one) > 4
    assert one == two


def test_a_topic_that_is_there_goes_on_at_its_end(tmp_path: Path) -> None:
    workload = Workload(records=50, size=10, magic=1, codec=Codec.GZIP)
    write_log_directory(workload, str(tmp_path))
    write_log_directory(workload, str(tmp_path))
    assert stored(tmp_path) == {0: 2 * planned(workload)[0]}


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    served = LogManager([str(tmp_path)], Files(), ManualClock(0))
    with pytest.raises(PipelineFailure, match="in use by another broker"):
        write_log_directory(Workload(records=1), str(tmp_path))
    served.shutdown()


def test_the_job_writes_a_directory_and_prints_what_it_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--records", "20", "--size", "5", "--magic", "0", "--codec", "snappy", "--keys", "zipf", "--json"]
    assert main(["workload", str(tmp_path / "logs"), *options]) == 0
    assert '"records": 20' in capsys.readouterr().out
    assert len(stored(tmp_path / "logs")[0]) == 20


@pytest.mark.parametrize(
    ("target", "options", "reason"),
    [
        ("logs", ["--magic", "1", "--codec", "zstd"], "magic 1 has no zstd"),
        ("127.0.0.1:9", ["--magic", "1"], "goes into a log directory"),
        ("logs", ["--partitions", "0"], "partitions is below 1"),
    ],
)
def test_a_job_that_cannot_be_is_bad_usage(
    tmp_path: Path, target: str, options: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / target) if target == "logs" else target
    assert main(["workload", place, "--records", "1", *options]) == 2
    assert reason in capsys.readouterr().err
