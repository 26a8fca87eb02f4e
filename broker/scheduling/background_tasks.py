"""Tasks that nobody awaits where they begin: they are waited for, or cancelled, together."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class BackgroundTasks:
    """The tasks that have begun and are not over."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts `work` as a task, which first runs in the loop's next turn; returns the task."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self) -> None:
        """Returns when none is left, those that began meanwhile included. Raises: what a task raised."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    async def stop(self) -> None:
        """Cancels all and returns when they are over."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
