"""What a log is worth after the worst.

Power cut, process killed at any change of the disk, segments with flipped bits.
"""

import logging
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from stepdown.protocol.errors import ApiError, InvalidRecord
from stepdown.protocol.records.layout import Codec
from stepdown.storage.directories.log_manager import LogManager
from stepdown.storage.log.flush import Flush
from stepdown.storage.log.log import Log
from stepdown.storage.log.log_config import LogConfig
from support.clock import ManualClock
from support.files import Crash, FaultyFiles
from support.logs import NOW, append, batch, make_log, read_all, values_of

SETTINGS: dict[str, Any] = {"segment_bytes": 1500, "index_interval_bytes": 200, "retention_ms": -1}


def values(start: int, count: int) -> list[bytes]:
    return [b"%d" % n for n in range(start, start + count)]


def exercise(log: Log, random: Random, acknowledged: list[int]) -> None:
    """Appends, rolls and flushes until the disk gives up; `acknowledged` ends with the log's end after each append."""
    sequence = 0
    for _ in range(200):
        count = random.randint(1, 6)
        start = log.log_end_offset
        producer: dict[str, Any] = {}
        if random.random() < 0.5:
            producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence}
            sequence += count
        append(log, *values(start, count), timestamp=NOW + start, **producer)
        acknowledged.append(log.log_end_offset)
        if random.random() < 0.05:
            log.flush()


def assert_prefix(log: Log, at_least: int) -> None:
    """The log holds 0, 1, 2, … without a gap, up to at least that offset, and takes more."""
    found = values_of(read_all(log))
    assert found == values(0, log.log_end_offset)
    assert log.log_end_offset >= at_least
    append(log, b"%d" % log.log_end_offset)
    assert_indexes(log)


def assert_indexes(log: Log) -> None:
    for segment in log.segments:
        positions = {header.position: header.last_offset for header in segment.batches()}
        for n in range(segment.offset_index.count):
            assert segment.offset_index.entry(n)[1] in positions
        for n in range(segment.time_index.count):
            assert segment.base_offset + segment.time_index.entry(n)[1] in positions.values()


def until_it_crashes(
    exercised: Callable[[Log, Random, list[int]], None], tmp_path: Path, files: FaultyFiles, random: Random, most: int
) -> tuple[int, int]:
    """The end of what was acknowledged, and the recovery point, when the process dies at one of so many changes."""
    acknowledged = [0]
    log = make_log(tmp_path / "orders-0", files=files, **SETTINGS)
    files.crash_in = random.randint(0, most)
    with pytest.raises(Crash):
        exercised(log, random, acknowledged)
        while True:
            log.flush()
    log.release()
    return acknowledged[-1], log.recovery_point


@pytest.mark.parametrize("seed", range(40))
def test_everything_acknowledged_is_there_after_the_process_dies_at_any_change_of_the_disk(
    tmp_path: Path, seed: int
) -> None:
    files = FaultyFiles(seed=seed)
    acknowledged, checkpoint = until_it_crashes(exercise, tmp_path, files, Random(seed), 300)
    assert_prefix(make_log(tmp_path / "orders-0", clean=False, recovery_point=checkpoint, **SETTINGS), acknowledged)


@pytest.mark.parametrize("seed", range(40))
def test_everything_flushed_is_there_after_the_power_went(tmp_path: Path, seed: int) -> None:
    files = FaultyFiles(seed=seed)
    _, flushed = until_it_crashes(exercise, tmp_path, files, Random(seed), 400)
    files.lose_power()
    assert_prefix(make_log(tmp_path / "orders-0", clean=False, recovery_point=flushed, **SETTINGS), flushed)


def exercise_with_workers(log: Log, random: Random, acknowledged: list[int]) -> None:
    """As `exercise`, with flushes that are planned at one time and run at another, as a worker's are."""
    planned: list[Flush] = []
    for _ in range(600):
        append(log, *values(log.log_end_offset, random.randint(1, 6)))
        acknowledged.append(log.log_end_offset)
        choice = random.random()
        if choice < 0.06:
            planned.append(log.plan_flush())
        elif choice < 0.08:
            planned.append(log.plan_flush_of_closed_segments())
        elif choice < 0.15:
            log.roll()
        if planned and random.random() < 0.15:
            planned.pop(random.randrange(len(planned))).run()


@pytest.mark.parametrize("seed", range(40))
def test_so_it_is_when_flushes_run_later_than_they_were_planned(tmp_path: Path, seed: int) -> None:
    files = FaultyFiles(seed=seed)
    _, flushed = until_it_crashes(exercise_with_workers, tmp_path, files, Random(seed), 500)
    files.lose_power()
    log = make_log(tmp_path / "orders-0", clean=False, recovery_point=flushed, **SETTINGS)
    found = list(read_all(log))
    assert [record.offset for record in found[:flushed]] == list(range(flushed))
    # Beyond it a segment may have lost its end and the one behind it not, which Kafka does not notice either.
    assert [record.value for record in found] == [b"%d" % record.offset for record in found]
    for segment in log.segments:
        assert Path(segment.file.path).stat().st_size == segment.size
    assert_indexes(log)


