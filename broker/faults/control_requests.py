"""The operations on a broker under test: the same from Python, over HTTP and in scenarios.

`GET /` lists them; those on topics and groups are in `topic_and_group_operations.py`, those on brokers in
`broker/*_with_control_port.py`.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from http import HTTPStatus
from random import Random
from typing import TYPE_CHECKING, Any

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.plural import describe_duration
from ...storage.files.file_names import parse_log_folder_name
from ..scheduling.movable_clock import MovableClock
from .armed_faults import ArmedFault, ArmedFaults, describe_near_misses
from .control_operation import ID, Answer, ControlOperation, Fields
from .disk_faults import FaultyDisk, corrupt_last_batch
from .event_log import END_OF_TEST, REFUSAL, EventLog, OtherEvent, time_line
from .fault import Fault
from .fault_fields import WrongFault, describe_fault, fault_to_fields, make_fault
from .field_parsers import parse_count, parse_duration_ms, parse_flag, parse_text
from .injector import Injector
from .kinds.disk import DiskWriteFault
from .topic_and_group_operations import TopicAndGroupOperations

if TYPE_CHECKING:
    from ..services import Services

Body = Mapping[str, Any]
SEVERAL = "kafka_cluster, @pytest.mark.kafka(brokers=3), running(brokers=3) or stepdown serve --brokers 3 has them"
STANDS = "The clock stands: what waits for time to pass, as JoinGroup may, waits until it is moved on or resumed."
SILENCED = {"brokers/pause": "is paused", "brokers/kill": "was killed", "brokers/stop": "was stopped"}
"""What becomes of a broker by these; it answers again after brokers/start and brokers/resume."""
ANSWERING = frozenset({"brokers/start", "brokers/resume"})
REFUSED = {
    ErrorCode.RESOURCE_NOT_FOUND: HTTPStatus.NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: HTTPStatus.NOT_FOUND,
}


class Control:
    """The faults, the log and the clock of a broker, or of the brokers of a cluster."""

    def __init__(self, clock: MovableClock, *, seed: int = 0, token: str = "") -> None:
        """`seed`: of the random draws for faults that have a probability."""
        self.token = token
        self.clock = clock
        self.faults = ArmedFaults(Random(seed))
        self.events = EventLog()
        self._brokers: dict[int, Services] = {}
        self.running: Callable[[], Iterable[Services]] = lambda: self._brokers.values()
        """Returns the brokers that run; replaced by the owner that stops and starts them."""
        self.topics_and_groups = TopicAndGroupOperations(lambda: self.running())
        self._injectors: dict[int, Injector] = {}
        self._silenced: dict[int, str] = {}
        """Brokers that answer nobody since they were paused, killed or stopped here."""
        self.operations: dict[tuple[str, str], ControlOperation] = {}
        """By method and path."""
        self.lacking: frozenset[str] = frozenset()
        """Paths and fields that only a cluster has."""
        self._add_operations()
        self.on_reset: Callable[[], Awaitable[None]] = _do_nothing

    def attach(self, services: "Services", disk: FaultyDisk) -> None:
        """Applies faults to this broker and logs its requests from now on."""
        self._brokers[services.cluster.node_id] = services
        node_id = services.cluster.node_id
        injector = self._injectors[node_id] = Injector(
            services, self.faults, self.events, self.topics_and_groups, lambda: node_id in self._silenced
        )
        services.interceptors.append(injector)
        services.control = self
        services.on_due = self.log_event
        services.on_group_line = partial(self.log_event, event="group")
        services.on_refusal = partial(self._log_refusal, services.cluster.node_id)
        disk.failing = partial(self._fire_disk_fault, services.cluster.node_id)

    def close(self) -> None:
        """Removes all faults, resumes the clock and releases transaction markers, so that brokers can stop."""
        self.faults.reset()
        self.clock.resume()
        for broker in self._brokers.values():
            if broker.transactions_in_use is not None:
                broker.transactions_in_use.release_markers()

    async def handle(self, method: str, path: str, body: Body) -> tuple[HTTPStatus, Answer]:
        """Returns the status and the JSON answer to a request."""
        try:
            return HTTPStatus.OK, await self._answer(method, path.strip("/"), body)
        except WrongFault as fault:
            return HTTPStatus.BAD_REQUEST, {"error": str(fault)}
        except ApiError as error:
            return REFUSED.get(error.code, HTTPStatus.CONFLICT), {"error": str(error)}

    async def _answer(self, method: str, path: str, body: Body) -> Answer:
        if lacking := next((name for name in (path, *body) if name in self.lacking), ""):
            raise WrongFault(f"{lacking} needs several brokers: {SEVERAL}")
        found, number = self.operations.get((method, path)), None
        first, *rest = path.split("/")
        if found is None and rest:
            found = self.operations.get((method, "/".join((first, ID, *rest[1:]))))
            number = None if found is None else _parse_fault_number(rest[0])
        if found is None:
            raise ApiError(f"there is no {method} /{path}; GET / lists what there is", ErrorCode.RESOURCE_NOT_FOUND)
        return await found.answer(number, body)

    def add(self, *operations: ControlOperation) -> None:
        """Adds operations."""
        self.operations.update({(each.method, each.path): each for each in operations})

    def _add_operations(self) -> None:
        get, post = partial(ControlOperation, method="GET"), partial(ControlOperation, method="POST")
        delete = partial(ControlOperation, method="DELETE")
        self.add(
            get(path="", what="Lists what can be asked.", act=self._list_operations),
            post(
                path="faults",
                what="Arms a fault: its `kind`, and the fields of that.",
                act=self._arm_fault,
                fields=None,
            ),
            get(path="faults", what="Lists what is armed and what has fired.", act=self._list_faults),
            get(path=f"faults/{ID}", what="Tells how often a fault has fired.", act=self._show_fault),
            delete(path=f"faults/{ID}", what="Removes a fault.", act=self._remove_fault),
            post(
                path=f"faults/{ID}/release", what="Releases the requests that a fault holds.", act=self._release_fault
            ),
            post(
                path=f"faults/{ID}/wait",
                what="Waits until a fault has fired `hits` times (1), for `timeout` (10s).",
                act=self._wait_for_hits,
                fields={"hits": parse_count, "timeout": parse_duration_ms},
            ),
            post(
                path="faults/reset",
                what="Removes all faults; answers those that never fired, and hooks that raised.",
                act=self._reset_faults,
            ),
            get(path="requests", what="Lists the requests of clients, with their answers.", act=self._list_requests),
            get(
                path="events",
                what="Lists requests, faults, moves of the clock, deletions by retention, transactions that time out,"
                " elections, refused logins and changes of groups.",
                act=self._list_events,
            ),
            get(
                path="events/last",
                what="Shows the last of them as text, thirty lines at most.",
                act=self._show_last_events,
            ),
            delete(path="events", what="Forgets requests and events.", act=self._forget_events),
            get(path="clock", what="Tells the brokers' time.", act=self._show_time),
            post(path="clock/pause", what="Stops the clock.", act=self._pause_clock),
            post(
                path="clock/advance",
                what="Moves the clock on; answers when what falls due on the way has happened.",
                act=self._advance_clock,
                fields={"by": parse_duration_ms},
                needs=("by",),
            ),
            post(path="clock/resume", what="Starts the clock again.", act=self._resume_clock),
            post(
                path="segments/corrupt",
                what="Flips bits of the last batch of a partition on the disk.",
                act=self._corrupt_segment,
                fields={"topic": parse_text, "partition": parse_count},
                needs=("topic",),
            ),
            post(
                path="producers/fence",
                what="Raises the epoch of a transactional id, as another producer of that name does.",
                act=self._fence_producer,
                fields={"transactional_id": parse_text},
                needs=("transactional_id",),
            ),
            post(path="markers/hold", what="Keeps transactions between decided and complete.", act=self._hold_markers),
            post(path="markers/release", what="Lets transactions complete.", act=self._release_markers),
            post(
                path="reset",
                what="Makes topics, groups, transactions, faults, clock and log as new; answers as faults/reset."
                " With `keep_contents` topics, groups, transactions and log stay, and the clock runs on.",
                act=self._reset_all,
                fields={"keep_contents": parse_flag},
            ),
            get(
                path="brokers/silent",
                what="Lists the brokers that were paused, killed or stopped here, and have not begun again.",
                act=self._list_silent_brokers,
            ),
            *self.topics_and_groups.control_operations(),
        )

    async def _list_operations(self, fields: Fields) -> Answer:
        return {"operations": [each.to_json() for each in self.operations.values()], "openapi": "/openapi.json"}

    # Faults

    async def _arm_fault(self, body: Body) -> Answer:
        armed = self.faults.arm(self._parse_fault(body))
        for injector in self._injectors.values():
            injector.on_arm(armed)
        self.log_event(f"fault {armed.number} armed: {describe_fault(fault_to_fields(armed.fault))}")
        return armed.to_json()

    async def _list_faults(self, fields: Fields) -> Answer:
        return {"faults": [armed.to_json() for armed in self.faults]}

    async def _show_fault(self, fields: Fields) -> Answer:
        return self.faults.find(fields["id"]).to_json()

    async def _remove_fault(self, fields: Fields) -> Answer:
        return self._log_and_show(self.faults.remove(fields["id"]), "removed")

    async def _release_fault(self, fields: Fields) -> Answer:
        return self._log_and_show(self.faults.release(fields["id"]), "released")

    async def _reset_faults(self, fields: Fields) -> Answer:
        failed = [armed.to_json() for armed in self.faults if armed.failure]
        unfired = [
            {**armed.to_json(), "near": describe_near_misses(armed, self.events.requests())}
            for armed in self.faults.reset()
        ]
        return {"unfired": unfired, "failed": failed}

    def _parse_fault(self, body: Body) -> Fault:
        """Raises: WrongFault, also for an unknown broker."""
        fault = make_fault(body)
        if fault.broker is not None and fault.broker not in self._brokers:
            raise WrongFault(f"there is no broker {fault.broker}, only {sorted(self._brokers)}")
        return fault

    async def _wait_for_hits(self, fields: Fields) -> Answer:
        armed = await self.faults.await_hits(fields["id"], fields.get("hits", 1), fields.get("timeout", 10_000) / 1000)
        return armed.to_json()

    def _log_and_show(self, armed: ArmedFault, how: str) -> Answer:
        self.log_event(f"fault {armed.number} {how}")
        return armed.to_json()

    def _fire_disk_fault(self, broker: int, path: str) -> int | None:
        """Fires a fault armed for the file's partition; returns the error number of the write, None without a fault."""
        found = parse_log_folder_name(path.rpartition("/")[0].rpartition("/")[2])
        if found is None:
            return None
        for armed in self.faults.active():
            fault = armed.fault
            if not isinstance(fault, DiskWriteFault) or fault.broker not in (None, broker):
                continue
            if not fault.is_about(found.topic, found.partition):
                continue
            if self.faults.try_to_fire(armed):
                return fault.error_number
        return None

    def log_event(self, line: str, event: str = "other") -> None:
        """Adds a line to the log of events."""
        self.events.add(OtherEvent(at_ms=self.clock.now_ms(), line=line, event=event))

    def note_broker(self, path: str, node_id: int) -> None:
        """Keeps in mind whether a broker answers, once `path` was done to it."""
        if path in SILENCED:
            self._silenced[node_id] = SILENCED[path]
        elif path in ANSWERING:
            self._silenced.pop(node_id, None)

    async def _list_silent_brokers(self, fields: Fields) -> Answer:
        return {"silent": [f"broker {node_id} {what}" for node_id, what in sorted(self._silenced.items())]}

    def _log_refusal(self, broker: int, line: str) -> None:
        self.log_event(f"broker {broker} refused {line}", event=REFUSAL)

    # The log

    async def _list_requests(self, fields: Fields) -> Answer:
        return {"requests": [event.to_json() for event in self.events.requests()]}

    async def _list_events(self, fields: Fields) -> Answer:
        return {"events": [event.to_json() for event in self.events]}

    async def _show_last_events(self, fields: Fields) -> Answer:
        lines = time_line(self.events)
        return {"lines": [*lines, STANDS] if lines and self.clock.is_paused else lines}

    async def _forget_events(self, fields: Fields) -> Answer:
        self.events.clear()
        return {}

    # The clock

    async def _show_time(self, fields: Fields) -> Answer:
        return self._describe_time()

    def _describe_time(self) -> Answer:
        return {"now_ms": self.clock.now_ms(), "paused": self.clock.is_paused}

    async def _pause_clock(self, fields: Fields) -> Answer:
        self.clock.pause()
        self.log_event("the clock stands")
        return self._describe_time()

    async def _advance_clock(self, fields: Fields) -> Answer:
        self.log_event(f"the clock moves on by {describe_duration(fields['by'])}")
        await self.clock.advance(fields["by"])
        for node_id, broker in self._brokers.items():
            if node_id not in self._silenced:
                await broker.maintenance.apply_retention()
        return self._describe_time()

    async def _resume_clock(self, fields: Fields) -> Answer:
        self.clock.resume()
        self.log_event("the clock runs")
        return self._describe_time()

    async def _reset_all(self, fields: Fields) -> Answer:
        """Resets between two tests; answers the faults that never fired."""
        answer, keeps = await self._reset_faults({}), fields.get("keep_contents", False)
        # First, so that restarted brokers use the machine's time. Contents that are kept must not see time go back.
        self.clock.resume() if keeps else self.clock.reset()
        await self.on_reset()
        self._silenced.clear()
        for broker in self.running():
            broker.started_ms = min(broker.started_ms, self.clock.now_ms())  # the clock may have been ahead then
            if broker.transactions_in_use is not None:
                broker.transactions_in_use.release_markers()
        if keeps:
            self.log_event(END_OF_TEST)
        else:
            await self.topics_and_groups.delete_all()
            self.events.clear()
            self.log_event("reset: topics, groups, transactions, faults and the clock are as new")
        return answer

    # What happens at once

    async def _corrupt_segment(self, fields: Fields) -> Answer:
        topic, index = fields["topic"], fields.get("partition", 0)
        for broker in self.running():
            if (log := broker.log_manager.logs.get((topic, index))) is not None:
                offset = corrupt_last_batch(broker.log_manager.files, log)
                break
        else:
            raise ApiError(f"there is no partition {topic}-{index}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.log_event(f"{topic}-{index} is corrupt at offset {offset}")
        return {"topic": topic, "partition": index, "offset": offset}

    async def _fence_producer(self, fields: Fields) -> Answer:
        name = fields["transactional_id"]
        coordinator = self._coordinator_of(name).transactions
        timeout_ms = coordinator.find(name).now.timeout_ms
        try:
            producer_id, epoch = await coordinator.init_producer(name, timeout_ms, None)
        except ApiError as error:
            if error.code != ErrorCode.CONCURRENT_TRANSACTIONS:
                raise
            await coordinator.await_markers()  # the open transaction has been aborted
            producer_id, epoch = await coordinator.init_producer(name, timeout_ms, None)
        self.log_event(f"the producer of {name} is fenced")
        return {"producer_id": producer_id, "producer_epoch": epoch}

    def _coordinator_of(self, transactional_id: str) -> "Services":
        """Raises: ApiError when no broker knows the id."""
        for broker in self.running():
            known = broker.transactions_in_use
            if known is not None and known.transactions.find(transactional_id) is not None:
                return broker
        raise ApiError(f"no producer has used {transactional_id}", ErrorCode.RESOURCE_NOT_FOUND)

    async def _hold_markers(self, fields: Fields) -> Answer:
        for broker in self.running():
            broker.transactions.hold_markers()
        self.log_event("transaction markers are held")
        return {}

    async def _release_markers(self, fields: Fields) -> Answer:
        for broker in self.running():
            broker.transactions.release_markers()
        self.log_event("transaction markers are released")
        return {}


async def _do_nothing() -> None:
    """Nobody stopped or paused anything."""


def _parse_fault_number(text: str) -> int:
    """Raises: ApiError RESOURCE_NOT_FOUND."""
    if not text.isdigit():
        raise ApiError(f"expected the number of a fault, found {text!r}", ErrorCode.RESOURCE_NOT_FOUND)
    return int(text)
