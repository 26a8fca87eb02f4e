"""What Python sees of first_batch.py, which is typed for Cython."""

COMPILED: bool

def plain_first(
    file: int, position: int, size: int, target: int, first_offset: int, window: memoryview
) -> tuple[int, int, bool, int] | None: ...
