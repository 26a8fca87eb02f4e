"""What takes memory, as rows of the page."""

import os
from pathlib import Path
from typing import Any

from ..admission.kept_bytes import KeptBytes
from ..memory_budget import MemoryBudget

STATM = Path("/proc/self/statm")


def describe_budget(name: str, budget: MemoryBudget | KeptBytes) -> dict[str, Any]:
    """The row of a budget: its name, bytes in use, and limit."""
    return {"name": name, "used_bytes": budget.in_use_bytes, "limit_bytes": budget.limit_bytes}


def describe_process() -> list[dict[str, Any]]:
    """The row of this process: its resident memory. No row where the system does not say it."""
    try:
        resident_pages = int(STATM.read_text().split()[1])
    except OSError:
        return []
    return [{"name": "process", "used_bytes": resident_pages * os.sysconf("SC_PAGE_SIZE"), "limit_bytes": None}]
