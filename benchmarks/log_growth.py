"""What does it gain that a log's newest file grows ahead of small appends, on this file system?

    python benchmarks/log_growth.py
    python benchmarks/log_growth.py --folder /dev/shm --rounds 5 --sizes 10072 --steps 0 131072

Twelve files of a megabyte get appends of one size in turn, as partitions do: plainly (step 0), or with zeros behind
each that begins a new step. Then they are read by 128 KiB, over and over. Prints medians of MB appended and GB read for
each second of this process's CPU time. docs/decisions/log-growth.md tells what follows from it.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import process_time

FILES = 12
FILE_BYTES = 1_040_000
READ_BYTES = 128 * 1024
READ_TIMES = 100
ZEROS = memoryview(bytes(1 << 20))


@contextmanager
def opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def append(files: Sequence[int], data: bytes, step: int) -> float:
    """MB a second."""
    began, end, room_end = process_time(), 0, 0
    while end < FILE_BYTES:
        position, end = end, end + len(data)
        room = 0
        if step and end > room_end:
            room_end = -(-end // step) * step
            room = room_end - end
        for file in files:
            os.pwritev(file, [data, ZEROS[:room]] if room else [data], position)
    for file in files:
        if room_end > end:
            os.truncate(file, end)
    return end * len(files) / (process_time() - began) / 1e6


def read(files: Sequence[int]) -> float:
    """GB a second."""
    into = [bytearray(READ_BYTES)]
    began, count = process_time(), 0
    for _ in range(READ_TIMES):
        for file in files:
            for position in range(0, FILE_BYTES, READ_BYTES):
                count += os.preadv(file, into, position)
    return count / (process_time() - began) / 1e9


def turn(folder: Path, size: int, step: int) -> tuple[float, float]:
    with ExitStack() as stack:
        files = [stack.enter_context(opened(folder / str(number))) for number in range(FILES)]
        appended = append(files, bytes(size), step)
        read(files)  # for caches to be as full as they get
        return appended, read(files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the files are written")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1800, 10_072, 16_384, 32_768, 65_536])
    parser.add_argument("--steps", type=int, nargs="+", default=[0, 65_536, 131_072, 262_144])
    given = parser.parse_args()
    print(f"{'append':>8} {'step':>8} {'appended, MB/s':>16} {'read, GB/s':>12}")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for size in given.sizes:
            turns: dict[int, list[tuple[float, float]]] = {step: [] for step in given.steps}
            for _ in range(given.rounds):
                for step in given.steps:
                    turns[step].append(turn(Path(folder), size, step))
            for step, found in turns.items():
                appended, got = (median(each) for each in zip(*found, strict=True))
                print(f"{size:8,} {step:8,} {appended:16,.0f} {got:12.1f}")


if __name__ == "__main__":
    main()
