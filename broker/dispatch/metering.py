"""Wraps a handler so that its requests count against quotas; the call gets the throttle time."""

from collections.abc import Callable, Coroutine, Generator
from dataclasses import replace
from time import perf_counter
from types import CoroutineType, coroutine
from typing import TYPE_CHECKING, Any

from ...protocol.api import ApiKey
from ..quotas.client_quotas import ClientQuotas
from ..quotas.request_charging import LimitedRequest

if TYPE_CHECKING:
    from .call import Call

Handle = Callable[[Any, Any, "Call"], Any]


def meter(handle: Handle, quotas: ClientQuotas) -> Handle:
    """Wraps `handle`: counts the usage of each request, also of a refused one."""

    def handle_and_count(core: Any, request: Any, call: "Call") -> Any:
        call.quota = quota = LimitedRequest(quotas, call.principal.name, call.client_id, call.version)
        began = perf_counter()
        try:
            response = handle(core, request, call)
        except BaseException:
            _count_usage(quota, call, perf_counter() - began)
            raise
        spent_s = perf_counter() - began
        if type(response) is CoroutineType:
            return _await_and_count(response, quota, call, spent_s)
        _count_usage(quota, call, spent_s)
        return response

    return handle_and_count


async def _await_and_count(
    handling: Coroutine[Any, Any, Any], quota: LimitedRequest, call: "Call", spent_s: float
) -> Any:
    stopwatch = _LoopTimeMeter(spent_s)
    try:
        return await stopwatch.run(handling)
    finally:
        _count_usage(quota, call, stopwatch.spent_s)


class _LoopTimeMeter:
    """Adds up how long a coroutine runs on the event loop, without its waits."""

    def __init__(self, spent_s: float) -> None:
        self.spent_s = spent_s

    @coroutine
    def run(self, handling: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        step: Callable[[], Any] = lambda: handling.send(None)  # noqa: E731
        while True:
            began = perf_counter()
            try:
                waits_for = step()
            except StopIteration as done:
                return done.value
            finally:
                self.spent_s += perf_counter() - began
            try:
                sent = yield waits_for
            except BaseException as fault:  # a cancellation, most likely: the handler gets it
                step = lambda fault=fault: handling.throw(fault)  # type: ignore[misc]  # noqa: E731
            else:
                step = lambda sent=sent: handling.send(sent)  # type: ignore[misc]  # noqa: E731


def _count_usage(quota: LimitedRequest, call: "Call", spent_s: float) -> None:
    if call.key is ApiKey.PRODUCE:
        quota.count_produce(call.request_bytes)
    quota.count_work(spent_s)
    call.throttle_ms = quota.count_throttling()


def with_throttle_time(response: Any, throttle_ms: int) -> Any:
    """The response with its throttle time, if it has a field for that."""
    return replace(response, throttle_time_ms=throttle_ms) if hasattr(response, "throttle_time_ms") else response
