"""Requests of clients that the gateway decodes into values: with a limit of their items, the large ones in a worker.

What passes as bytes is limited by the cluster; what is decoded here costs this process's memory and its event loop, and
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


class DecodedRequest(NamedTuple):
    """A request and its header."""

    header: RequestHeader
    value: Any


class RequestDecoder:
    """`most_items` is `stepdown.request.max.items`."""

    def __init__(self, workers: WorkerThreads, most_items: int) -> None:
        self._workers = workers
        self._most_items = min(most_items, MOST_ITEMS)

    async def decode(self, frame: memoryview) -> DecodedRequest:
        """Raises: MalformedFrame."""
        if len(frame) > LARGE_BYTES:
            return await self._workers.run(lambda: self.decode_now(frame))
        return self.decode_now(frame)

    def decode_now(self, frame: memoryview) -> DecodedRequest:
        """The same at once. Raises: MalformedFrame."""
        header, body = decode_request_header(frame)
        decode = decoder_of(API[ApiKey(header.api_key)].request, header.api_version)
        return DecodedRequest(header, decode(body, self._most_items))
