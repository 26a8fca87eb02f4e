"""A memory budget as the page has it."""

from typing import Any

from ..admission.kept_bytes import KeptBytes
from ..memory_budget import MemoryBudget


def describe_budget(name: str, budget: MemoryBudget | KeptBytes) -> dict[str, Any]:
    """What is in use, and the limit."""
    return {"name": name, "used_bytes": budget.in_use_bytes, "limit_bytes": budget.limit_bytes}
