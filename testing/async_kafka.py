"""The same for coroutines: each call of a `Kafka` in a thread, so that the clients of the test's own loop go on."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from .kafka import Kafka


class AsyncKafka:
    """As `Kafka`, but every method is awaited: `await kafka.produce("orders", b"one")`.

    Parts that have methods of their own (`faults`, `clock`, `requests`) are awaited likewise.
    """

    def __init__(self, kafka: Kafka) -> None:
        self._blocking = _Awaited(kafka)
        self.bootstrap = kafka.bootstrap
        self.blocking = kafka

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blocking, name)


class _Awaited:
    """An object whose methods run in threads."""

    def __init__(self, target: object) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if callable(found):
            return _in_thread(found)
        return _Awaited(found) if type(found).__module__.startswith(__package__) else found


def _in_thread(method: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(method, *args, **kwargs)

    return call
