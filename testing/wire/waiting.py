"""Waits for what a test expects, and fails with what was found instead."""

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
GRACE_S = 0.5
"""A broker that waits until the end of a timeout answers after it, with what it waited for."""
Describe = Callable[[], Awaitable[str]]
"""Why brokers may be silent, as the end of a message; "" where nothing is known of that."""


def parse_timeout_s(timeout: Timeout) -> float:
    """Returns the seconds of a timeout: a bare number is seconds; a text such as 45s or a timedelta is converted.

    Raises: ValueError.
    """
    if isinstance(timeout, int | float):
        return timeout
    try:
        return float(timeout) if isinstance(timeout, str) and timeout.isdecimal() else parse_duration_ms(timeout) / 1000
    except ValueError as expected:
        told = str(expected).replace("a number of milliseconds", "a number of seconds")
        raise ValueError(f"timeout: expected {told}, found {timeout!r}") from None


async def run_within(timeout: Timeout, act: Callable[[], Awaitable[T]], doing: str, why_silent: Describe) -> T:
    """What `act` returns. Raises: NoAnswer after `timeout` seconds, which says why brokers may be silent."""
    seconds = parse_timeout_s(timeout)
    try:
        async with asyncio.timeout(max(seconds + GRACE_S, LOOK_S)) as limit:
            return await act()
    except Unreachable as fault:
        raise Unreachable(f"{fault}{await why_silent()}", fault.address) from None
    except TimeoutError:
        if not limit.expired():
            raise
    raise NoAnswer(f"{doing}: no broker answered in {seconds:g} s{await why_silent()}")


async def wait_for(
    look: Callable[[], Awaitable[T]],
    is_there: Callable[[T], bool],
    timeout: Timeout,
    wanted: str,
    show: Callable[[T], str],
    why_silent: Describe,
) -> T:
    """Returns what `look` finds, once it `is_there`; also waits for brokers that do not answer and missing topics.

    Raises: AssertionError after `timeout` seconds, which shows what was there instead.
    """
    seconds = parse_timeout_s(timeout)
    end = monotonic() + seconds
    while True:
        is_silent = False
        try:
            async with asyncio.timeout(max(end - monotonic(), LOOK_S)):
                found = await look()
            if is_there(found):
                return found
            shown = show(found)
        except (Unreachable, NoAnswer) as fault:
            shown, is_silent = str(fault), True
        except TimeoutError:
            shown, is_silent = "no broker answers", True
        except KafkaError as fault:
            if fault.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            shown = str(fault)
        if monotonic() >= end:
            why = await why_silent() if is_silent else ""
            why = "" if why in shown else why
            raise AssertionError(f"{shown}{why} after {seconds:g} s; expected: {wanted}")
        await SystemClock().sleep(PAUSE_MS)
