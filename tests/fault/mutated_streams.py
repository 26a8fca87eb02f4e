"""Compressed batches with damaged streams, opened and converted by loops that AddressSanitizer watches.

    python tests/fault/mutated_streams.py SECONDS SEED    # or: make sanitize SANITIZE_S=1800 SEED=25

Builds the compiled modules of `protocol/records/` with `-fsanitize=address` in a folder of their own, and runs them
there on batches of LZ4 and snappy whose streams were changed, cut or mixed with others, checksums made right again.
What they refuse or make of it is no matter; a read or write out of bounds ends the run with a report. Needs gcc.
"""

import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLAGS = "-fsanitize=address -fno-omit-frame-pointer -O1"
BUILD = """
import runpy, sys
from setuptools import Distribution
modules = runpy.run_path("setup.py")["extensions"]()
for module in modules:
    module.extra_compile_args = sys.argv[1].split()
    module.extra_link_args = ["-fsanitize=address"]
watched = Distribution({"name": "watched", "ext_modules": modules, "package_dir": {"stepdown": "."}})
command = watched.get_command_obj("build_ext")
command.inplace, command.parallel = 1, 2
command.ensure_finalized()
command.run()
"""
BYTES = (0, 1, 0x0F, 0x7F, 0x80, 0xF0, 0xFF)


def build(folder: Path) -> None:
    """Puts a copy of what is needed there, compiled to be watched."""
    package = folder / "stepdown"
    leave_out = shutil.ignore_patterns("*.so", "*.c", "__pycache__")
    for name in ("protocol", "config", "include"):
        shutil.copytree(ROOT / name, package / name, ignore=leave_out)
    for name in ("__init__.py", "setup.py"):
        shutil.copy(ROOT / name, package / name)
    subprocess.run([sys.executable, "-c", BUILD, FLAGS], cwd=package, check=True)


def run(folder: Path, seconds: str, seed: str) -> int:
    """The exit code of a process that mutates for so long."""
    runtime = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    watched = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
    paths = f"{folder}{os.pathsep}{sysconfig.get_path('purelib')}"  # and not what is installed in place: -S
    environment = os.environ | watched | {"PYTHONPATH": paths}
    command = [sys.executable, "-S", __file__, "--here", seconds, seed]
    return subprocess.run(command, env=environment, check=False).returncode


def mutate(seconds: float, seed: int) -> None:
    """Opens and converts damaged batches; prints how many, and what became of them."""
    from stepdown.protocol.errors import CorruptRecord, InvalidRecord
    from stepdown.protocol.records.builder import build_batch
    from stepdown.protocol.records.conversion.compressed_batch import NO_LIMIT, convert_compressed_batches
    from stepdown.protocol.records.kernel import BlockDecompressor, crc32c, validate_and_survey_blocks
    from stepdown.protocol.records.layout import Codec
    from stepdown.protocol.records.record import Record

    chance = random.Random(seed)
    words = [chance.randbytes(chance.randrange(2, 9)) for _ in range(50)]

    def batch(codec: Codec, records: int, size: int) -> bytes:
        values = (b" ".join(chance.choices(words, k=size // 5)) for _ in range(records))
        made = [Record(offset=n, timestamp=5 + n, key=b"key", value=value) for n, value in enumerate(values)]
        return bytes(build_batch(made, codec=codec))

    shapes = ((1, 20), (3, 100), (8, 60), (20, 400), (250, 1000))
    whole = [batch(codec, *shape) for codec in (Codec.LZ4, Codec.SNAPPY) for shape in shapes for _ in range(8)]
    head, blocks, rooms = 61, BlockDecompressor(), [bytearray(size) for size in (20_000, 100_000, 400_000)]
    most = (NO_LIMIT, NO_LIMIT, 3_000, 60_000)
    seen: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(500):
            data = bytearray(chance.choice(whole))
            for _ in range(chance.randrange(1, 5)):
                byte = chance.choice(BYTES) if chance.random() < 0.6 else chance.randrange(256)
                data[chance.randrange(head, len(data))] = byte
            if chance.random() < 0.2:
                del data[chance.randrange(head + 1, len(data)) :]
            if chance.random() < 0.1:
                at = chance.randrange(head, len(data))
                data[at:] = chance.choice(whole)[at:]
            data[8:12] = (len(data) - 12).to_bytes(4, "big")
            data[17:21] = crc32c(memoryview(data)[21:]).to_bytes(4, "big")
            seen["streams"] += 1
            if validate_and_survey_blocks(data, blocks, 1 << 20) is not None:
                seen["accepted"] += 1
            try:
                made = convert_compressed_batches(
                    data, 0, chance.randrange(2), chance.choice(rooms), 0, chance.choice(most)
                )
                seen["converted" if made.source_end else "left to the library"] += 1
            except (CorruptRecord, InvalidRecord):
                seen["refused"] += 1
    print(", ".join(f"{name}: {count:,}" for name, count in seen.items()))


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--here"]:
        mutate(float(arguments[1]), int(arguments[2]))
        return 0
    if len(arguments) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        return run(Path(folder), *arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
