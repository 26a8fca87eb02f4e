"""A client's protocol that watches its connection, and the loops on which the product runs."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import uvloop

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


def run_on(loop: str, main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(main)


class WatchingProtocol(asyncio.Protocol):
    """`received`: all data; `lost` has why the connection ended, once it has."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.is_paused = False
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.received += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set_result(exc)

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False
