"""From a frame to the pieces of its response: header, version, body, handler, encoding.

A handler that seldom waits is a plain function: it returns its response, or a coroutine if it has to wait. That saves
a third of the steps of a request.

The one place that turns an exception into the wire error of a whole request (Produce and Fetch do it for each
partition): an `ApiError` becomes the code it carries, in the API's own form; anything else is logged with its trace
and becomes UNKNOWN_SERVER_ERROR. A frame that cannot be read closes the connection, as Kafka's
`SocketServer.processChannelException` does; but ApiVersions answers versions that it does not know, in the layout of
v0 (KIP-511).
"""

import logging
from collections.abc import Coroutine, Mapping
from importlib import import_module
from time import perf_counter
from types import CoroutineType, ModuleType
from typing import TYPE_CHECKING, Any

from ...network.admission.peer_log_limit import PeerLogLimit
from ...network.answerer import CloseConnection, Reply
from ...network.clients.client_report import MOST_NAME
from ...network.clock import LoopClock
from ...network.memory_budget import Claim, NoRoomToWait
from ...network.metrics.counts import Counter
from ...network.peer import Peer
from ...network.pieces import bytes_in_memory
from ...network.worker_threads import drop_traceback
from ...protocol.api import API, ApiKey, ApiSpec
from ...protocol.decoder_generator import Decode
from ...protocol.errors import ApiError, ErrorCode, MalformedFrame, TooManyItems
from ...protocol.frame import RequestHeader, decode_request_header, response_encoder
from ...protocol.schema import Piece, decoder_of, schema_of
from ..metrics.metrics import Metrics
from ..metrics.request_metrics import RequestMeter
from ..metrics.response_errors import ResponseErrors
from .call import FEW_BYTES, Call
from .guard import Handle, guard
from .metering import meter, with_throttle_time
from .served_api import MOST_ITEMS_SETTING, ServedApi
from .synced_handle import sync_before_answer

if TYPE_CHECKING:
    from ..core import Core

LARGE_REQUEST_BYTES = 64 * 1024
MOST_ITEMS_READ_AT_ONCE = 1_000
"""The most items of a large produce request that the event loop decodes: its size does not show how many it has."""
CHARGED_ANSWER_BYTES = 64 * 1024

log = logging.getLogger(__name__)


class Route:
    """What all requests of one API and version share: how to decode, handle, encode and count them."""

    __slots__ = (
        "decode",
        "encode",
        "errors",
        "handle",
        "is_deprecated",
        "meter",
        "module",
        "served",
        "spec",
        "version",
    )

    def __init__(
        self, metrics: Metrics, spec: ApiSpec, version: int, served: ServedApi, module: ModuleType, handle: Handle
    ) -> None:
        self.spec = spec
        self.version = version
        self.served = served
        self.module = module
        self.handle = handle
        self.decode: Decode = decoder_of(spec.request, version)
        self.encode = response_encoder(spec, version)
        self.is_deprecated = spec.is_deprecated(version)
        self.meter = RequestMeter(metrics, spec.name, version)
        self.errors = ResponseErrors(metrics.request_errors, spec.name, spec.response)

    def __str__(self) -> str:
        return f"{self.spec.name} v{self.version}"


