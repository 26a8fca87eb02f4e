"""Does to the requests of one broker what the armed faults say, and writes down what came and what was answered."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from types import CoroutineType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...network.connection import CloseConnection
from ...protocol.api import API, ApiKey
from ...protocol.errors import ApiError, error_name
from ...protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from ...protocol.messages.produce import PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse
from ...protocol.schema import Piece
from ..dispatch.interceptor import Interceptor
from ..fetch.session import FIRST_VERSION_WITH_SESSIONS, FIRST_VERSION_WITH_TOPIC_IDS
from ..handlers import SERVED
from .armed_faults import ArmedFault, ArmedFaults
from .corrupt_responses import cut_after, has_records, with_spoilt_records, with_watermarks, wrong_frame
from .error_responses import codes_in, joined, split, with_error
from .fault import WITHOUT_REQUEST, Fault
from .metadata_responses import leaders_now, with_leader, with_old_leaders
from .request_hook import CLOSE, PASS, SILENCE, HookedRequest, ask
from .request_log import RequestEvent, RequestLog
from .request_topics_and_groups import groups_of, is_about, places_of

if TYPE_CHECKING:
    from ..dispatch.call import Call
    from ..services import Services

OWN_CLIENT_ID = "stepdown-testing"
"""Of what a test asks itself: no fault is for it, unless it names it."""

WITH_EFFECT = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.OFFSET_COMMIT,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.DELETE_RECORDS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
    }
)
"""APIs whose partitions fail one by one, each without an effect."""

FRAME_FAULTS = ("correlation_id", "length", "garbage")


@dataclass(slots=True)
class _Passing:
    """A request on its way. `also` answers the part of it that was taken away; `late` are errors for its answer."""

    event: RequestEvent | None
    also: Any | None = None
    late: list[ArmedFault] | None = None


class Injector(Interceptor):
    """The faults of one broker; those of a cluster share what is armed and the log."""

    def __init__(self, services: "Services", faults: ArmedFaults, events: RequestLog) -> None:
        self._services = services
        self._faults = faults
        self._events = events
        self._passing: dict[int, _Passing] = {}

    def note(self, armed: ArmedFault) -> None:
        """Keeps with a new fault what it will need of this moment."""
        if armed.fault.kind == "stale_metadata" and self._is_for_me(armed.fault):
            armed.notes[self._services.cluster.node_id] = leaders_now(self._services.cluster)

    # The three places at which a request passes

    async def before(self, call: "Call") -> Any | None:
        self._passing[id(call)] = _Passing(self._written_down(call))
        try:
            for armed in self._meant("before", call):
                response = await self._begin(armed, call)
                if response is not None:
                    return response
        except ApiError:
            raise
        except BaseException:
            self._passing.pop(id(call), None)
            raise
        return None

    async def after(self, call: "Call", response: Any | None) -> Any | None:
        passing = self._passing[id(call)]
        try:
            if passing.also is not None:
                response = joined(response, passing.also)
            if call.key is ApiKey.PRODUCE and call.request.acks == 0:
                response = None
            for armed in passing.late or ():
                response = self._with_error(armed.fault, call, response)
            for armed in self._meant("after", call, response):
                response = await self._end(armed, call, response)
        except BaseException:
            self._passing.pop(id(call), None)
            raise
        if passing.event is not None:
            passing.event.answer = [error_name(code) for code in sorted(codes_in(response))] if response else []
        if response is None:
            del self._passing[id(call)]
        return response

    def encoded(self, call: "Call", pieces: list[Piece]) -> list[Piece]:
        for armed in self._meant("encoded", call):
            fault = armed.fault
            if fault.kind == "drop":
                assert fault.bytes is not None
                pieces = cut_after(pieces, fault.bytes)
                if (event := self._passing[id(call)].event) is not None:
                    event.answer = None
                break
            pieces = wrong_frame(pieces, fault.what)
        del self._passing[id(call)]
        return pieces

    def loses_marker(self, topic: str, partition: int) -> bool:
        for armed in self._faults.active():
            fault = armed.fault
            is_meant = fault.kind == "lose_marker" and self._is_for_me(fault) and is_about(fault, topic, partition)
            if is_meant and self._faults.fire(armed):
                return True
        return False

    # Which faults are meant

    def _meant(self, place: str, call: "Call", response: Any | None = None) -> Iterator[ArmedFault]:
        """The faults of that place that fire now."""
        for armed in self._faults.active():
            if _place_of(armed.fault, call.key) != place or not self._matches(armed.fault, call):
                continue
            if place == "after" and not self._has_object(armed, call, response):
                continue
            if self._faults.fire(armed):
                event = self._passing[id(call)].event
                if event is not None:
                    event.faults.append(armed.number)
                yield armed

    def _matches(self, fault: Fault, call: "Call") -> bool:
        if call.client_id == OWN_CLIENT_ID and fault.client_id != OWN_CLIENT_ID:
            return False
        if fault.kind == "versions":
            is_served = fault.only[0] <= call.version <= fault.only[1]
            asks = call.key is ApiKey.API_VERSIONS or (call.key in fault.api and not is_served)
            return asks and self._is_for_me(fault)
        return (
            self._is_for_me(fault)
            and (not fault.api or call.key in fault.api)
            and (fault.versions is None or fault.versions[0] <= call.version <= fault.versions[1])
            and fault.client_id in (None, call.client_id)
            and (fault.group is None or fault.group in groups_of(call.request))
            and (not fault.is_for_partitions or self._is_about_partitions(fault, call))
        )

    def _is_for_me(self, fault: Fault) -> bool:
        return fault.broker in (None, self._services.cluster.node_id)

    def _is_about_partitions(self, fault: Fault, call: "Call") -> bool:
        places = list(places_of(call.request, self._topic_name))
        if call.key is ApiKey.FETCH:
            places += [
                (self._name_of(each) or "", each.index)
                for each in self._services.sessions.interests(call.request.session_id)
            ]
        if call.key is ApiKey.METADATA and not places:
            return True  # it asks for all topics
        return any(is_about(fault, topic, partition) for topic, partition in places)

    def _has_object(self, armed: ArmedFault, call: "Call", response: Any | None) -> bool:
        """Whether the answer has what the fault changes."""
        fault = armed.fault
        if fault.kind in ("corrupt", "watermark"):
            return isinstance(response, FetchResponse) and (
                has_records(response, self._meant_by(fault), self._topic_name) or fault.kind == "watermark"
            )
        if fault.kind == "throttle":
            return hasattr(response, "throttle_time_ms")
        return True

    def _meant_by(self, fault: Fault) -> Callable[[str | None, int | None], bool]:
        return lambda topic, partition: is_about(fault, topic, partition)

    def _topic_name(self, topic_id: UUID) -> str | None:
        topic = self._services.cluster.topic_of(topic_id)
        return None if topic is None else topic.name

    def _name_of(self, interest: Any) -> str | None:
        return interest.topic or self._topic_name(interest.topic_id)

    # Before the request has its effect

    async def _begin(self, armed: ArmedFault, call: "Call") -> Any | None:
        """A response in the handler's place. Raises: ApiError, CloseConnection."""
        fault = armed.fault
        match fault.kind:
            case "delay":
                await self._services.clock.sleep(fault.delay)
            case "hold":
                await self._held(armed.released, call)
            case "black_hole":
                await self._held(armed.released, call)
                raise CloseConnection("a fault swallowed the request")
            case "drop" | "versions":
                raise CloseConnection(f"a fault of kind {fault.kind} closes the connection")
            case "duplicate":
                await _awaited(_handler(call.key).handle(self._services, call.request, call))
            case "lose":
                return self._taken_away(fault, call, self._lost)
            case "error":
                return self._fail_before(armed, call)
            case "hook":
                return await self._hooked(armed, call)
        return None

    async def _hooked(self, armed: ArmedFault, call: "Call") -> Any | None:
        """What the hook answers, None to go on. Raises: CloseConnection, also when the hook itself fails."""
        function, handler = armed.fault.function, _handler(call.key)
        assert function is not None

        async def handled() -> Any:
            try:
                response = await _awaited(handler.handle(self._services, call.request, call))
            except ApiError as error:
                return handler.refuse(call.request, error, call)
            return ProduceResponse() if response is None else response  # with acks 0 it is not sent

        request = HookedRequest(
            broker=self._services.cluster.node_id,
            api=API[call.key].name,
            version=call.version,
            client_id=call.client_id,
            connection=str(call.peer),
            body=call.request,
            _handle=handled,
            _refuse=lambda error: handler.refuse(call.request, error, call),
        )
        try:
            outcome = await ask(function, call.key, request)
        except CloseConnection:
            raise  # what the broker does with acks 0
        except Exception:
            armed.failure = armed.failure or traceback.format_exc()
            raise CloseConnection("a hook failed") from None
        if outcome is SILENCE:
            await self._held(armed.released, call)
        if outcome in (SILENCE, CLOSE):
            raise CloseConnection("a hook closes the connection")
        return None if outcome is PASS else outcome

    def _fail_before(self, armed: ArmedFault, call: "Call") -> Any | None:
        fault = armed.fault
        if call.key is ApiKey.FETCH:
            call.request = replace(call.request, max_wait_ms=0)
        if call.key is ApiKey.FETCH or (fault.is_for_partitions and call.key not in WITH_EFFECT):
            passing = self._passing[id(call)]
            passing.late = [*(passing.late or ()), armed]
            return None
        error = ApiError(f"fault {armed.number}", fault.code)
        if not fault.is_for_partitions:
            raise error
        return self._taken_away(fault, call, lambda part: _handler(call.key).refuse(part, error, call))

    def _taken_away(self, fault: Fault, call: "Call", answer: Callable[[Any], Any]) -> Any | None:
        """Lets the handler have the rest of the request; the answer to all of it when there is no rest."""
        rest, part = split(call.request, self._meant_by(fault), self._topic_name)
        if part is None:
            return None
        response = answer(part)
        if rest is None:
            return response
        call.request = rest
        passing = self._passing[id(call)]
        passing.also = joined(passing.also, response)
        return None

    def _lost(self, request: ProduceRequest) -> ProduceResponse:
        """A success for records that are written nowhere."""
        return ProduceResponse(
            responses=tuple(
                TopicProduceResponse(
                    name=topic.name,
                    partition_responses=tuple(
                        PartitionProduceResponse(index=data.index, base_offset=self._end_of(topic.name, data.index))
                        for data in topic.partition_data
                    ),
                )
                for topic in request.topic_data
            )
        )

    def _end_of(self, topic: str, partition: int) -> int:
        return self._services.cluster.partition(topic, partition).log.log_end_offset

    async def _held(self, released: asyncio.Event, call: "Call") -> None:
        """Returns when it is let go. Raises: CloseConnection when the client leaves before."""
        left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = asyncio.ensure_future(released.wait())
        call.peer.on_leave = lambda: None if left.done() else left.set_result(None)
        try:
            await asyncio.wait((left, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            call.peer.on_leave = None
            waiting.cancel()
        if left.done():
            raise CloseConnection("the client left while a fault held its request")

    # After it

    async def _end(self, armed: ArmedFault, call: "Call", response: Any) -> Any:
        """The response to send. Raises: CloseConnection."""
        fault = armed.fault
        match fault.kind:
            case "delay":
                await self._services.clock.sleep(fault.delay)
            case "hold":
                await self._held(armed.released, call)
            case "drop":
                raise CloseConnection("a fault closes the connection instead of answering")
            case "error":
                return self._with_error(fault, call, response)
            case "throttle":
                if fault.mute:
                    call.throttle_ms = max(call.throttle_ms, fault.delay)
                return replace(response, throttle_time_ms=fault.delay)
            case "corrupt":
                return with_spoilt_records(response, fault.what, self._meant_by(fault), self._topic_name)
            case "watermark":
                return with_watermarks(
                    response, fault.high_watermark, fault.last_stable_offset, self._meant_by(fault), self._topic_name
                )
            case "versions":
                return _with_versions(response, fault)
            case "metadata":
                return with_leader(response, fault.leader, self._meant_by(fault))
            case "stale_metadata":
                return with_old_leaders(response, armed.notes[self._services.cluster.node_id], self._meant_by(fault))
        return response

    def _with_error(self, fault: Fault, call: "Call", response: Any) -> Any:
        if response is None:
            raise CloseConnection(f"a fault answers {fault.code.name} to a request that has no answer")
        if isinstance(response, FetchResponse):
            response = self._with_all_partitions(call, response)
        elif not fault.is_for_partitions:
            return _handler(call.key).refuse(call.request, ApiError("a fault", fault.code), call)
        whole_topics = call.key is ApiKey.METADATA and fault.partition is None
        return with_error(
            response, call.version, fault.code, self._meant_by(fault), self._topic_name, whole_topics=whole_topics
        )

    def _with_all_partitions(self, call: "Call", response: FetchResponse) -> FetchResponse:
        """Also with the partitions of the session of which there was nothing new to say."""
        if call.version < FIRST_VERSION_WITH_SESSIONS:
            return response
        told = {
            (topic.topic_id if topic.topic_id.int else topic.topic, each.partition_index)
            for topic in response.responses
            for each in topic.partitions
        }
        by_id = call.version >= FIRST_VERSION_WITH_TOPIC_IDS
        missing = []
        for interest in self._services.sessions.interests(response.session_id):
            interest.told_high_watermark = -1  # what it is told now is not so
            if interest.key not in told:
                blank = PartitionData(partition_index=interest.index, high_watermark=-1, records=b"")
                named = {"topic_id": interest.topic_id} if by_id else {"topic": interest.topic}
                missing.append(FetchableTopicResponse(partitions=(blank,), **named))
        return replace(response, responses=(*response.responses, *missing))

    # The log

    def _written_down(self, call: "Call") -> RequestEvent | None:
        if call.client_id == OWN_CLIENT_ID:
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
        )
        self._events.add(event)
        return event


def _place_of(fault: Fault, key: ApiKey) -> str:
    """Where a request passes when the fault is done."""
    if fault.kind == "versions":
        return "after" if key is ApiKey.API_VERSIONS else "before"
    if fault.kind in WITHOUT_REQUEST:
        return fault.kind
    if fault.bytes is not None or fault.what in FRAME_FAULTS:
        return "encoded"
    if fault.kind in ("throttle", "corrupt", "watermark", "metadata", "stale_metadata"):
        return "after"
    return fault.when


def _handler(key: ApiKey) -> Any:
    return import_module(f"..handlers.{SERVED[key].module}", __package__)


async def _awaited(response: Any | Awaitable[Any]) -> Any:
    return await response if isinstance(response, CoroutineType) else response


def _with_versions(response: Any, fault: Fault) -> Any:
    first, last = fault.only
    kept = []
    for each in response.api_keys:
        if each.api_key in fault.api:
            low, high = max(first, each.min_version), min(last, each.max_version)
            if low > high:
                continue
            each = replace(each, min_version=low, max_version=high)
        kept.append(each)
    return replace(response, api_keys=tuple(kept))
