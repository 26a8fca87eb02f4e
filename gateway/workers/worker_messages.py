"""What the supervisor and a worker say to each other over a Unix socket: questions and answers.

message    uint32 size | JSON: {"id": 7, "ask": "clients", …} or {"id": 7, …}
"""

import asyncio
import json
from struct import Struct
from typing import Any

MOST_MESSAGE_BYTES = 64 << 20
Message = dict[str, Any]
_SIZE = Struct(">I")


class WorkerMessages:
    """One end of the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> Message | None:
        """The next message; None when the other side has gone, or what it says is no message."""
        try:
            (size,) = _SIZE.unpack(await self._reader.readexactly(_SIZE.size))
            if size > MOST_MESSAGE_BYTES:
                return None
            message = json.loads(await self._reader.readexactly(size))
        except (OSError, EOFError, ValueError):
            return None
        return message if isinstance(message, dict) else None

    async def send(self, message: Message) -> None:
        """Raises: OSError when the other side has gone."""
        data = json.dumps(message).encode()
        self._writer.write(_SIZE.pack(len(data)) + data)
        await self._writer.drain()

    def close(self) -> None:
        self._writer.close()
