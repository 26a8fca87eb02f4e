"""Faults as a test arms them: a method a kind, and a handle to wait for it, to see what it did and to remove it.

    fault = kafka.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    …
    fault.wait(hits=2)

Every kind also takes these fields: `api`, `versions="0-7"`, `broker`, `topic`, `partition`, `client_id`,
`group` (or transactional id), `times` (1; None: until it is removed), `after` (that number passes first),
`probability`, `optional` (the test does not fail when it never fires). `stepdown faults kinds` lists all kinds.
The first argument is the API, but for `delay`, `throttle`, `corrupt` and `metadata`, which begin with what they do.
"""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import timedelta
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypedDict, Unpack

from ..broker.faults.fault_fields import describe_fault
from ..broker.faults.request_hook import Hook
from ..protocol.plural import plural
from .blocking_front import BlockingFront, NameSuggestions, blocking
from .control_client import Answer, ControlClient, ControlFailed, LocalControl

P = ParamSpec("P")
Api = str | Sequence[str]
Duration = str | int | timedelta
COORDINATOR_APIS = (
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "ConsumerGroupHeartbeat",
    "InitProducerId",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "TxnOffsetCommit",
)
OWN_CALLS = "The test's own calls, such as kafka.produce, meet no faults: send with your client"


class CodedError(Protocol):
    """An error of a client, such as `confluent_kafka.KafkaError`."""

    def code(self) -> int: ...


Code = str | int | CodedError


class PartitionScope(TypedDict, total=False):
    """Fields of every kind; the top of this module describes them."""

    broker: int
    topic: str
    partition: int
    times: int | None
    after: int
    probability: float
    optional: bool


class ApiScope(PartitionScope, total=False):
    """Fields of kinds for the requests of certain APIs."""

    versions: str | int
    client_id: str
    group: str


class Scope(ApiScope, total=False):
    """Fields of kinds for any request."""

    api: Api


class AsyncArmedFault(NameSuggestions):
    """An armed fault, with methods to be awaited; `async with` removes it at the end."""

    def __init__(self, control: ControlClient, number: int) -> None:
        self._control = control
        self.number = number

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.remove()

    async def hits(self) -> int:
        """Returns how often it has fired."""
        return int((await self._control.ask("GET", f"faults/{self.number}"))["hits"])

    async def wait(self, hits: int = 1, timeout: Duration = "10s") -> None:
        """Returns when it has fired `hits` times. Raises: AssertionError after `timeout`."""
        found = await self._control.ask("POST", f"faults/{self.number}/wait", {"hits": hits, "timeout": timeout})
        assert "failure" not in found, f"a hook failed:\n{found['failure']}"
        assert found["hits"] >= hits, (
            f"{describe_fault(found['fault'])} has fired {plural(found['hits'], 'time')} in {timeout}, not {hits}"
        )

    async def release(self) -> None:
        """Releases the requests that it holds now."""
        await self._control.ask("POST", f"faults/{self.number}/release")

    async def remove(self) -> None:
        """Disarms it."""
        await self._control.ask("DELETE", f"faults/{self.number}")


