"""What do `stepdown produce`, `consume` and the starts of commands take beside kcat?

    python bench/questions/kcat.py [ROUNDS]

Writes 100,000 lines of 100 bytes to a topic of one broker and reads them back, by turns with kcat (`apt-get install
kafkacat`), ROUNDS times (5). Prints the medians of seconds by the clock and of processor time. The status is 1 when
`--help` takes more than 0.25 s of processor time, or `topics list` 0.3 s.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from support.broker import Stepdown  # type: ignore[import-not-found]

ROUNDS, LINES = 5, 100_000
KCAT = shutil.which("kcat") or shutil.which("kafkacat") or sys.exit("no kcat: apt-get install kafkacat")
STEPDOWN = (sys.executable, "-m", "stepdown")
MOST_CPU_S = {"help": 0.25, "topics list": 0.3}

Took = tuple[float, float]
"""Seconds by the clock, and of processor time."""


def run_timed(command: Sequence[str], stdin: bytes = b"") -> Took:
    cpu, began = os.times(), perf_counter()
    subprocess.run(command, input=stdin, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    used = after.children_user + after.children_system - cpu.children_user - cpu.children_system
    return perf_counter() - began, used


def measure(rounds: int) -> dict[str, Took]:
    """Medians by what was run."""
    lines = b"x" * 99 + b"\n"
    with tempfile.TemporaryDirectory() as folder, Stepdown(Path(folder)) as broker:
        broker.create_topic("read")
        run_timed((KCAT, "-P", "-b", broker.address, "-t", "read"), lines * LINES)
        at = ("-b", broker.address)
        runs: dict[str, Callable[[], Took]] = {
            "help": lambda: run_timed((*STEPDOWN, "--help")),
            "topics list": lambda: run_timed((*STEPDOWN, "topics", "list", *at)),
            "kcat produce": lambda: run_timed((KCAT, "-P", *at, "-t", "written"), lines * LINES),
            "produce": lambda: run_timed((*STEPDOWN, "produce", "written", *at), lines * LINES),
            "kcat consume": lambda: run_timed((KCAT, "-C", "-e", "-q", *at, "-t", "read", "-o", "beginning")),
            "consume": lambda: run_timed((*STEPDOWN, "consume", "read", "-e", *at)),
        }
        broker.create_topic("written")
        taken: dict[str, list[Took]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                taken[name].append(run())
    return {name: (median(clock for clock, _ in each), median(cpu for _, cpu in each)) for name, each in taken.items()}


def main(rounds: int) -> int:
    """The status."""
    took = measure(rounds)
    print("| | clock, s | CPU, s |\n|---|---|---|")
    for name, (clock, cpu) in took.items():
        print(f"| {name} | {clock:.2f} | {cpu:.2f} |")
    return int(any(took[name][1] > most for name, most in MOST_CPU_S.items()))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS))