class Dispatcher:
    """Answers frames by the table of handlers."""

    def __init__(self, core: "Core", served: Mapping[ApiKey, ServedApi]) -> None:
        self._core = core
        self._served = served
        core.quotas.on_change = lambda: self._routes.clear()
        # With a clock that is moved by hand, runs have to be repeatable: no worker thread imports a handler.
        self._has_real_time = isinstance(core.clock, LoopClock)
        self._refusals = PeerLogLimit(core.clock)
        self._modules: dict[ApiKey, ModuleType] = {}
        self._routes: dict[tuple[int, int], Route] = {}

    def answer(self, frame: memoryview, peer: Peer) -> Reply | Coroutine[Any, Any, Reply]:
        """Returns the reply, or a coroutine that returns it where the handler waits.

        Raises: MalformedFrame, CloseConnection.
        """
        began = perf_counter()
        header, body = decode_request_header(frame)
        peer.client_id = (header.client_id or "")[:MOST_NAME]
        route = self._routes.get((header.api_key, header.api_version))
        if route is None:
            spec, served = self._look_up(header, peer)
            if spec.key not in self._modules:
                if self._has_real_time:
                    return self._load_handler_and_answer(spec.key, served, frame, peer)
                self._load_handler(spec.key, served)
            route = self._make_route(spec, served, header.api_version)
        if route.version != header.api_version:
            return self._refuse_api_versions(route, header, began)
        seen = peer.seen
        if not seen.is_kept or seen.client_id != peer.client_id:
            seen = self._core.clients.client_of(peer, header.api_key)
        seen.count_request((header.api_key, header.api_version), began)
        peer.latest_request = route.spec.key, route.version, len(body)
        is_large = len(body) > LARGE_REQUEST_BYTES
        if is_large and route.spec.key is not ApiKey.PRODUCE:
            return self._answer_large(route, header, body, peer, began)
        try:
            call = self._make_call(route, header, body, peer, MOST_ITEMS_READ_AT_ONCE if is_large else None)
        except TooManyItems as fault:
            if is_large:
                drop_traceback(fault)
                return self._answer_large(route, header, body, peer, began)
            return self._refuse_too_many_items(route, header, peer, fault, began)
        return self._answer(route, call, began)

    def _make_call(
        self, route: Route, header: RequestHeader, body: memoryview, peer: Peer, at_once: int | None = None
    ) -> Call:
        """Raises: MalformedFrame; TooManyItems, also where there are more than `at_once`."""
        setting = self._core.settings.stepdown_request_max_items
        most_items = min(setting, route.served.limit)
        if at_once is not None:
            most_items = min(most_items, at_once)
        try:
            request = route.decode(body, most_items)
        except TooManyItems as fault:
            which = f"; see {MOST_ITEMS_SETTING}" if most_items == setting else ""
            raise TooManyItems(f"{route} request: {fault}{which}") from None
        except MalformedFrame as fault:
            raise MalformedFrame(f"{route} request: {fault}") from None
        call = Call(route.spec.key, route.version, header, peer, request, len(body))
        call.has_many_items = len(body) > FEW_BYTES and route.spec.key is not ApiKey.PRODUCE
        return call

    async def _answer_large(
        self, route: Route, header: RequestHeader, body: memoryview, peer: Peer, began: float
    ) -> Reply:
        """As `answer`; a worker thread decodes the request."""
        try:
            call = await self._core.run_in_worker(self._make_call, route, header, body, peer)
            call.has_many_items = True
            del body  # the answer may wait for other clients
        except TooManyItems as fault:
            return self._refuse_too_many_items(route, header, peer, fault, began)
        reply = self._answer(route, call, began)
        return reply if isinstance(reply, Reply) else await reply

    def _refuse_too_many_items(
        self, route: Route, header: RequestHeader, peer: Peer, fault: TooManyItems, began: float
    ) -> Reply:
        """Returns the API's error for the whole request. Raises: the fault, where its response has no such error."""
        fields = {field.name for field in schema_of(route.spec.response).fields if route.version in field.versions}
        if "error_code" not in fields:
            raise fault
        drop_traceback(fault)
        self._refusals.warn(log, peer.network, f"refusing a request of {peer} (client {peer.client_id!r}): {fault}")
        message = {"error_message": str(fault)} if "error_message" in fields else {}
        refusal = route.spec.response(error_code=ErrorCode.INVALID_REQUEST, **message)
        pieces = route.encode(header.correlation_id, refusal)
        return Reply(pieces, route.meter, began, perf_counter())

    def _answer(self, route: Route, call: Call, began: float) -> Reply | Coroutine[Any, Any, Reply]:
        if self._core.interceptors:
            return self._answer_later(route, call, self._handle_with_interceptors(route, call), began)
        try:
            response = route.handle(self._core, call.request, call)
        except Exception as error:
            if not call.is_small:
                return self._answer_later(route, call, self._refuse(route, call, error), began)
            response = _make_refusal(route, call, error)
        if type(response) is CoroutineType:
            return self._answer_later(route, call, response, began)
        response = self._count_and_set_throttle_time(route, call, response, began)
        if response is None:
            return Reply(None, route.meter, began, perf_counter(), call.throttle_ms)
        route.errors.count(response)
        pieces = _encode(route, call, response)
        return Reply(pieces, route.meter, began, perf_counter(), call.throttle_ms)

    async def _answer_later(
        self, route: Route, call: Call, handling: Coroutine[Any, Any, Any | None], began: float
    ) -> Reply:
        """As `_answer`, for a handler that waits.

        A worker thread encodes the response if the request took more than one turn or may have many items. A large
        response first claims memory.
        """
        turn = call.turn
        try:
            try:
                response = await handling
            except Exception as error:
                response = await self._refuse(route, call, error)
            response = self._count_and_set_throttle_time(route, call, response, began)
            if response is None:
                return Reply(None, route.meter, began, perf_counter(), call.throttle_ms)
            if turn.has_place or call.has_many_items:
                encoded, tally = await self._core.run_in_worker(_encode_and_tally_errors, route, call, response)
                route.errors.add(tally)
            else:
                route.errors.count(response)
                encoded = _encode(route, call, response)
            pieces = self._intercept_pieces(call, encoded) if self._core.interceptors else encoded
            del response
            size_bytes = bytes_in_memory(pieces)
            is_large = size_bytes > CHARGED_ANSWER_BYTES
            claim = await self._claim_answer_memory(size_bytes, call.peer.network) if is_large else None
        finally:
            turn.release_place()
        return Reply(pieces, route.meter, began, perf_counter(), call.throttle_ms, claim)

    async def _claim_answer_memory(self, size_bytes: int, network: str) -> Claim:
        """Claims memory for a large answer until the client has read it.

        Raises: CloseConnection where too much waits for memory already.
        """
        try:
            return await self._core.answer_memory.claim(size_bytes, network)
        except NoRoomToWait as fault:
            drop_traceback(fault)
            raise CloseConnection(str(fault)) from None

    async def _refuse(self, route: Route, call: Call, error: Exception) -> Any | None:
        """As `_make_refusal`; a worker thread builds the response to a large request."""
        if call.is_small:
            return _make_refusal(route, call, error)
        call.has_many_items = True
        return await self._core.run_in_worker(_make_refusal, route, call, error)

    async def _handle_with_interceptors(self, route: Route, call: Call) -> Any | None:
        """Returns the response after each interceptor has had the chance to replace it."""
        interceptors = self._core.interceptors
        try:
            try:
                for interceptor in interceptors:
                    response = await interceptor.before(call)
                    if response is not None:
                        break
                else:
                    response = await _await_response(route.handle(self._core, call.request, call))
            except Exception as error:
                response = await self._refuse(route, call, error)
            for interceptor in interceptors:
                response = await interceptor.after(call, response)
        except BaseException:
            for interceptor in interceptors:
                interceptor.abandon(call)
            raise
        return response

    def _count_and_set_throttle_time(self, route: Route, call: Call, response: Any | None, began: float) -> Any | None:
        """Counts the request; returns the response, with the throttle time where there is one."""
        took_s = perf_counter() - began
        route.meter.observe_handling(call.request_bytes, took_s, call.waited_s)
        if route.is_deprecated:
            route.meter.count_deprecation(*call.peer.seen.software_labels)
        watcher = self._core.request_watcher
        if watcher is not None:
            watcher.note_answer(call, response, took_s)
        return with_throttle_time(response, call.throttle_ms) if call.throttle_ms and response is not None else response

    def _intercept_pieces(self, call: Call, pieces: list[Piece]) -> list[Piece]:
        """Returns the pieces as the interceptors leave them."""
        for interceptor in self._core.interceptors:
            pieces = interceptor.before_sending(call, pieces)
        return pieces

    def _look_up(self, header: RequestHeader, peer: Peer) -> tuple[ApiSpec, ServedApi]:
        """The API of a request whose version has no route yet.

        Raises: MalformedFrame where the API or its version is not served; ApiVersions is found in any version.
        """
        try:
            key = ApiKey(header.api_key)
            spec, served = API[key], self._served[key]
        except (ValueError, KeyError):
            raise MalformedFrame(
                f"API key {header.api_key} version {header.api_version} is not served; is {peer} a Kafka client?"
            ) from None
        if key is not ApiKey.API_VERSIONS and not served.first <= header.api_version <= served.last:
            raise MalformedFrame(
                f"{spec.name} version {header.api_version} is not served, only {served.first} to {served.last}"
            )
        return spec, served

    def _make_route(self, spec: ApiSpec, served: ServedApi, version: int) -> Route:
        """The route of that version; of version 0 where it is not served."""
        version = version if served.first <= version <= served.last else 0
        route = self._routes.get((spec.key, version))
        if route is None:
            module = self._modules[spec.key]
            route = Route(self._core.metrics, spec, version, served, module, self._wrap_handle(served, module))
            self._routes[spec.key, version] = route
        return route

    async def _load_handler_and_answer(self, key: ApiKey, served: ServedApi, frame: memoryview, peer: Peer) -> Reply:
        """Answers the first request of an API: a worker thread imports its handler first."""
        await self._core.run_in_worker(self._load_handler, key, served)
        reply = self.answer(frame, peer)
        del frame
        return reply if isinstance(reply, Reply) else await reply

    def _wrap_handle(self, served: ServedApi, module: ModuleType) -> Handle:
        """The module's `handle`, inside the authorization check if there is an authorizer, and metered if there are
        quotas."""
        authorizer, quotas = self._core.authorizer, self._core.quotas
        handle: Handle = module.handle
        if authorizer is not None:
            handle = guard(module, served.rule, authorizer)
        if served.changes_metadata:
            handle = sync_before_answer(handle)
        return meter(handle, quotas) if quotas.limits_requests and served.is_metered else handle

    def _load_handler(self, key: ApiKey, served: ServedApi) -> None:
        """Imports a handler when it is first needed (all take 6 MB), and its coordinator, which takes 0.1 s.

        Raises: CloseConnection when it cannot be imported.
        """
        try:
            module = import_module(f"..handlers.{key.name.lower()}", __package__)
            if served.coordinator:
                import_module(f"..{served.coordinator}.coordinator", __package__)
        except OSError as fault:  # not the peer's: EMFILE, most likely
            raise CloseConnection(
                f"the handler of {key.name} cannot be read, is the limit of open files too low? {fault}"
            ) from fault
        self._modules[key] = module

    def _refuse_api_versions(self, route: Route, header: RequestHeader, began: float) -> Reply:
        refusal = route.module.refuse_version(self._api_for_refusal(route))
        pieces = route.encode(header.correlation_id, refusal)
        return Reply(pieces, route.meter, began, perf_counter())

    def _api_for_refusal(self, route: Route) -> ServedApi | None:
        """The versions of ApiVersions that a client may ask in instead; None: the refusal does not name them."""
        return route.served