@pytest.mark.parametrize("seed", range(10))
def test_a_recovery_that_is_interrupted_is_done_again(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    log = make_log(tmp_path / "orders-0", **SETTINGS)
    acknowledged = [0]
    exercise(log, random, acknowledged)
    log.release()
    files = FaultyFiles(seed=seed)
    files.crash_in = random.randint(0, 60)
    with pytest.raises(Crash):
        make_log(tmp_path / "orders-0", files=files, clean=False, **SETTINGS)
        raise Crash
    assert_prefix(make_log(tmp_path / "orders-0", clean=False, **SETTINGS), acknowledged[-1])


def a_segment(random: Random) -> bytes:
    """Batches of all magics and codecs, one after the other, as a log may hold them."""
    data = b""
    offset = 0
    for _ in range(random.randint(1, 12)):
        magic = random.choice([0, 1, 2, 2, 2])
        codec = random.choice([Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4])
        count = random.randint(1, 5)
        data += batch(*[random.randint(0, 60)] * count, first_offset=offset, magic=magic, codec=codec)
        offset += count
    return data


def mutated(data: bytes, random: Random) -> bytes:
    """The segment with a few bytes changed, cut, doubled, or replaced by extreme numbers."""
    out = bytearray(data)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(out))
        match random.randrange(5):
            case 0:
                out[at] ^= 1 << random.randrange(8)
            case 1:
                out[at : at + 4] = random.choice([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", bytes(4)])
            case 2:
                del out[at : at + random.randint(1, 80)]
            case 3:
                out[at:at] = out[at : at + random.randint(1, 80)]
            case _:
                out[at : at + random.randint(1, 80)] = random.randbytes(random.randint(0, 80))
        out = out or bytearray(1)
    return bytes(out)


def open_and_use(directory: Path, *, clean: bool) -> None:
    """Whatever is in the segment: the log opens, reads end or are refused, and it takes more."""
    log = make_log(directory, clean=clean, **SETTINGS)
    try:
        for _ in range(2):
            offset = log.log_start_offset
            for _ in range(100):
                found = log.read(offset, 1 << 16, below=log.log_end_offset, min_one_message=True)
                assert found.size_bytes <= log.size_bytes
                if offset >= log.log_end_offset:
                    break
                offset += 1
        log.offset_for_timestamp(NOW)
        log.max_timestamp_offset()
    except InvalidRecord:
        pass  # the offset of a wrapper lies outside its checksum, so any may be left
    except ApiError:
        assert clean  # without the mark all that is left has a good checksum
    if log.log_end_offset < 1 << 62:
        append(log, b"more")
    log.close()


def mutate_segments(tmp_path: Path, count: int, seed: int) -> None:
    random = Random(seed)
    directory = tmp_path / "orders-0"
    original = a_segment(random)
    for n in range(count):
        if n % 20 == 0:
            original = a_segment(random)
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        (directory / f"{0:020d}.log").write_bytes(mutated(original, random))
        if n % 2:
            (directory / f"{0:020d}.index").write_bytes(random.randbytes(random.choice([0, 8, 16, 21])))
            (directory / f"{0:020d}.timeindex").write_bytes(random.randbytes(random.choice([0, 12, 24, 31])))
            (directory / f"{0:020d}.txnindex").write_bytes(random.randbytes(random.choice([0, 34, 40])))
            (directory / f"{random.randint(0, 50):020d}.snapshot").write_bytes(random.randbytes(30))
            (directory / "leader-epoch-checkpoint").write_bytes(random.randbytes(20))
        open_and_use(directory, clean=n % 3 == 0)


def test_a_thousand_mutated_segments_are_opened_without_a_crash(tmp_path: Path) -> None:
    mutate_segments(tmp_path, 1000, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_thousand_mutated_segments_neither_crash_nor_grow(
    tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)  # what pytest keeps of the log grows
    mutate_segments(tmp_path, 200, seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mutate_segments(tmp_path, 10_000, seed)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10


KILLED = """
import sys
from pathlib import Path
from stepdown.storage.files.clock import SystemClock
from support.files import FaultyFiles
from stepdown.storage.log.log_config import LogConfig
from stepdown.storage.directories.log_manager import LogManager
from support.logs import append
config = LogConfig(segment_bytes=4000, index_interval_bytes=300)
dirs = LogManager([sys.argv[1]], FaultyFiles(), SystemClock(), config)
log = dirs.logs.get(("orders", 0)) or dirs.create("orders", 0, None)
while True:
    append(log, b"%d" % log.log_end_offset)
    print(log.log_end_offset, flush=True)
    if log.log_end_offset % 50 == 0:
        log.flush()
        dirs.checkpoints.write_recovery_points()
"""


def kill_while_it_writes(directory: Path, appends: int) -> int:
    """Runs a process that appends, kills it after so many acknowledged appends; the last end it told."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(directory)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        for _ in range(appends):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        told = [line for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    return int(told[-1]) if told else 0


def kill_rounds(tmp_path: Path, rounds: int, seed: int) -> None:
    random = Random(seed)
    for _ in range(rounds):
        told = kill_while_it_writes(tmp_path, random.randint(1, 300))
        dirs = LogManager([str(tmp_path)], FaultyFiles(), ManualClock(NOW), LogConfig(segment_bytes=4000))
        log = dirs.logs["orders", 0]
        assert log.log_end_offset >= told
        assert values_of(read_all(log)) == values(0, log.log_end_offset)
        dirs.shutdown()


def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    kill_rounds(tmp_path, 3, seed=1)


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    kill_rounds(tmp_path, 200, seed=2)
