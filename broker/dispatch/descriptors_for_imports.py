"""Reserves file descriptors for modules that are imported lazily.

All handlers at once take 6 MB, so each is read with the first request that needs it. By then clients may have taken all
descriptors that the process may have (`ulimit -n`): these few are let go while a module is read.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

COUNT = 6


class SpareDescriptors:
    """Of /dev/null; as many as can be had."""

    def __init__(self) -> None:
        self._kept: list[int] = []
        self._take()

    @contextmanager
    def free(self) -> Iterator[None]:
        """There are descriptors to be had meanwhile, unless another thread takes them."""
        self.close()
        try:
            yield
        finally:
            self._take()

    def close(self) -> None:
        while self._kept:
            os.close(self._kept.pop())

    def _take(self) -> None:
        with suppress(OSError):
            while len(self._kept) < COUNT:
                self._kept.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
