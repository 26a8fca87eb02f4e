"""From a frame to the pieces of its response: header, version, body, handler, encoding.

The one place that turns an exception into a wire error: an `ApiError` becomes the code it carries, in the API's own
form; anything else is logged with its trace and becomes UNKNOWN_SERVER_ERROR. A frame that cannot be read closes the
connection (spec: api-versions, section 5), except that ApiVersions answers versions it does not know in the layout of
v0.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..protocol.api import API, ApiKey, ApiSpec
from ..protocol.errors import ApiError, ErrorCode, MalformedFrame
from ..protocol.frame import RequestHeader, decode_request_header, encode_response
from ..protocol.schema import Piece, decode
from .connection import CloseConnection, Peer, Reply
from .error_tally import ErrorTally
from .request_meter import RequestMeter

if TYPE_CHECKING:
    from .broker import Broker

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """An API that this broker answers: `module` in handlers/, versions from `first` to `last` inclusive."""

    module: str
    first: int
    last: int


@dataclass(slots=True, kw_only=True)
class Call:
    """One request on its way through its handler. `waited_s` is the part of its time that a purgatory held it."""

    key: ApiKey
    version: int
    header: RequestHeader
    peer: Peer
    request: Any
    request_bytes: int
    waited_s: float = 0.0

    @property
    def client_id(self) -> str:
        return self.header.client_id or ""


class Dispatcher:
    """Answers frames by the table of handlers."""

    def __init__(self, broker: "Broker", served: Mapping[ApiKey, Served]) -> None:
        self._broker = broker
        self._served = served
        self._modules: dict[str, ModuleType] = {}
        self._meters: dict[tuple[ApiKey, int], RequestMeter] = {}
        self._errors = ErrorTally(broker.metrics.request_errors)

    async def answer(self, frame: memoryview, peer: Peer) -> Reply:
        """The response. Raises MalformedFrame or CloseConnection."""
        began = perf_counter()
        header, body = decode_request_header(frame)
        peer.client_id = header.client_id or ""
        spec, served = self._find(header, peer)
        if not served.first <= header.api_version <= served.last:
            if spec.key is ApiKey.API_VERSIONS:
                return Reply(
                    self._refuse_api_versions(spec, served, header), self._meter(spec, 0), began, perf_counter()
                )
            raise MalformedFrame(
                f"{spec.name} version {header.api_version} is not served, only {served.first} to {served.last}"
            )
        try:
            request = decode(spec.request, header.api_version, body)
        except MalformedFrame as fault:
            raise MalformedFrame(f"{spec.name} v{header.api_version} request: {fault}") from fault
        call = Call(
            key=spec.key,
            version=header.api_version,
            header=header,
            peer=peer,
            request=request,
            request_bytes=len(body),
        )
        module = self._module(served.module)
        response = await self._respond(module, call)
        meter = self._meter(spec, call.version)
        meter.handled(call.request_bytes, perf_counter() - began, call.waited_s)
        self._count(spec, call, response)
        return Reply(None if response is None else _encoded(spec, call, response), meter, began, perf_counter())

    def answered(self, reply: Reply) -> None:
        """Counts how long it took until all was sent; conversion while sending is part of it."""
        now = perf_counter()
        reply.meter.sent(now - reply.ready_s, now - reply.began_s)

    def _meter(self, spec: ApiSpec, version: int) -> RequestMeter:
        meter = self._meters.get((spec.key, version))
        if meter is None:
            meter = self._meters[spec.key, version] = RequestMeter(self._broker.metrics, spec.name, version)
        return meter

    def _find(self, header: RequestHeader, peer: Peer) -> tuple[ApiSpec, Served]:
        try:
            key = ApiKey(header.api_key)
            return API[key], self._served[key]
        except (ValueError, KeyError):
            raise MalformedFrame(
                f"API key {header.api_key} version {header.api_version} is not served; is {peer} a Kafka client?"
            ) from None

    def _module(self, name: str) -> ModuleType:
        module = self._modules.get(name)
        if module is None:
            module = self._modules[name] = import_module(f".handlers.{name}", __package__)
        return module

    def _refuse_api_versions(self, spec: ApiSpec, served: Served, header: RequestHeader) -> list[Piece]:
        refusal = self._module(served.module).unsupported(served)
        return encode_response(spec, 0, header.correlation_id, refusal)

    async def _respond(self, module: ModuleType, call: Call) -> Any | None:
        interceptors = self._broker.interceptors
        response = None
        try:
            for interceptor in interceptors:
                response = await interceptor.before(call)
                if response is not None:
                    break
            else:
                response = await module.handle(self._broker, call.request, call)
        except (CloseConnection, MalformedFrame):
            raise
        except ApiError as error:
            response = module.refuse(call.request, error, call)
        except Exception:
            log.exception("%s v%d from %s (client %r) failed", call.key.name, call.version, call.peer, call.client_id)
            unknown = ApiError("unexpected failure, see the broker's log", ErrorCode.UNKNOWN_SERVER_ERROR)
            response = module.refuse(call.request, unknown, call)
        for interceptor in interceptors:
            response = await interceptor.after(call, response)
        return response

    def _count(self, spec: ApiSpec, call: Call, response: Any | None) -> None:
        if response is not None:
            self._errors.add(spec.name, response)
        if spec.is_deprecated(call.version):
            peer = call.peer
            self._broker.metrics.deprecated_requests.of(
                spec.name, str(call.version), peer.software_name, peer.software_version
            ).add()


def _encoded(spec: ApiSpec, call: Call, response: Any) -> list[Piece]:
    """Raises CloseConnection when our own response does not fit its layout: the client must not wait for it."""
    try:
        return encode_response(spec, call.version, call.header.correlation_id, response)
    except ValueError as fault:
        log.exception("the response to %s v%d cannot be written", spec.name, call.version)
        raise CloseConnection(f"the response to {spec.name} v{call.version} cannot be written: {fault}") from fault
