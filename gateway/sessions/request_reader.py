"""Requests of clients that the gateway reads as values: with a limit of their items, the large ones in a worker.

What passes as bytes is limited by the cluster; what is read here costs this process's memory and its event loop, and
each item a hundred times what it takes on the wire.
"""

from typing import Any, NamedTuple

from ...network.worker_threads import WorkerThreads
from ...protocol.api import API, ApiKey
from ...protocol.frame import RequestHeader, decode_request_header
from ...protocol.schema import decoder_of

LARGE_BYTES = 64 * 1024
MOST_ITEMS = 20_000
"""Of all arrays of a request, as for most requests of a broker."""


class ReadRequest(NamedTuple):
    """A request and its header."""

    header: RequestHeader
    value: Any


class RequestReader:
    """`most_items` is `stepdown.request.max.items`."""

    def __init__(self, workers: WorkerThreads, most_items: int) -> None:
        self._workers = workers
        self._most_items = min(most_items, MOST_ITEMS)

    async def read(self, frame: memoryview) -> ReadRequest:
        """Raises: MalformedFrame."""
        if len(frame) > LARGE_BYTES:
            return await self._workers.run(lambda: self.read_small(frame))
        return self.read_small(frame)

    def read_small(self, frame: memoryview) -> ReadRequest:
        """The same at once. Raises: MalformedFrame."""
        header, body = decode_request_header(frame)
        decode = decoder_of(API[ApiKey(header.api_key)].request, header.api_version)
        return ReadRequest(header, decode(body, self._most_items))
