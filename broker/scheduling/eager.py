"""A coroutine run at once, as far as it goes without waiting."""

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@coroutine
def eagerly(answering: Coroutine[Any, Any, T], before_waiting: Callable[[], None]) -> Generator[Any, Any, T]:
    """What `answering` returns; `before_waiting` is called if it does not do so at once."""
    try:
        waited = answering.send(None)
        before_waiting()
        while True:
            try:
                value = yield waited
            except GeneratorExit:
                answering.close()
                raise
            except BaseException as error:  # whatever is thrown into the task is the handler's to see
                waited = answering.throw(error)
            else:
                waited = answering.send(value)
    except StopIteration as done:
        result: T = done.value
        return result
