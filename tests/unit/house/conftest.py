"""The house tests parse every module, and CPython 3.11's `ast.parse` is not re-entrant.

A collection in the middle of it may end a task of an earlier test whose error nobody took, of which asyncio logs the
traceback; formatting one calls `ast.parse` again, and the first call fails with SystemError.
"""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def collect_no_garbage() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
