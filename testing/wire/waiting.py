"""Waits for what a test expects, and says what was there instead."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

from ...client.clock import SystemClock
from ...client.errors import KafkaError, NoAnswer, Unreachable
from ...protocol.errors import ErrorCode

T = TypeVar("T")
PAUSE_MS = 5
LOOK_S = 2.0
"""A look that takes longer, at a broker that answers nobody, is given up once the deadline is over."""


async def wait_for(
    look: Callable[[], Awaitable[T]],
    is_there: Callable[[T], bool],
    timeout: float,
    wanted: str,
    show: Callable[[T], str] = str,
) -> T:
    """What `look` finds, once it `is_there`; brokers that do not answer and topics that nobody made are waited for.

    Raises: AssertionError after `timeout` seconds, which shows what was there instead.
    """
    end = monotonic() + timeout
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
        assert monotonic() < end, f"{shown} after {timeout} s, not {wanted}"
        await SystemClock().sleep(PAUSE_MS)


async def look_until_or_timeout(look: Callable[[], Awaitable[T]], is_there: Callable[[T], bool], timeout: float) -> T:
    """What `look` finds, once it `is_there`, or after `timeout` seconds."""
    end = monotonic() + timeout
    while True:
        found = await look()
        if is_there(found) or monotonic() >= end:
            return found
        await SystemClock().sleep(PAUSE_MS)
