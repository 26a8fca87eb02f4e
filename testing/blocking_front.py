"""Coroutines as methods that block: what `Kafka` and its parts are made of.

class Clock(BlockingFront[AsyncClock]):
    pause = blocking(AsyncClock.pause)
"""

from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from ..config.similar_names import suggest
from .loop_thread import LoopThread, is_in

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")
HINT = ". This call held the event loop, and clients in it: await it, with running_async() or the fixture kafka_async"


class NameSuggestions:
    """A name that there is not is an error with the nearest one and with all."""

    if not TYPE_CHECKING:  # for type checkers every name would be there

        def __getattr__(self, name: str) -> object:
            __tracebackhide__ = True
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            known = [each for each in dir(self) if not each.startswith("_")]
            has = f"{type(self).__name__} has {', '.join(known)}"
            raise AttributeError(f"{has}, and no {name!r}{suggest(name, known)}")


class BlockingFront(NameSuggestions, Generic[A]):
    """`awaited` has the coroutines; they are done in the thread's loop while the caller waits."""

    def __init__(self, awaited: A, thread: LoopThread) -> None:
        self.awaited = awaited
        self._thread = thread

    def _make_coroutine(
        self, method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, T]:
        """The coroutine. Raises: TypeError for arguments that the method does not have, by the name that was called."""
        __tracebackhide__ = True
        try:
            return method(self.awaited, *args, **kwargs)
        except TypeError as wrong:
            told = str(wrong).replace(f"{type(self.awaited).__name__}.", f"{type(self).__name__}.")
            raise TypeError(f"{told}; it takes {', '.join(list(signature(method).parameters)[1:])}") from None

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
        return front._run(front._make_coroutine(method, *args, **kwargs))

    return call
