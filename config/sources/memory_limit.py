"""Finds the memory limit of the machine and the container, and shrinks budgets to fit into it.

| file | content |
|---|---|
| /proc/meminfo | `MemTotal` of the machine |
| /proc/self/cgroup | the groups of this process |
| /sys/fs/cgroup/GROUP/memory.max, and those of the groups above it | cgroup v2, "max" for no limit |
| /sys/fs/cgroup/memory/GROUP/memory.limit_in_bytes, likewise | cgroup v1 |

In a container the mounted root is often the container's own group, so the files of the root are read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .origin import Given, Origin

MIB = 1 << 20
IDLE_BYTES = 44 * MIB
"""The memory of a broker without clients."""
SPARE_BYTES = 12 * MIB
"""Reserved for connections, topics and everything that the budgets do not count."""
LEAST_BYTES = IDLE_BYTES + SPARE_BYTES + 4 * MIB


@dataclass(frozen=True, slots=True)
class LimitedBudget:
    """A setting whose default may shrink to `share` of the memory beyond an idle broker, at least `least_bytes`."""

    key: str
    default_bytes: int
    share: float
    least_bytes: int


BUDGETS = (
    LimitedBudget("stepdown.request.memory.bytes", 48 * MIB, 0.26, 1 * MIB),
    LimitedBudget("socket.request.max.bytes", 100 * MIB, 0.26, 2 * MIB),
    LimitedBudget("stepdown.conversion.memory.bytes", 32 * MIB, 0.2, 1 * MIB),
    LimitedBudget("log.cleaner.dedupe.buffer.size", 128 * MIB, 0.2, 2 * MIB),
)
"""Responses that are not read may take half the budget of requests in addition: all together take 79 % of the memory.
A request above the budget of requests is served alone, so the largest request has the same share as that budget."""
PARTITIONS_KEY = "stepdown.max.partitions"
PARTITIONS_SHARE = 0.2
"""The share for partitions, in addition to half of SPARE_BYTES."""
PARTITION_BYTES = 4 * 1024
"""The memory of a partition in use: 2.5 kB of objects, and what reads and writes keep."""
MANY_PARTITIONS = 100_000
"""If the memory is enough for this many, the number of partitions is not limited."""


def memory_limit_bytes(root: Path = Path("/")) -> int | None:
    """The smallest limit for this process; None if none can be read. `root`: the folder that has /proc and /sys."""
    return min(_find_limits(root), default=None)


def shrink_budgets_to_limit(limit_bytes: int, brokers: int = 1) -> list[Given]:
    """Values for the budgets whose defaults are too large for this limit, which `brokers` in one process share."""
    spare = max(0, limit_bytes - IDLE_BYTES - SPARE_BYTES) // brokers
    origin = Origin(f"memory limit of {limit_bytes // MIB} MiB")
    found = [
        Given(budget.key, str(max(budget.least_bytes, int(spare * budget.share))), origin)
        for budget in BUDGETS
        if spare * budget.share < budget.default_bytes
    ]
    most = int(spare * PARTITIONS_SHARE + SPARE_BYTES / 2 / brokers) // PARTITION_BYTES
    return [*found, Given(PARTITIONS_KEY, str(most), origin)] if most < MANY_PARTITIONS else found


def _find_limits(root: Path) -> Iterator[int]:
    for line in _read_lines(root / "proc/meminfo"):
        if line.startswith("MemTotal:"):
            yield int(line.split()[1]) * 1024
    for line in _read_lines(root / "proc/self/cgroup"):
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            yield from _limits_of_group(root / "sys/fs/cgroup", group, "memory.max")
            yield from _limits_of_group(root / "sys/fs/cgroup/unified", group, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits_of_group(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes")


def _limits_of_group(mount: Path, group: str, name: str) -> Iterator[int]:
    path = PurePosixPath(group)
    for each in (path, *path.parents):
        for line in _read_lines(mount / str(each).lstrip("/") / name):
            if line.isdigit():
                yield int(line)


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []
