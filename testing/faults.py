"""Faults as a test arms them: a method a kind, and a handle to wait for it, to see what it did and to remove it.

    fault = kafka.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    …
    fault.wait(hits=2)

What every kind takes beside its own fields: `api`, `versions="0-7"`, `broker`, `topic`, `partition`, `client_id`,
`group` (or transactional id), `times` (1; None: until it is removed), `after` (that number passes first),
`probability`, `optional` (the test does not fail when it never fires). `stepdown faults kinds` lists all kinds.
"""

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

from ..broker.faults.request_hook import Hook
from .control_client import ControlClient, ControlFailed, LocalControl

Api = str | Sequence[str]
Duration = str | int
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


class PartitionScope(TypedDict, total=False):
    """What every kind takes. `times` and `partition` and so on are described at the top of this module."""

    broker: int
    topic: str
    partition: int
    times: int | None
    after: int
    probability: float
    optional: bool


class ApiScope(PartitionScope, total=False):
    """What kinds take that are for the requests of certain APIs."""

    versions: str | int
    client_id: str
    group: str


class Scope(ApiScope, total=False):
    """What kinds take that are for any request."""

    api: Api


class ArmedFault:
    """One that was armed; as a context manager it is removed at the end of the block."""

    def __init__(self, control: ControlClient, number: int) -> None:
        self._control = control
        self.number = number

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.remove()

    @property
    def hits(self) -> int:
        """How often it has fired."""
        return int(self._control.ask("GET", f"faults/{self.number}")["hits"])

    def wait(self, hits: int = 1, timeout: Duration = "10s") -> None:
        """Returns when it has fired so often. Raises: AssertionError when it has not by then."""
        found = self._control.ask("POST", f"faults/{self.number}/wait", {"hits": hits, "timeout": timeout})
        assert "failure" not in found, f"a hook failed:\n{found['failure']}"
        assert found["hits"] >= hits, f"{found['fault']} has fired {found['hits']} times in {timeout}, not {hits}"

    def release(self) -> None:
        """Lets go what it holds now."""
        self._control.ask("POST", f"faults/{self.number}/release")

    def remove(self) -> None:
        """It fires no more."""
        self._control.ask("DELETE", f"faults/{self.number}")


