"""Faults put into the replication code, one at a time: does the model (`replication_storm.py`) find them?

    python -m support.replication_mutations             from tests/: all of them; 1 when more than one is not found
    python -m support.replication_mutations 3           the fault of that number; ends with 1 when it is found

The source is changed as it is imported, in a process of its own; no file is touched. A run that hangs counts as found.
The last result is in docs/results/replication-mutations.md.
"""

import subprocess
import sys
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from .deadline import DEADLINE_S

ROOT = Path(__file__).parents[2]
SECONDS = 30.0
MOST_MISSED = 1

PARTITION = "broker/replication/replicated_partition.py"
FETCHING = "broker/replication/fetch_between_replicas.py"
FETCHER = "broker/replication/fetcher.py"
FOLLOWER = "broker/replication/follower_progress.py"
CHANGE = "broker/controller/partition_change.py"
CONTROLLER = "broker/controller/controller.py"

FAULTS = (
    ("acknowledge before the replicas have it", "broker/produce/response.py",
     "partition.high_watermark > info.last_offset", "True"),
    ("acknowledge one record early", "broker/produce/response.py",
     "partition.high_watermark > info.last_offset", "partition.high_watermark >= info.last_offset"),
    ("high watermark one too high", PARTITION, "lowest = follower.end_offset\n", "lowest = follower.end_offset + 1\n"),
    ("high watermark of the leader alone", PARTITION, "if follower.end_offset < lowest and (", "if False and ("),
    ("high watermark goes on below min.insync.replicas, and ignores who joins", PARTITION,
     "follower.node_id in self.isr\n", "False\n"),
    ("a follower is believed to have one record more", FOLLOWER,
     "self.end_offset = fetch_offset\n", "self.end_offset = fetch_offset + 1\n"),
    ("no check of the leader's epoch", FETCHING, "leader.check_leader_epoch(ask.leader_epoch)", "pass"),
    ("no divergence is told", FETCHING, "if ask.last_epoch != NO_EPOCH:", "if False:"),
    ("a follower forgets to truncate", PARTITION, "self.log.truncate_to(offset)", "pass"),
    ("a follower drops what it fetched", FETCHING, "partition.log.append_as_follower(answer.data)", "pass"),
    ("a follower drops what its leader has just written", FETCHING,
     "log.append(written.prepared, leader_epoch=written.leader_epoch, may_be_duplicate=False)", "pass"),
    ("a replica takes all that it finds on the disk for committed", PARTITION,
     "min(high_watermark, log.log_end_offset))", "log.log_end_offset)"),
    ("a new leader's epoch is not noted", PARTITION, "self.log.begin_epoch(self.leader_epoch)", "pass"),
    ("anybody joins the ISR", PARTITION,
     "if follower.end_offset >= max(self._high_watermark, self.epoch_start):", "if True:"),
    ("who lags stays in the ISR", PARTITION, "if stay != self.isr:", "if False:"),
    ("an old leader may change the ISR", CONTROLLER, "if not is_present or not isr", "if not isr"),
    ("a leader is elected outside of the ISR", CHANGE, "return replica in wanted.isr and is_acceptable(replica)",
     "return is_acceptable(replica)"),
    ("the last of the ISR is given up", CHANGE, "    elif not wanted.isr:\n", "    elif False:\n"),
    ("a new leader has the epoch of the old one", CHANGE, "leader_epoch=next_epoch(record.leader_epoch),",
     "leader_epoch=record.leader_epoch,"),
    ("a follower is not woken by appends", PARTITION,
     "                follower.stop_waiting(now_ms)\n                self._host.answer",
     "                follower.is_waiting = False\n                (lambda *_: None)"),
    ("a follower takes its leader's high watermark though its own log is shorter", PARTITION,
     "reached = min(high_watermark, self.log.log_end_offset)", "reached = high_watermark"),
)  # fmt: skip


def put_in(fault: tuple[str, str, str, str]) -> None:
    """Has the module be imported with its fault. Raises: ValueError when its text has changed."""
    _, path, right, wrong = fault
    source = (ROOT / path).read_text()
    if right not in source:
        raise ValueError(f"{path} has no {right!r} any more: {fault[0]}")
    original = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        if Path(self.path).resolve() == ROOT / path:
            return compile(source.replace(right, wrong), self.path, "exec")
        return original(self, name)

    loader: Any = SourceFileLoader
    loader.get_code = get_code


def look_for(number: int) -> int:
    """1 when seeds find the fault within its time, 0 when they do not."""
    put_in(FAULTS[number])
    from .replication_storm import main

    until = time.monotonic() + SECONDS
    seed = 0
    while time.monotonic() < until:
        if main(seed, seed + 1):
            return 1
        seed += 1
    return 0


def look_for_all() -> int:
    missed = []
    for number, (what, *_) in enumerate(FAULTS):
        command = [sys.executable, "-m", "support.replication_mutations", str(number)]
        began = time.monotonic()
        try:
            done = subprocess.run(
                command, cwd=ROOT / "tests", capture_output=True, text=True, timeout=DEADLINE_S, check=False
            )
            lines = [line for line in done.stdout.splitlines() if line.startswith("seed ")]
            found = done.returncode == 1 and bool(lines)
            how = lines[-1] if lines else f"not found: {done.stderr[-200:]}" if done.returncode else "not found"
        except subprocess.TimeoutExpired:
            found, how = True, "hangs"
        if not found:
            missed.append(what)
        print(f"| {what} | {how[:90]} | {time.monotonic() - began:.0f} s |", flush=True)
    print(f"{len(FAULTS) - len(missed)} of {len(FAULTS)} found")
    return int(len(missed) > MOST_MISSED)


if __name__ == "__main__":
    sys.exit(look_for(int(sys.argv[1])) if len(sys.argv) > 1 else look_for_all())
