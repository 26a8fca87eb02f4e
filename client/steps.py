"""Runs generators of steps: each yielded step is done, and its result or exception is sent back."""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")


def take_steps(steps: Generator[S, Any, T], do_step: Callable[[S], Any]) -> T:
    """Runs the generator with `do_step`; returns what the generator returns."""
    result, fault = None, None
    while True:
        try:
            step = steps.throw(fault) if fault is not None else steps.send(result)
        except StopIteration as end:
            value: T = end.value
            return value
        finally:
            result = fault = None  # a fault raised here refers to this frame: each would keep the other
        try:
            result = do_step(step)
        except Exception as error:
            fault = error


async def await_steps(steps: Generator[S, Any, T], do_step: Callable[[S], Awaitable[Any]]) -> T:
    """Runs the generator with `do_step`; returns what the generator returns."""
    result, fault = None, None
    while True:
        try:
            step = steps.throw(fault) if fault is not None else steps.send(result)
        except StopIteration as end:
            value: T = end.value
            return value
        finally:
            result = fault = None  # a fault raised here refers to this frame: each would keep the other
        try:
            result = await do_step(step)
        except Exception as error:
            fault = error
