"""A proxy that makes a broker look old: it answers ApiVersions itself, with lower versions than the broker has.

Java clients ask for ApiVersions first on each connection. Their v3 or v4 is answered with error 35 in the body of v0,
as Kafka answers versions that it does not know; then they ask with v0. Capped at Produce 2 and Fetch 3 they write and
read magic 1, and idempotence has to be off, since there is no InitProducerId.
"""

import asyncio
import struct
from collections.abc import Mapping
from contextlib import suppress

from .proxy import RecordingProxy, Request

API_VERSIONS = 18
UNSUPPORTED_VERSION = 35
MAGIC_1_CAPS: Mapping[int, int] = {0: 2, 1: 3, 2: 1, 3: 4, API_VERSIONS: 0}
"""Produce, Fetch, ListOffsets, Metadata, ApiVersions: enough for Spark's connector without idempotence."""


class CappingProxy(RecordingProxy):
    """Shows the APIs of `caps` only, each from version 0 to its cap; Produce and Fetch of the broker begin at 0 too."""

    def __init__(self, caps: Mapping[int, int] = MAGIC_1_CAPS) -> None:
        self._caps = dict(caps)
        super().__init__()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            broker_reader, broker_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(
            self._pass_requests(reader, broker_writer, writer), self._pump(broker_reader, writer, None)
        )

    async def _pass_requests(
        self, reader: asyncio.StreamReader, broker: asyncio.StreamWriter, client: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError, asyncio.CancelledError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readexactly(4)
                frame = await reader.readexactly(struct.unpack(">i", head)[0])
                key, version, correlation_id, name_size = struct.unpack_from(">hhih", frame)
                name = frame[10 : 10 + name_size].decode() if name_size >= 0 else None
                self.requests.append(Request(api_key=key, api_version=version, client_id=name))
                if key == API_VERSIONS:
                    client.write(self._api_versions(version, correlation_id))
                    continue
                broker.write(head + frame)
                await broker.drain()
        broker.close()

    def _api_versions(self, version: int, correlation_id: int) -> bytes:
        error = UNSUPPORTED_VERSION if version > 0 else 0
        rows = b"".join(struct.pack(">hhh", key, 0, cap) for key, cap in sorted(self._caps.items()))
        body = struct.pack(">ihi", correlation_id, error, len(self._caps)) + rows
        return struct.pack(">i", len(body)) + body
