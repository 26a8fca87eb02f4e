"""The same seed gives the same lines: scenarios again and again, under other hash seeds and with threads that dawdle.

    python -m support.same_seed 1000 [NAME…]            from tests/: so many runs of each; ends with 1 if two differ

Prints a digest a scenario, which other versions of Python give as well. In half of the runs of each process worker
threads take up to `DAWDLES_S` longer than they need, and the loop stalls now and then, as on a busy machine.
`RECOMPRESSED` is a scenario in which threads have something to do.
"""

import asyncio
import hashlib
import json
import logging
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from difflib import unified_diff
from itertools import count, repeat
from pathlib import Path
from random import Random
from typing import Any

from stepdown.testing.scenarios.runner import run
from stepdown.testing.scenarios.scenario import Scenario, load, names, parse

RUNS_A_PROCESS = 50
DAWDLES_S = 0.02
STALL_S, STALLS = 0.002, 0.01
PROCESSES = 10 * (os.cpu_count() or 1)  # that run at a time: most of a run is spent waiting for threads that dawdle
IN_MEMORY = {"TMPDIR": "/dev/shm"} if Path("/dev/shm").is_dir() else {}
SEED = 1
RECOMPRESSED = """
name: recompressed
title: Each batch is compressed anew, in a worker thread
explains: What is sent meanwhile waits, at the same time of the clock in each run.
topics: {orders: {partitions: 2, config: {compression.type: zstd}}}
producers: {app: {compression.type: gzip, linger.ms: 3}, other: {compression.type: lz4}}
steps:
  - send: {producer: app, topic: orders, values: [a, b], partition: 0}
  - send: {producer: other, topic: orders, values: [c], partition: 1, bytes: 500}
  - advance: 5s
  - send: {producer: app, topic: orders, count: 20, every: 1ms}
  - advance: 5s
  - expect: {acknowledged: [a, b, c]}
"""


def main(runs: int, wanted: list[str]) -> int:
    """Ends with 1 when a scenario had two time lines, which it shows."""
    same = True
    for name in wanted or ["recompressed", *names()]:
        found: Counter[str] = Counter()
        shares = [min(RUNS_A_PROCESS, runs - first) for first in range(0, runs, RUNS_A_PROCESS)]
        with ThreadPoolExecutor(PROCESSES) as side_by_side:
            for part in side_by_side.map(_in_a_process, repeat(name), shares, count()):
                found.update(part)
        lines = found.most_common(1)[0][0]
        print(f"{name:32} {found.total():5} runs  {hashlib.sha256(lines.encode()).hexdigest()[:16]}", flush=True)
        for other in found.keys() - {lines}:
            same = False
            print(f"{found[other]} of {found.total()} runs of {name} went another way:")
            print("\n".join(unified_diff(lines.splitlines(), other.splitlines(), lineterm="", n=2)))
    return 0 if same else 1


def _in_a_process(name: str, runs: int, hash_seed: int) -> dict[str, int]:
    """How often each time line came."""
    command = [sys.executable, "-m", "support.same_seed", "--here", name, str(runs), str(hash_seed)]
    environment = {**os.environ, **IN_MEMORY, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, int] = json.loads(done.stdout)
    return found


def here(name: str, runs: int, draws: Random) -> Counter[str]:
    """The time lines of runs in this process."""
    logging.getLogger("stepdown").setLevel(logging.ERROR)
    scenario = _scenario(name)
    found: Counter[str] = Counter()
    for number in range(runs):
        if number == runs // 2:
            be_busy(draws)
        result = asyncio.run(run(scenario, seed=SEED))
        found["\n".join([*result.lines, result.failure])] += 1
    return found


def _scenario(name: str) -> Scenario:
    return parse(RECOMPRESSED, name) if name == "recompressed" else load(name)


def be_busy(draws: Random) -> None:
    """From now on threads and the loop of this process are held up."""
    submit, run_handle = ThreadPoolExecutor.submit, asyncio.Handle._run

    def later(self: ThreadPoolExecutor, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        def dawdle() -> Any:
            time.sleep(draws.random() * DAWDLES_S)
            return work(*args, **kwargs)

        return submit(self, dawdle)

    def stall(self: asyncio.Handle) -> None:
        if draws.random() < STALLS:
            time.sleep(STALL_S)
        run_handle(self)

    ThreadPoolExecutor.submit = later  # type: ignore[method-assign]
    asyncio.Handle._run = stall  # type: ignore[method-assign]


if __name__ == "__main__":
    if sys.argv[1] == "--here":
        print(json.dumps(here(sys.argv[2], int(sys.argv[3]), Random(sys.argv[4]))))
    else:
        sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
