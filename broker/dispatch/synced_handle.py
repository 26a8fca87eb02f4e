"""A handler that changes the metadata, whose answer waits until they are on the disk.

What it changes is written, and in force, before: a worker waits for the disk, once for all changes of a request, and
others have the loop meanwhile.
"""

from types import CoroutineType
from typing import Any

from .guard import Handle


def sync_before_answer(handle: Handle) -> Handle:
    """`handle`, which raises DiskFault, too, where what it has changed may not be on the disk."""

    async def handle_and_sync(broker: Any, request: Any, call: Any) -> Any:
        response = handle(broker, request, call)
        if type(response) is CoroutineType:
            response = await response
        await broker.topics.sync_metadata()
        return response

    return handle_and_sync
