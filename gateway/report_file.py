"""Writes the client report of /clients to a file once a minute, replacing the one before."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from ..network.clock import Clock
from ..network.log_line_limit import LogLineLimit, repetition_text
from ..network.worker_threads import WorkerThreads
from ..protocol.errors import DiskFault
from ..storage.files.files import Files

INTERVAL_MS = 60_000

log = logging.getLogger(__name__)


class ReportFile:
    """`make` returns the text. Only its owner may read the file, since it has names and addresses."""

    def __init__(self, path: str, make: Callable[[], Awaitable[bytes]], clock: Clock, threads: WorkerThreads) -> None:
        self._path = path
        self._make = make
        self._clock = clock
        self._threads = threads
        self._files = Files()
        self._lines = LogLineLimit(clock)
        self._writing: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._path:
            self._writing = asyncio.create_task(self._keep_writing())

    async def stop(self) -> None:
        """Stops after writing the report once more."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
            self._writing = None
            await self.write()

    async def write(self) -> None:
        """Writes the report; a fault of the disk is logged once a minute."""
        text = await self._make()
        try:
            await self._threads.run(partial(self._files.replace, self._path, text, sync=False, private=True))
        except DiskFault as fault:
            left_out = self._lines.try_to_log(self._path)
            if left_out is not None:
                log.error("the client report is not written%s: %s", repetition_text(left_out), fault)

    async def _keep_writing(self) -> None:
        while True:
            await self._clock.sleep(INTERVAL_MS)
            await self.write()
