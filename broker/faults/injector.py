"""Applies the armed faults to the requests of one broker, and logs each request with its answer."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...protocol.api import API, ApiKey
from ...protocol.errors import error_name
from ...protocol.schema import Piece
from ..dispatch.call import TESTS_CLIENT_ID
from ..dispatch.interceptor import Interceptor
from .armed_faults import ArmedFault, ArmedFaults
from .error_responses import error_codes_in
from .event_log import NOT_YET, EventLog, RequestEvent, describe_answer, describe_wait
from .fault import Fault, FaultStage
from .kinds.lose_marker import LoseMarkerFault
from .passing_request import PassingRequest
from .topic_and_group_operations import TopicAndGroupOperations

if TYPE_CHECKING:
    from ..dispatch.call import Call
    from ..services import Services


MOST_TOPICS = 3
"""How many topics of a request the log names."""


class Injector(Interceptor):
    """The faults of one broker; those of a cluster share the armed faults and the log."""

    def __init__(
        self,
        services: "Services",
        faults: ArmedFaults,
        events: EventLog,
        topics_and_groups: TopicAndGroupOperations,
        is_silent: Callable[[], bool],
    ) -> None:
        """`is_silent`: whether a test has the broker answer nobody."""
        self._services = services
        self._faults = faults
        self._events = events
        self._topics_and_groups = topics_and_groups
        self._is_silent = is_silent
        self._passing: dict[int, PassingRequest] = {}

    def on_arm(self, armed: ArmedFault) -> None:
        """Calls the fault's `on_arm`, if the fault is for this broker."""
        if self._is_for_this_broker(armed.fault):
            armed.fault.on_arm(armed, self._services)

    # Called on the way of a request

    async def before(self, call: "Call") -> Any | None:
        request = self._passing[id(call)] = PassingRequest(self._services, call, self._log_request(call))
        if request.event is not None:
            request.event.topics = request.list_topics(MOST_TOPICS)
            if call.key is ApiKey.FETCH:
                self._topics_and_groups.fetched.note_fetch(call.client_id or "", request.topics_and_partitions())
        for armed in self._fire(FaultStage.BEFORE, request):
            response = await armed.fault.act_before(request, armed)
            if response is not None:
                return response
        if request.event is not None and not self._is_silent():
            request.event.pending = describe_wait(call.request)
        return None

    async def after(self, call: "Call", response: Any | None) -> Any | None:
        request = self._passing[id(call)]
        if request.event is not None:
            request.event.pending = NOT_YET
        response = request.complete_response(response)
        for armed in self._fire(FaultStage.AFTER, request, response):
            response = await armed.fault.act_after(request, armed, response)
        if request.event is not None:
            request.event.pending = ""
            request.event.answer = [error_name(code) for code in sorted(error_codes_in(response))] if response else []
            request.event.note = describe_answer(call.key, call.request, response)
        self._topics_and_groups.fetched.note_answer(call.key, call.request, response)
        if response is None:
            del self._passing[id(call)]
        return response

    def abandon(self, call: "Call") -> None:
        request = self._passing.pop(id(call), None)
        if request is not None and request.event is not None:
            request.event.pending = ""

    def before_sending(self, call: "Call", pieces: list[Piece]) -> list[Piece]:
        request = self._passing[id(call)]
        for armed in self._fire(FaultStage.ENCODED, request):
            pieces = armed.fault.act_on_bytes(pieces)
            if not armed.fault.sends_whole_answer:
                if request.event is not None:
                    request.event.answer = None
                break
        del self._passing[id(call)]
        return pieces

    def loses_marker(self, topic: str, partition: int) -> bool:
        """Fires a fault that loses the partition's transaction marker; returns whether there was one."""
        return any(
            isinstance(armed.fault, LoseMarkerFault)
            and self._is_for_this_broker(armed.fault)
            and armed.fault.is_about(topic, partition)
            and self._faults.try_to_fire(armed)
            for armed in self._faults.active()
        )

    # Which faults fire

    def _fire(self, stage: FaultStage, request: PassingRequest, response: Any | None = None) -> Iterator[ArmedFault]:
        """Yields the faults of that stage that fire, each after the one before it was applied."""
        for armed in self._faults.active():
            fault = armed.fault
            if fault.stage_for(request.call.key) is not stage or not self._matches(fault, request):
                continue
            if stage is FaultStage.AFTER and not fault.can_change(request, response):
                continue
            if self._faults.try_to_fire(armed):
                if request.event is not None:
                    request.event.faults.append(armed.number)
                yield armed

    def _matches(self, fault: Fault, request: PassingRequest) -> bool:
        if request.call.client_id == TESTS_CLIENT_ID and fault.client_id != TESTS_CLIENT_ID:
            return False
        return self._is_for_this_broker(fault) and fault.is_for(request)

    def _is_for_this_broker(self, fault: Fault) -> bool:
        return fault.broker in (None, self._services.cluster.node_id)

    # The log

    def _log_request(self, call: "Call") -> RequestEvent | None:
        if call.client_id == TESTS_CLIENT_ID:
            return None
        event = RequestEvent(
            at_ms=self._services.clock.now_ms(),
            broker=self._services.cluster.node_id,
            api=API[call.key].name,
            version=call.version,
            client_id=call.client_id,
            software=f"{call.peer.software_name} {call.peer.software_version}",
            size_bytes=call.request_bytes,
            is_deprecated=API[call.key].is_deprecated(call.version),
            pending=NOT_YET,
        )
        self._events.add(event)
        return event
