"""A test's own function that says what becomes of a request: an answer, a closed connection, silence, or it passes.

async def refuse_the_first_partition(request):
    if request.body.topic_data[0].partition_data[0].index == 0:
        return request.refused("NOT_LEADER_OR_FOLLOWER")
    return PASS
"""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ...protocol.api import API, ApiKey
from ...protocol.errors import ApiError
from .field_parsers import parse_error_code


class HookDecision(Enum):
    """What becomes of a request that is not answered by the hook."""

    PASS = "pass"
    CLOSE = "close"
    SILENCE = "silence"


PASS, CLOSE, SILENCE = HookDecision.PASS, HookDecision.CLOSE, HookDecision.SILENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class HookedRequest:
    """A request as a hook sees it, in the event loop of the brokers.

    `body` is the message (`stepdown.protocol.messages`), `connection` the client's host and port.
    """

    broker: int
    api: str
    version: int
    client_id: str
    connection: str
    body: Any
    _handle: Callable[[], Awaitable[Any]]
    _refuse: Callable[[ApiError], Any]

    async def answered(self) -> Any:
        """The broker's own response, with all effects; the hook returns it, or one of its own in its place."""
        return await self._handle()

    def refused(self, code: str | int) -> Any:
        """A response that has this error code wherever the API has one. Raises: ValueError for an unknown code."""
        return self._refuse(ApiError("a hook", parse_error_code(code)))


Hook = Callable[[HookedRequest], Awaitable[Any]]


async def run_hook(hook: Hook, key: ApiKey, request: HookedRequest) -> Any:
    """Calls the hook; returns a response or a HookDecision. Raises: TypeError for others, and what the hook raises."""
    outcome = await hook(request)
    response = API[key].response
    if isinstance(outcome, HookDecision | response):
        return outcome
    raise TypeError(f"a hook returns PASS, CLOSE, SILENCE or a {response.__name__}, not {outcome!r}")


def parse_async_function(value: Any) -> Hook:
    """A parser of a fault's field."""
    if not callable(value) or not (
        inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(getattr(value, "__call__", None))  # noqa: B004
    ):
        raise ValueError("an async function, which only Python can give")
    hook: Hook = value
    return hook