class AsyncFaults(NameSuggestions):
    """Arms and removes faults of a broker or a cluster, with methods to be awaited."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    async def arm(self, /, kind: str, **fields: Any) -> AsyncArmedFault:
        """Arms a fault of any kind, by its name. Raises: ControlFailed for an unknown field or a wrong value."""
        if callable(code_of := getattr(fields.get("code"), "code", None)):
            fields["code"] = code_of()
        armed = await self._control.ask("POST", "faults", {"kind": kind, **fields})
        return AsyncArmedFault(self._control, armed["id"])

    async def error(self, api: Api, code: Code, *, when: str = "before", **scope: Unpack[ApiScope]) -> AsyncArmedFault:
        """Answers an error code, by name or number; with `when="after"` the request takes effect nevertheless."""
        return await self.arm("error", api=api, code=code, when=when, **scope)

    async def coordinator_error(self, code: Code = "NOT_COORDINATOR", **scope: Unpack[ApiScope]) -> AsyncArmedFault:
        """Answers requests to group and transaction coordinators with error 14, 15 or 16."""
        return await self.arm("error", api=list(COORDINATOR_APIS), code=code, **scope)

    async def delay(self, delay: Duration, *, when: str = "before", **scope: Unpack[Scope]) -> AsyncArmedFault:
        """Delays requests, or their responses."""
        return await self.arm("delay", delay=delay, when=when, **scope)

    async def hold(self, api: Api | None = None, *, when: str = "before", **scope: Unpack[ApiScope]) -> AsyncArmedFault:
        """Holds requests, or their answers, until `release` or `remove`."""
        return await self.arm("hold", api=api, when=when, **scope)

    async def drop(
        self,
        api: Api | None = None,
        *,
        when: str | None = None,
        bytes: int | None = None,
        **scope: Unpack[ApiScope],
    ) -> AsyncArmedFault:
        """Closes the connection: before the effect, after it, or after that number of `bytes` of the answer."""
        return await self.arm("drop", api=api, when=when, bytes=bytes, **scope)

    async def black_hole(self, api: Api | None = None, **scope: Unpack[ApiScope]) -> AsyncArmedFault:
        """Never answers."""
        return await self.arm("black_hole", api=api, **scope)

    async def throttle(self, delay: Duration, *, mute: bool = True, **scope: Unpack[Scope]) -> AsyncArmedFault:
        """Answers a throttle time, and with `mute` leaves the connection unread for so long."""
        return await self.arm("throttle", delay=delay, mute=mute, **scope)

    async def corrupt(self, what: str, **scope: Unpack[Scope]) -> AsyncArmedFault:
        """`what`: crc, truncated, correlation_id, length or garbage."""
        return await self.arm("corrupt", what=what, **scope)

    async def watermark(
        self, *, high_watermark: int = 0, last_stable_offset: int = 0, **scope: Unpack[Scope]
    ) -> AsyncArmedFault:
        """Answers fetches with watermarks that are higher by that number, or lower."""
        return await self.arm(
            "watermark", high_watermark=high_watermark, last_stable_offset=last_stable_offset, **scope
        )

    async def duplicate(self, api: Api | None = None, **scope: Unpack[ApiScope]) -> AsyncArmedFault:
        """Appends what is produced twice, by idempotent producers too, but not in transactions."""
        return await self.arm("duplicate", api=api, **scope)

    async def lose(self, api: Api | None = None, **scope: Unpack[ApiScope]) -> AsyncArmedFault:
        """Acknowledges what is produced and appends nothing: data is lost, as no broker may."""
        return await self.arm("lose", api=api, **scope)

    async def versions(self, api: Api, only: str = "none", **scope: Unpack[ApiScope]) -> AsyncArmedFault:
        """Serves these versions of an API only, as an older broker; by default the API is gone."""
        return await self.arm("versions", api=api, only=only, **scope)

    async def metadata(self, leader: int = -1, **scope: Unpack[Scope]) -> AsyncArmedFault:
        """Names this leader in Metadata; -1: there is none."""
        return await self.arm("metadata", leader=leader, **scope)

    async def stale_metadata(self, api: Api | None = None, **scope: Unpack[ApiScope]) -> AsyncArmedFault:
        """Names the leaders of this moment in Metadata, whatever becomes of them."""
        return await self.arm("stale_metadata", api=api, **scope)

    async def disk(self, what: str = "error", **scope: Unpack[PartitionScope]) -> AsyncArmedFault:
        """Writing to partitions fails: `error`, or `full`."""
        return await self.arm("disk", what=what, **scope)

    async def lose_marker(self, **scope: Unpack[PartitionScope]) -> AsyncArmedFault:
        """Leaves a partition without the marker of an ended transaction, which hangs there."""
        return await self.arm("lose_marker", **scope)

    async def hook(self, function: Hook, **scope: Unpack[Scope]) -> AsyncArmedFault:
        """Asks an async function what becomes of each request: it returns a response, PASS, CLOSE or SILENCE.

        It is given a `HookedRequest` (broker, API, version, client, the parsed request) and runs in the brokers' event
        loop, so it must not block. `answered()` has the broker's own response, `refused(code)` an error. If it raises,
        the connection is closed and the test fails. Until it is removed, unless `times` says otherwise; for brokers
        of this process only.
        """
        if not isinstance(self._control, LocalControl):
            raise ControlFailed(
                "a hook runs where the brokers do: in this process, with running() or the fixture kafka"
            )
        return await self.arm("hook", function=function, **scope)

    # Actions that happen at once

    async def corrupt_segment(self, topic: str, partition: int = 0) -> int:
        """Flips bits of the last batch on the disk, and returns its base offset."""
        corrupt = await self._control.ask("POST", "segments/corrupt", {"topic": topic, "partition": partition})
        return int(corrupt["offset"])

    async def fence_producer(self, transactional_id: str) -> None:
        """Raises the epoch of a transactional id, as another producer with the same id does."""
        await self._control.ask("POST", "producers/fence", {"transactional_id": transactional_id})

    async def hold_markers(self) -> None:
        """Keeps decided transactions incomplete, so that requests get CONCURRENT_TRANSACTIONS."""
        await self._control.ask("POST", "markers/hold")

    async def release_markers(self) -> None:
        """Lets decided transactions complete."""
        await self._control.ask("POST", "markers/release")

    # All of them

    async def all(self) -> list[dict[str, Any]]:
        """Returns all armed and ended faults, each with `id`, `state`, `hits` and `fault`."""
        return list((await self._control.ask("GET", "faults"))["faults"])

    async def reset(self) -> None:
        """Removes and forgets all faults."""
        await self._control.ask("POST", "faults/reset")

    async def assert_fired(self) -> None:
        """Removes all faults. Raises: AssertionError naming those that never fired and are not `optional`, and errors
        of hooks.
        """
        raise_unfired(await self._control.ask("POST", "faults/reset"))


def raise_unfired(answer: Answer) -> None:
    """Raises: AssertionError if the response to a reset names faults that never fired, or errors of hooks."""
    assert not answer["failed"], f"a hook failed:\n{answer['failed'][0]['failure']}"
    unfired = answer["unfired"]
    shown = "; ".join(f"{describe_fault(each['fault'])}, {each['near']}" for each in unfired)
    assert not unfired, f"armed and never fired (say optional=True if that is right): {shown}. {OWN_CALLS}"


class ArmedFault(BlockingFront[AsyncArmedFault]):
    """The same, blocking; as a context manager it is removed at the end of the block."""

    wait = blocking(AsyncArmedFault.wait)
    release = blocking(AsyncArmedFault.release)
    remove = blocking(AsyncArmedFault.remove)

    @property
    def number(self) -> int:
        """The id of the fault."""
        return self.awaited.number

    @property
    def hits(self) -> int:
        """Returns how often it has fired."""
        return self._run(self.awaited.hits())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.remove()


def _blocking_arm(
    method: Callable[Concatenate[AsyncFaults, P], Coroutine[Any, Any, AsyncArmedFault]],
) -> Callable[Concatenate["Faults", P], ArmedFault]:
    """Same as `blocking`, for a method that arms a fault: the result is an `ArmedFault`."""

    @wraps(method)
    def arm(front: "Faults", /, *args: P.args, **kwargs: P.kwargs) -> ArmedFault:
        __tracebackhide__ = True
        return ArmedFault(front._run(front._make_coroutine(method, *args, **kwargs)), front._thread)

    return arm


class Faults(BlockingFront[AsyncFaults]):
    """The same, blocking; iterating it yields `all()`."""

    arm = _blocking_arm(AsyncFaults.arm)
    error = _blocking_arm(AsyncFaults.error)
    coordinator_error = _blocking_arm(AsyncFaults.coordinator_error)
    delay = _blocking_arm(AsyncFaults.delay)
    hold = _blocking_arm(AsyncFaults.hold)
    drop = _blocking_arm(AsyncFaults.drop)
    black_hole = _blocking_arm(AsyncFaults.black_hole)
    throttle = _blocking_arm(AsyncFaults.throttle)
    corrupt = _blocking_arm(AsyncFaults.corrupt)
    watermark = _blocking_arm(AsyncFaults.watermark)
    duplicate = _blocking_arm(AsyncFaults.duplicate)
    lose = _blocking_arm(AsyncFaults.lose)
    versions = _blocking_arm(AsyncFaults.versions)
    metadata = _blocking_arm(AsyncFaults.metadata)
    stale_metadata = _blocking_arm(AsyncFaults.stale_metadata)
    disk = _blocking_arm(AsyncFaults.disk)
    lose_marker = _blocking_arm(AsyncFaults.lose_marker)
    hook = _blocking_arm(AsyncFaults.hook)
    corrupt_segment = blocking(AsyncFaults.corrupt_segment)
    fence_producer = blocking(AsyncFaults.fence_producer)
    hold_markers = blocking(AsyncFaults.hold_markers)
    release_markers = blocking(AsyncFaults.release_markers)
    all = blocking(AsyncFaults.all)
    reset = blocking(AsyncFaults.reset)
    assert_fired = blocking(AsyncFaults.assert_fired)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.all())
