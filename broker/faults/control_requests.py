"""What may be asked while a broker runs under test: the same from Python, over HTTP and in scenarios.

| | |
|---|---|
| `POST /faults` | arms the fault that the body describes |
| `GET /faults`, `GET /faults/N` | what is armed and what has fired |
| `DELETE /faults/N` | removes it |
| `POST /faults/N/release` | lets go what it holds |
| `POST /faults/N/wait` | waits until it has fired `hits` times (1), for `timeout` (10s) |
| `POST /faults/reset` | removes all; answers those that never fired, and hooks that raised |
| `GET /requests`, `GET /events`, `DELETE /events` | the log |
| `GET /clock`, `POST /clock/pause`, `/clock/advance` (`by`), `/clock/resume` | time |
| `POST /segments/corrupt` (`topic`, `partition`) | flips bits of the last batch on the disk |
| `POST /producers/fence` (`transactional_id`) | raises its epoch, so that the producer is fenced |
| `POST /markers/hold`, `/markers/release` | keeps transactions between decided and complete |
| `POST /reset` | topics, groups, transactions, faults, clock and log as new; answers as `/faults/reset` |

`contents.py` has what is asked about topics and groups, `broker/*_with_control_port.py` about brokers.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from http import HTTPStatus
from random import Random
from typing import TYPE_CHECKING, Any

from ...protocol.errors import ApiError, ErrorCode
from ...storage.files.file_names import parse_log_directory
from ..scheduling.movable_clock import MovableClock
from .armed_faults import ArmedFault, ArmedFaults
from .contents import Contents
from .disk_faults import FaultyDisk, spoil_last_batch
from .fault import Fault
from .fault_fields import WrongFault, fault_of
from .field_parsers import count, duration_ms, text
from .injector import Injector
from .kinds.disk import DiskWriteFault
from .request_fields import values_of
from .request_log import OtherEvent, RequestLog

if TYPE_CHECKING:
    from ..services import Services

Body = Mapping[str, Any]
Answer = dict[str, Any]
Reader = Callable[[Any], Any]
REFUSED = {
    ErrorCode.RESOURCE_NOT_FOUND: HTTPStatus.NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: HTTPStatus.NOT_FOUND,
}


class Control:
    """The faults, the log and the clock of a broker, or of the brokers of a cluster."""

    def __init__(self, clock: MovableClock, *, seed: int = 0) -> None:
        """`seed` draws for faults that have a probability."""
        self.clock = clock
        self.faults = ArmedFaults(Random(seed))
        self.events = RequestLog()
        self._brokers: dict[int, Services] = {}
        self.running: Callable[[], Iterable[Services]] = lambda: self._brokers.values()
        """The brokers that run; who stops and starts them says it."""
        self.contents = Contents(lambda: self.running())
        self._injectors: dict[int, Injector] = {}
        self.actions: dict[str, Callable[[Body], Awaitable[Answer]]] = {
            "clock/pause": self._pause,
            "clock/advance": self._advance,
            "clock/resume": self._resume,
            "segments/corrupt": self._corrupt_segment,
            "producers/fence": self._fence_producer,
            "markers/hold": self._hold_markers,
            "markers/release": self._release_markers,
            "reset": self._reset,
            **self.contents.actions,
        }
        self.on_reset: Callable[[], Awaitable[None]] = _nothing_more

    def attach(self, broker: "Services", disk: FaultyDisk) -> None:
        """Has a part in all that this broker does from now on."""
        self._brokers[broker.cluster.node_id] = broker
        injector = self._injectors[broker.cluster.node_id] = Injector(broker, self.faults, self.events, self.contents)
        broker.interceptors.append(injector)
        disk.failing = partial(self._disk_failure, broker.cluster.node_id)

    def close(self) -> None:
        """Lets everything go on, so that brokers can stop."""
        self.faults.reset()
        self.clock.resume()
        for broker in self._brokers.values():
            if broker.transactions_in_use is not None:
                broker.transactions_in_use.release_markers()

    async def handle(self, method: str, path: str, body: Body) -> tuple[HTTPStatus, Answer]:
        """The answer to a request, as JSON has it."""
        try:
            return HTTPStatus.OK, await self._answer(method, path.strip("/"), body)
        except WrongFault as fault:
            return HTTPStatus.BAD_REQUEST, {"error": str(fault)}
        except ApiError as error:
            return REFUSED.get(error.code, HTTPStatus.CONFLICT), {"error": str(error)}

    async def _answer(self, method: str, path: str, body: Body) -> Answer:
        match method, path.split("/"):
            case "POST", ["faults"]:
                armed = self.faults.arm(self._fault(body))
                for injector in self._injectors.values():
                    injector.note(armed)
                self.tell(f"fault {armed.number} armed: {armed.fault.kind}")
                return armed.to_json()
            case "POST", ["faults", "reset"]:
                failed = [armed.to_json() for armed in self.faults if armed.failure]
                return {"unfired": [armed.to_json() for armed in self.faults.reset()], "failed": failed}
            case "GET", ["faults"]:
                return {"faults": [armed.to_json() for armed in self.faults]}
            case "GET", ["faults", number]:
                return self.faults.find(_number(number)).to_json()
            case "DELETE", ["faults", number]:
                return self._over(self.faults.remove(_number(number)), "removed")
            case "POST", ["faults", number, "release"]:
                return self._over(self.faults.release(_number(number)), "released")
            case "POST", ["faults", number, "wait"]:
                return await self._wait(_number(number), body)
            case "GET", ["requests"]:
                return {"requests": [event.to_json() for event in self.events.requests()]}
            case "GET", ["events"]:
                return {"events": [event.to_json() for event in self.events]}
            case "DELETE", ["events"]:
                self.events.clear()
                return {}
            case "GET", ["clock"]:
                return self._time()
        action = self.actions.get(path) if method == "POST" else None
        if action is None:
            raise ApiError(f"there is no {method} /{path}", ErrorCode.RESOURCE_NOT_FOUND)
        return await action(body)

    # Faults

    def _fault(self, body: Body) -> Fault:
        """Raises: WrongFault, also for a broker that there is not."""
        fault = fault_of(body)
        if fault.broker is not None and fault.broker not in self._brokers:
            raise WrongFault(f"there is no broker {fault.broker}, only {sorted(self._brokers)}")
        return fault

    async def _wait(self, number: int, body: Body) -> Answer:
        wanted = values_of(body, {"hits": count, "timeout": duration_ms})
        armed = await self.faults.wait(number, wanted.get("hits", 1), wanted.get("timeout", 10_000) / 1000)
        return armed.to_json()

    def _over(self, armed: ArmedFault, how: str) -> Answer:
        self.tell(f"fault {armed.number} {how}")
        return armed.to_json()

    def _disk_failure(self, broker: int, path: str) -> int | None:
        """The error number with which writing to that file of this broker fails."""
        found = parse_log_directory(path.rpartition("/")[0].rpartition("/")[2])
        if found is None:
            return None
        for armed in self.faults.active():
            fault = armed.fault
            if not isinstance(fault, DiskWriteFault) or fault.broker not in (None, broker):
                continue
            if not fault.is_about(found.topic, found.partition):
                continue
            if self.faults.fire(armed):
                return fault.error_number
        return None

    def tell(self, line: str) -> None:
        """Notes what was done, in the log."""
        self.events.add(OtherEvent(at_ms=self.clock.now_ms(), line=line))

    # The clock

    def _time(self) -> Answer:
        return {"now_ms": self.clock.now_ms(), "paused": self.clock.is_paused}

    async def _pause(self, body: Body) -> Answer:
        values_of(body, {})
        self.clock.pause()
        self.tell("the clock stands")
        return self._time()

    async def _advance(self, body: Body) -> Answer:
        wanted = values_of(body, {"by": duration_ms}, needs=("by",))
        self.tell(f"the clock moves on by {wanted['by']} ms")
        await self.clock.advance(wanted["by"])
        return self._time()

    async def _resume(self, body: Body) -> Answer:
        values_of(body, {})
        self.clock.resume()
        self.tell("the clock runs")
        return self._time()

    async def _reset(self, body: Body) -> Answer:
        """Topics, groups, transactions, faults, clock and log as new; what never fired is answered."""
        values_of(body, {})
        answer = await self._answer("POST", "faults/reset", {})
        await self.on_reset()
        for broker in self.running():
            if broker.transactions_in_use is not None:
                broker.transactions_in_use.release_markers()
        await self.contents.delete_all()
        self.clock.reset()
        self.events.clear()
        return answer

    # What happens at once

    async def _corrupt_segment(self, body: Body) -> Answer:
        wanted = values_of(body, {"topic": text, "partition": count}, needs=("topic",))
        topic, index = wanted["topic"], wanted.get("partition", 0)
        for broker in self.running():
            if (log := broker.log_manager.logs.get((topic, index))) is not None:
                offset = spoil_last_batch(broker.log_manager.files, log)
                break
        else:
            raise ApiError(f"there is no partition {topic}-{index}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.tell(f"{topic}-{index} is corrupt at offset {offset}")
        return {"topic": topic, "partition": index, "offset": offset}

    async def _fence_producer(self, body: Body) -> Answer:
        wanted = values_of(body, {"transactional_id": text}, needs=("transactional_id",))
        name = wanted["transactional_id"]
        coordinator = self._coordinator_of(name).transactions
        timeout_ms = coordinator.find(name).now.timeout_ms
        try:
            producer_id, epoch = await coordinator.init_producer(name, timeout_ms, None)
        except ApiError as error:
            if error.code != ErrorCode.CONCURRENT_TRANSACTIONS:
                raise
            await coordinator.await_markers()  # the open transaction has been aborted
            producer_id, epoch = await coordinator.init_producer(name, timeout_ms, None)
        self.tell(f"the producer of {name} is fenced")
        return {"producer_id": producer_id, "producer_epoch": epoch}

    def _coordinator_of(self, transactional_id: str) -> "Services":
        """Raises: ApiError when no broker knows the id."""
        for broker in self.running():
            known = broker.transactions_in_use
            if known is not None and known.transactions.find(transactional_id) is not None:
                return broker
        raise ApiError(f"no producer has used {transactional_id}", ErrorCode.RESOURCE_NOT_FOUND)

    async def _hold_markers(self, body: Body) -> Answer:
        values_of(body, {})
        for broker in self.running():
            broker.transactions.hold_markers()
        self.tell("transaction markers are held")
        return {}

    async def _release_markers(self, body: Body) -> Answer:
        values_of(body, {})
        for broker in self.running():
            broker.transactions.release_markers()
        self.tell("transaction markers are released")
        return {}


async def _nothing_more() -> None:
    """Nobody stopped or paused anything."""


def _number(text: str) -> int:
    """Raises: ApiError RESOURCE_NOT_FOUND."""
    if not text.isdigit():
        raise ApiError(f"expected the number of a fault, found {text!r}", ErrorCode.RESOURCE_NOT_FOUND)
    return int(text)
