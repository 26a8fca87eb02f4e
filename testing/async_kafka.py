"""The same for coroutines: each call of a `Kafka` in a thread, so that the clients of the test's own loop go on."""

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from .clock import Clock
from .cluster import Cluster
from .faults import ArmedFault, Faults
from .kafka import Kafka
from .received_requests import Requests

P = ParamSpec("P")
T = TypeVar("T")
Awaited = Coroutine[Any, Any, T]


def in_thread(method: Callable[P, T]) -> Callable[P, Awaited[T]]:
    """The method, to be awaited."""

    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, *args, **kwargs)

    return call


def arming(method: Callable[P, ArmedFault]) -> Callable[P, Awaited["AsyncArmedFault"]]:
    """The same for a method that arms a fault."""

    async def call(*args: P.args, **kwargs: P.kwargs) -> AsyncArmedFault:
        return AsyncArmedFault(await asyncio.to_thread(method, *args, **kwargs))

    return call


class AsyncKafka:
    """As `Kafka`, but every method is awaited, those of its parts too: `await kafka.produce("orders", b"one")`."""

    def __init__(self, kafka: Kafka) -> None:
        self.bootstrap, self.page = kafka.bootstrap, kafka.page
        self.blocking = kafka
        self.clients, self.has_control = kafka.clients, kafka.has_control
        self.create_topic = in_thread(kafka.create_topic)
        self.produce = in_thread(kafka.produce)
        self.records = in_thread(kafka.records)
        self.wait_for_records = in_thread(kafka.wait_for_records)
        self.assert_produces = in_thread(kafka.assert_produces)
        self.committed = in_thread(kafka.committed)
        self.group = in_thread(kafka.group)
        self.wait_for_group = in_thread(kafka.wait_for_group)
        self.wait_for_consumers = in_thread(kafka.wait_for_consumers)
        self.delete_topic = in_thread(kafka.delete_topic)
        self.delete_group = in_thread(kafka.delete_group)
        self.offset_lag = in_thread(kafka.offset_lag)
        self.wait_for_offset_lag = in_thread(kafka.wait_for_offset_lag)
        self.partition = in_thread(kafka.partition)
        self.wait_for_leader = in_thread(kafka.wait_for_leader)
        self.wait_for_isr = in_thread(kafka.wait_for_isr)
        self.reset = in_thread(kafka.reset)
        self.close = in_thread(kafka.close)
        self.faults, self.clock = AsyncFaults(kafka.faults), AsyncClock(kafka.clock)
        self.requests, self.cluster = AsyncRequests(kafka.requests), AsyncCluster(kafka.cluster)


class AsyncArmedFault:
    """As `ArmedFault`: a fault that was armed; removed at the end of an `async with`."""

    def __init__(self, fault: ArmedFault) -> None:
        self.number = fault.number
        self.hits = in_thread(lambda: fault.hits)
        self.wait = in_thread(fault.wait)
        self.release = in_thread(fault.release)
        self.remove = in_thread(fault.remove)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.remove()


class AsyncFaults:
    """As `Faults`; `all()` are those that are armed or have fired."""

    def __init__(self, faults: Faults) -> None:
        self.arm = arming(faults.arm)
        self.error = arming(faults.error)
        self.coordinator_error = arming(faults.coordinator_error)
        self.delay = arming(faults.delay)
        self.hold = arming(faults.hold)
        self.drop = arming(faults.drop)
        self.black_hole = arming(faults.black_hole)
        self.throttle = arming(faults.throttle)
        self.corrupt = arming(faults.corrupt)
        self.watermark = arming(faults.watermark)
        self.duplicate = arming(faults.duplicate)
        self.lose = arming(faults.lose)
        self.versions = arming(faults.versions)
        self.metadata = arming(faults.metadata)
        self.stale_metadata = arming(faults.stale_metadata)
        self.disk = arming(faults.disk)
        self.lose_marker = arming(faults.lose_marker)
        self.hook = arming(faults.hook)
        self.corrupt_segment = in_thread(faults.corrupt_segment)
        self.fence_producer = in_thread(faults.fence_producer)
        self.hold_markers = in_thread(faults.hold_markers)
        self.release_markers = in_thread(faults.release_markers)
        self.all = in_thread(lambda: list(faults))
        self.reset = in_thread(faults.reset)
        self.assert_fired = in_thread(faults.assert_fired)


class AsyncClock:
    """As `Clock`; `now_ms()` is awaited, too."""

    def __init__(self, clock: Clock) -> None:
        self.now_ms = in_thread(lambda: clock.now_ms)
        self.pause = in_thread(clock.pause)
        self.advance = in_thread(clock.advance)
        self.resume = in_thread(clock.resume)


class AsyncRequests:
    """As `Requests`; `all()` are those that came so far."""

    def __init__(self, requests: Requests) -> None:
        self.all = in_thread(lambda: list(requests))
        self.of = in_thread(requests.of)
        self.clear = in_thread(requests.clear)
        self.lines = in_thread(requests.lines)
        self.assert_none_deprecated = in_thread(requests.assert_none_deprecated)


class AsyncCluster:
    """As `Cluster`."""

    def __init__(self, cluster: Cluster) -> None:
        self.stop = in_thread(cluster.stop)
        self.kill = in_thread(cluster.kill)
        self.start = in_thread(cluster.start)
        self.pause = in_thread(cluster.pause)
        self.resume = in_thread(cluster.resume)
        self.fence = in_thread(cluster.fence)
        self.unfence = in_thread(cluster.unfence)
        self.pause_follower = in_thread(cluster.pause_follower)
        self.resume_follower = in_thread(cluster.resume_follower)
        self.slow_follower = in_thread(cluster.slow_follower)
        self.shrink_isr = in_thread(cluster.shrink_isr)
        self.expand_isr = in_thread(cluster.expand_isr)
        self.move_leader = in_thread(cluster.move_leader)
        self.take_leader = in_thread(cluster.take_leader)
        self.bump_epoch = in_thread(cluster.bump_epoch)
        self.elect = in_thread(cluster.elect)
        self.hold_elections = in_thread(cluster.hold_elections)
        self.release_elections = in_thread(cluster.release_elections)
        self.hold_metadata = in_thread(cluster.hold_metadata)
        self.release_metadata = in_thread(cluster.release_metadata)
