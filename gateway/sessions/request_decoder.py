"""Decodes requests of clients, with a limit for their items; a worker decodes those with many items.

The cluster limits requests that are passed on as bytes. Decoding takes memory and event loop time of this process: an
item takes a hundred times its bytes on the wire.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ...network.worker_threads import WorkerThreads, drop_traceback
from ...protocol.api import API, ApiKey
from ...protocol.errors import TooManyItems
from ...protocol.frame import RequestHeader, decode_request_header
from ...protocol.schema import decoder_of

T = TypeVar("T")
MOST_ITEMS_AT_ONCE = 500
"""The most items, in all arrays, of a message that is decoded or encoded on the event loop."""
MOST_ITEMS = 20_000
"""The most items in all arrays of a request, as for most requests at a broker."""


class DecodedRequest(NamedTuple):
    """A request and its header. `has_many_items`: more than `MOST_ITEMS_AT_ONCE`."""

    header: RequestHeader
    value: Any
    has_many_items: bool


class RequestDecoder:
    """`most_items` is `stepdown.request.max.items`."""

    def __init__(self, workers: WorkerThreads, most_items: int) -> None:
        self._workers = workers
        self._most_items = min(most_items, MOST_ITEMS)

    async def decode(self, frame: memoryview) -> DecodedRequest:
        """Raises: MalformedFrame."""
        header, body = decode_request_header(frame)
        read = partial(decoder_of(API[ApiKey(header.api_key)].request, header.api_version), body)
        return DecodedRequest(header, *await decode_in_worker_if_many(self._workers, read, self._most_items))


async def decode_in_worker_if_many(
    workers: WorkerThreads, decode: Callable[[int], T], most_items: int
) -> tuple[T, bool]:
    """Calls `decode` with the limit of items, in a worker if there are many; returns its result and whether they are.

    Raises: MalformedFrame.
    """
    try:
        return decode(min(most_items, MOST_ITEMS_AT_ONCE)), False
    except TooManyItems as fault:
        if most_items <= MOST_ITEMS_AT_ONCE:
            raise
        drop_traceback(fault)
    return await workers.run(partial(decode, most_items)), True
