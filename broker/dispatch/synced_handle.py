"""Wraps a handler that changes metadata: its answer waits until the changes are on the disk.

They are written, and in force, before that. A worker thread waits for the disk, once for all changes of a request.
"""

from types import CoroutineType
from typing import Any

from .guard import Handle


def sync_before_answer(handle: Handle) -> Handle:
    """Wraps `handle`, which then raises DiskFault, too, where its changes may not be on the disk."""

    async def handle_and_sync(broker: Any, request: Any, call: Any) -> Any:
        response = handle(broker, request, call)
        if type(response) is CoroutineType:
            response = await response
        await broker.topics.sync_metadata()
        return response

    return handle_and_sync
