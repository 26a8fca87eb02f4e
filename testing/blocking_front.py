"""Coroutines as methods that block: what `Kafka` and its parts are made of.

class Clock(BlockingFront[AsyncClock]):
    pause = blocking(AsyncClock.pause)
"""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from .loop_thread import LoopThread, is_in

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")
HINT = ". This call held the event loop, and clients in it: await it, with running_async() or the fixture kafka_async"


class BlockingFront(Generic[A]):
    """`awaited` has the coroutines; they are done in the thread's loop while the caller waits."""

    def __init__(self, awaited: A, thread: LoopThread) -> None:
        self.awaited = awaited
        self._thread = thread

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        __tracebackhide__ = True
        try:
            return self._thread.run(work)
        except AssertionError as fault:
            if is_in():
                raise AssertionError(f"{fault}{HINT}") from None
            raise


def blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingFront[A], P], T]:
    """The same, for a front."""

    @wraps(method)
    def call(front: BlockingFront[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        return front._run(method(front.awaited, *args, **kwargs))

    return call
