"""A memory budget as a row of the page."""

from typing import Any

from ..admission.kept_bytes import KeptBytes
from ..memory_budget import MemoryBudget


def describe_budget(name: str, budget: MemoryBudget | KeptBytes) -> dict[str, Any]:
    """The row of a budget: its name, bytes in use, and limit."""
    return {"name": name, "used_bytes": budget.in_use_bytes, "limit_bytes": budget.limit_bytes}
