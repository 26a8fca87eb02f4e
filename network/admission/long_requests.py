"""Limits how many long requests run at once, since their unfinished responses add up in memory. The others wait and
keep what they built in their first turns.
"""

import asyncio
from functools import partial

from ..answerer import CloseConnection
from .kept_bytes import KeptBytes

BUILT_BYTES = 96 * 1024
"""What two turns build, at most: the metadata of 1,900 partitions is 84 kB, and 1,200 connections built 100 MB."""


class LongRequests:
    """`most` places. A free place goes to the networks in turn, and within a network to the longest waiting request.
    `unread` counts what the waiting requests have built.
    """

    def __init__(self, most: int, unread: KeptBytes) -> None:
        self._free = most
        self._unread = unread
        self._waiting: dict[str, dict[asyncio.Future[None], None]] = {}

    @property
    def is_full(self) -> bool:
        return not self._free

    async def acquire(self, network: str) -> None:
        """Waits for a place. Raises: CloseConnection when too many wait."""
        if self._free:
            self._free -= 1
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(network, {})[granted] = None
        self._unread.keep(granted, network, BUILT_BYTES, partial(self._refuse_waiter, granted, network))
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # the place came too late to be used
                self.release()
            raise
        finally:
            self._remove_waiter(granted, network)
            self._unread.release(granted, network)

    def release(self) -> None:
        """Gives the place to the next waiting request."""
        while self._waiting:
            network, own = next(iter(self._waiting.items()))
            granted = next(iter(own))
            del self._waiting[network], own[granted]
            if own:
                self._waiting[network] = own  # moved to the end
            if not granted.done():
                granted.set_result(None)
                return
        self._free += 1

    def _remove_waiter(self, granted: asyncio.Future[None], network: str) -> None:
        own = self._waiting.get(network, {})
        own.pop(granted, None)
        if not own:
            self._waiting.pop(network, None)

    def _refuse_waiter(self, granted: asyncio.Future[None], network: str) -> None:
        others = sum(map(len, self._waiting.values()))
        self._remove_waiter(granted, network)
        if not granted.done():
            granted.set_exception(
                CloseConnection(
                    f"its request takes long, and {others} wait for others that do; see stepdown.request.memory.bytes"
                )
            )