async def _await_response(response: Any) -> Any | None:
    return await response if type(response) is CoroutineType else response


def _make_refusal(route: Route, call: Call, error: Exception) -> Any | None:
    """The response that says that the whole request failed. Raises: `error`, if it closes the connection."""
    if isinstance(error, CloseConnection | MalformedFrame):
        raise error
    if not isinstance(error, ApiError):
        log.error("%s from %s (client %r) failed", route, call.peer, call.client_id, exc_info=error)
        error = ApiError("unexpected failure, see the broker's log", ErrorCode.UNKNOWN_SERVER_ERROR)
    return route.module.refuse(call.request, error, call)


def _encode_and_tally_errors(route: Route, call: Call, response: Any) -> tuple[list[Piece], Mapping[int, Counter]]:
    """As `_encode`, and tallies the error codes; for a worker thread: 90,000 topics take 25 ms."""
    return _encode(route, call, response), route.errors.tally(response)


def _encode(route: Route, call: Call, response: Any) -> list[Piece]:
    """Raises CloseConnection when our own response does not fit its layout: the client must not wait for it."""
    try:
        return route.encode(call.header.correlation_id, response)
    except ValueError as fault:
        log.exception("the response to %s cannot be written", route)
        raise CloseConnection(f"the response to {route} cannot be written: {fault}") from fault
