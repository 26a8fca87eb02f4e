"""The times that objects keep, found by walking them: whoever notes one is found, also who begins to tomorrow."""

import asyncio
import gc
import sys
from collections.abc import Iterator
from types import ModuleType

PASSED_BY = (type, ModuleType, asyncio.AbstractEventLoop, str, bytes)
"""What is no broker's own, or has no times."""


def times_between(root: object, after_ms: int, before_ms: int) -> Iterator[str]:
    """Each number between these that can be reached from `root`, with the types on the way to it."""
    known = {id(vars(module)) for module in list(sys.modules.values())} | {id(root)}
    ways = [(root, type(root).__name__)]
    while ways:
        owner, way = ways.pop()
        for each in gc.get_referents(owner):
            if isinstance(each, int | float):
                if after_ms < each < before_ms:
                    yield f"{way}: {each}"
            elif id(each) not in known and not isinstance(each, PASSED_BY):
                known.add(id(each))
                ways.append((each, f"{way}.{type(each).__name__}"))
