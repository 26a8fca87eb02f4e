"""Waits for what a test expects, and says what was there instead."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from time import monotonic
from typing import TypeVar

from ...broker.faults.field_parsers import parse_duration_ms
from ...client.clock import SystemClock
from ...client.errors import KafkaError, NoAnswer, Unreachable
from ...protocol.errors import ErrorCode

T = TypeVar("T")
Timeout = float | str | timedelta
PAUSE_MS = 5
LOOK_S = 2.0
"""A look that takes longer, at a broker that answers nobody, is given up once the deadline is over."""


def to_seconds(timeout: Timeout) -> float:
    """Of a number of seconds, of a text such as 45s, or of a timedelta. Raises: ValueError."""
    if isinstance(timeout, int | float):
        return timeout
    try:
        return float(timeout) if isinstance(timeout, str) and timeout.isdecimal() else parse_duration_ms(timeout) / 1000
    except ValueError:
        told = f"timeout: expected a time such as 45s, 500ms or 1h30m, or a number of seconds, found {timeout!r}"
        raise ValueError(told) from None


async def wait_for(
    look: Callable[[], Awaitable[T]],
    is_there: Callable[[T], bool],
    timeout: Timeout,
    wanted: str,
    show: Callable[[T], str] = str,
) -> T:
    """What `look` finds, once it `is_there`; brokers that do not answer and topics that nobody made are waited for.

    Raises: AssertionError after `timeout` seconds, which shows what was there instead.
    """
    seconds = to_seconds(timeout)
    end = monotonic() + seconds
    while True:
        try:
            async with asyncio.timeout(max(end - monotonic(), LOOK_S)):
                found = await look()
            if is_there(found):
                return found
            shown = show(found)
        except (Unreachable, NoAnswer) as fault:
            shown = str(fault)
        except TimeoutError:
            shown = "no broker answers"
        except KafkaError as fault:
            if fault.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            shown = str(fault)
        assert monotonic() < end, f"{shown} after {seconds:g} s, not {wanted}"
        await SystemClock().sleep(PAUSE_MS)


async def look_until_or_timeout(look: Callable[[], Awaitable[T]], is_there: Callable[[T], bool], timeout: Timeout) -> T:
    """What `look` finds, once it `is_there`, or after `timeout` seconds."""
    seconds = to_seconds(timeout)
    end = monotonic() + seconds
    while True:
        found = await look()
        if is_there(found) or monotonic() >= end:
            return found
        await SystemClock().sleep(PAUSE_MS)