class Faults:
    """The faults of a broker or a cluster."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    def arm(self, kind: str, **fields: Any) -> ArmedFault:
        """Any kind by its name. Raises: ControlFailed for a field or value that there is not."""
        return ArmedFault(self._control, self._control.ask("POST", "faults", {"kind": kind, **fields})["id"])

    def error(self, api: Api, code: str | int, *, when: str = "before", **scope: Unpack[ApiScope]) -> ArmedFault:
        """Answers an error code; `when="after"`: though the request has had its effect."""
        return self.arm("error", api=api, code=code, when=when, **scope)

    def coordinator_error(self, code: str | int = "NOT_COORDINATOR", **scope: Unpack[ApiScope]) -> ArmedFault:
        """Answers what asks a group or transaction coordinator with 14, 15 or 16."""
        return self.arm("error", api=list(COORDINATOR_APIS), code=code, **scope)

    def delay(self, delay: Duration, *, when: str = "before", **scope: Unpack[Scope]) -> ArmedFault:
        """Lets requests, or their answers, wait."""
        return self.arm("delay", delay=delay, when=when, **scope)

    def hold(self, *, when: str = "before", **scope: Unpack[Scope]) -> ArmedFault:
        """Holds requests, or their answers, until `release` or `remove`."""
        return self.arm("hold", when=when, **scope)

    def drop(self, *, when: str | None = None, bytes: int | None = None, **scope: Unpack[Scope]) -> ArmedFault:
        """Closes the connection: before the effect, after it, or after that number of `bytes` of the answer."""
        return self.arm("drop", when=when, bytes=bytes, **scope)

    def black_hole(self, **scope: Unpack[Scope]) -> ArmedFault:
        """Never answers."""
        return self.arm("black_hole", **scope)

    def throttle(self, delay: Duration, *, mute: bool = True, **scope: Unpack[Scope]) -> ArmedFault:
        """Answers a throttle time, and with `mute` leaves the connection unread for so long."""
        return self.arm("throttle", delay=delay, mute=mute, **scope)

    def corrupt(self, what: str, **scope: Unpack[Scope]) -> ArmedFault:
        """`what`: crc, truncated, correlation_id, length or garbage."""
        return self.arm("corrupt", what=what, **scope)

    def watermark(self, *, high_watermark: int = 0, last_stable_offset: int = 0, **scope: Unpack[Scope]) -> ArmedFault:
        """Answers fetches with watermarks that are higher by that number, or lower."""
        return self.arm("watermark", high_watermark=high_watermark, last_stable_offset=last_stable_offset, **scope)

    def duplicate(self, **scope: Unpack[Scope]) -> ArmedFault:
        """Appends what is produced twice, by idempotent producers too, but not in transactions."""
        return self.arm("duplicate", **scope)

    def lose(self, **scope: Unpack[Scope]) -> ArmedFault:
        """Acknowledges what is produced and appends nothing: data is lost, as no broker may."""
        return self.arm("lose", **scope)

    def versions(self, api: Api, only: str = "none", **scope: Unpack[ApiScope]) -> ArmedFault:
        """Serves these versions of an API only, as an older broker; by default the API is gone."""
        return self.arm("versions", api=api, only=only, **scope)

    def metadata(self, leader: int = -1, **scope: Unpack[Scope]) -> ArmedFault:
        """Names this leader in Metadata; -1: there is none."""
        return self.arm("metadata", leader=leader, **scope)

    def stale_metadata(self, **scope: Unpack[Scope]) -> ArmedFault:
        """Names the leaders of this moment in Metadata, whatever becomes of them."""
        return self.arm("stale_metadata", **scope)

    def disk(self, what: str = "error", **scope: Unpack[PartitionScope]) -> ArmedFault:
        """Writing to partitions fails: `error`, or `full`."""
        return self.arm("disk", what=what, **scope)

    def lose_marker(self, **scope: Unpack[PartitionScope]) -> ArmedFault:
        """A transaction ends, and one of its partitions gets no marker: there it hangs."""
        return self.arm("lose_marker", **scope)

    def hook(self, function: Hook, **scope: Unpack[Scope]) -> ArmedFault:
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
        return self.arm("hook", function=function, **scope)

    # What happens at once

    def corrupt_segment(self, topic: str, partition: int = 0) -> int:
        """Flips bits of the last batch on the disk; the offset at which that begins."""
        return int(self._control.ask("POST", "segments/corrupt", {"topic": topic, "partition": partition})["offset"])

    def fence_producer(self, transactional_id: str) -> None:
        """Raises the epoch of a transactional id, as another producer of that name does."""
        self._control.ask("POST", "producers/fence", {"transactional_id": transactional_id})

    def hold_markers(self) -> None:
        """Keeps transactions between decided and complete: CONCURRENT_TRANSACTIONS."""
        self._control.ask("POST", "markers/hold")

    def release_markers(self) -> None:
        """Lets them complete."""
        self._control.ask("POST", "markers/release")

    # All of them

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """What is armed and what has fired: `id`, `state`, `hits`, `fault`."""
        return iter(self._control.ask("GET", "faults")["faults"])

    def reset(self) -> None:
        """Removes and forgets all."""
        self._control.ask("POST", "faults/reset")

    def assert_fired(self) -> None:
        """Raises: AssertionError naming what was armed, is not `optional`, and has never fired; or what a hook raised.

        All are removed.
        """
        answer = self._control.ask("POST", "faults/reset")
        assert not answer["failed"], f"a hook failed:\n{answer['failed'][0]['failure']}"
        unfired = answer["unfired"]
        shown = "; ".join(str(each["fault"]) for each in unfired)
        assert not unfired, f"armed and never fired (say optional=True if that is right): {shown}"
