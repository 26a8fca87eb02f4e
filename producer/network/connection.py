"""One connection to a broker: agrees on versions, then sends requests and matches answers by their order.

    connecting -> asking versions (ApiVersions v3, again with v0 where that is refused) -> logging in -> open -> closed

Before a login versions are asked with v0, since old brokers take what they do not know for a token.

A request that gets no answer for `request.timeout.ms` closes the connection, and every request in flight ends with it.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any, Final, NamedTuple, cast

from ...client.errors import describe_handshake_fault
from ...client.security.settings import SaslSettings
from ...client.versions import VERSION_WITH_SOFTWARE, VERSIONS_REQUEST, VersionRanges
from ...protocol.api import API, ApiKey
from ...protocol.errors import ErrorCode, MalformedFrame
from ...protocol.frame import SIZE_BYTES, FrameParser, decode_response, encode_request
from ...protocol.messages.api_versions import ApiVersionsResponse
from ...protocol.records.layout import MAX_INT32
from ...protocol.records.record import Buffer
from ..errors import AuthenticationFailed, ProducerError
from ..sender.network_interface import NetworkAnswer
from ..sender.produce_request_template import ProduceRequestTemplate, RequestFromTemplate
from .login import Login

MAX_RESPONSE_BYTES: Final = 100 * 1024 * 1024
MAX_FIRST_RESPONSE_BYTES: Final = 512 * 1024
"""The largest answer before the connection is open: to ApiVersions, and to the login."""
READ_BYTES: Final = 64 * 1024
MAX_OUTGOING_BYTES: Final = 64 * 1024
"""Requests of one pass that are gathered before they are written."""
SESSION_USE: Final = 0.85
"""The part of a login's lifetime that is used; then the connection ends once nothing is in flight, and the next one
logs in."""

_SIZE: Final = Struct(">i")


class _InFlight(NamedTuple):
    correlation_id: int
    key: ApiKey
    version: int
    sent_ms: int
    done: Callable[[NetworkAnswer], None]
    template: ProduceRequestTemplate | None


class Connection(asyncio.BufferedProtocol):
    """`changed` is called when it opens, closes, or can take requests again.

    `was_open`: requests could be sent. `ending`: what requests in flight end with, once it is closed. `fault`: an
    error of TLS or the login, which another connection would meet, too. `good_until_ms`: when its login ends, None for
    never.
    """

    def __init__(
        self, client_id: str, now: Callable[[], int], changed: Callable[[], None], sasl: SaslSettings | None = None
    ) -> None:
        self.fault: ProducerError | None = None
        self.good_until_ms: int | None = None
        self._sasl = sasl
        self._bare: Callable[[bytes], None] | None = None
        self.versions: VersionRanges = {}
        self.open = self.was_open = self.closed = self.refused = False
        self.used_ms = now()
        self._client_id, self._now, self._changed = client_id, now, changed
        self._transport: asyncio.Transport | None = None
        self._view = memoryview(bytearray(READ_BYTES))
        self._parser = FrameParser(MAX_FIRST_RESPONSE_BYTES)
        self._in_flight: deque[_InFlight] = deque()
        self._unanswered: list[Callable[[NetworkAnswer], None]] = []
        self._correlation_id = self._outgoing_bytes = 0
        self._outgoing: list[Buffer] = []
        self._writable = True
        self.ending = ErrorCode.NETWORK_EXCEPTION

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    @property
    def can_send(self) -> bool:
        """Whether it is open and all earlier requests are written; not towards the end of its login."""
        return (
            self.open
            and not self.closed
            and self._writable
            and self._outgoing_bytes < MAX_OUTGOING_BYTES
            and (self.good_until_ms is None or self._now() < self.good_until_ms)
        )

    @property
    def oldest_sent_ms(self) -> int | None:
        """When the oldest request without answer was sent."""
        return self._in_flight[0].sent_ms if self._in_flight else None

    def send(
        self, key: ApiKey, version: int, request: Any, done: Callable[[NetworkAnswer], None], *, answered: bool
    ) -> None:
        assert self._transport is not None, "not connected"
        self._correlation_id = correlation_id = (self._correlation_id + 1) & MAX_INT32
        self.used_ms = now_ms = self._now()
        template = None
        if request.__class__ is RequestFromTemplate:
            template, records = request
            pieces = template.make_frame(correlation_id, records)
        else:
            encoded = encode_request(API[key], version, correlation_id, self._client_id, request)
            pieces = cast(list[Buffer], encoded)  # requests of a producer hold only bytes
        if answered:
            self._in_flight.append(_InFlight(correlation_id, key, version, now_ms, done, template))
        else:
            self._unanswered.append(done)
        self._outgoing += pieces
        self._outgoing_bytes += sum(map(len, pieces))
        if not self.open:
            self.flush()

    def flush(self) -> None:
        """Writes the requests that were sent since; one call of the system for all of a pass costs less."""
        if self._outgoing and self._transport is not None and not self.closed:
            outgoing, self._outgoing, self._outgoing_bytes = self._outgoing, [], 0
            self._transport.writelines(outgoing)
            if self._unanswered and self._writable:
                self._complete_unanswered_requests()

    def send_bare(self, token: bytes, done: Callable[[bytes], None]) -> None:
        """Sends a token of a login with its size in front; `done` gets the frame that comes back."""
        assert self._transport is not None, "not connected"
        self._bare = done
        self._transport.write(len(token).to_bytes(SIZE_BYTES, "big") + token)

    def close(self, why: ErrorCode = ErrorCode.NETWORK_EXCEPTION) -> None:
        """Hangs up; what is in flight ends with `why`."""
        self.ending = why
        if self._transport is not None:
            self._transport.abort()
        self._end()

    # --- asyncio.BufferedProtocol -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # that of uvloop only looks like one
        if self.closed:
            self._transport.abort()
            return
        self._transport.set_write_buffer_limits(high=0, low=0)
        self._ask_versions(0 if self._sasl is not None else VERSION_WITH_SOFTWARE)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        parser, frame = self._parser, self._view[:nbytes]
        try:
            # Most reads are one whole answer, which the parser need not see.
            if nbytes > SIZE_BYTES and not parser.buffered_bytes and nbytes - SIZE_BYTES == _SIZE.unpack_from(frame)[0]:
                self._handle_response(frame[SIZE_BYTES:], alone=True)
                return
            # What is left of the view when this returns is copied by the parser.
            parser.feed(frame)
            while not self.closed and (whole := parser.next_frame()) is not None:
                self._handle_response(whole, alone=not parser.buffered_bytes)
        except MalformedFrame:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if isinstance(exc, ssl.SSLError) and not self.open:
            self.fault = make_tls_fault(exc)
        self._end()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._complete_unanswered_requests()
        self._changed()

    # --- inside -------------------------------------------------------------------------------------------------------

    def _complete_unanswered_requests(self) -> None:
        unanswered, self._unanswered = self._unanswered, []
        for done in unanswered:
            asyncio.get_running_loop().call_soon(done, NetworkAnswer())

    def _ask_versions(self, version: int) -> None:
        self.send(ApiKey.API_VERSIONS, version, VERSIONS_REQUEST, self._handle_versions, answered=True)

    def _handle_versions(self, answer: NetworkAnswer) -> None:
        response = answer.response
        if not isinstance(response, ApiVersionsResponse):
            return
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION and not self.refused:
            self.refused = True
            self._ask_versions(0)
        elif response.error_code:
            self.close()
        else:
            self.versions = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
            if self._sasl is not None:
                Login(self._sasl, self, self._end_login).start(self.versions)
            else:
                self._mark_open()

    def _end_login(self, fault: AuthenticationFailed | None, lifetime_ms: int) -> None:
        if fault is not None:
            self.fault = fault
            self.close()
            return
        if lifetime_ms > 0:
            self.good_until_ms = self._now() + int(lifetime_ms * SESSION_USE)
        self._mark_open()

    def _mark_open(self) -> None:
        self.open = self.was_open = True
        self._parser.max_bytes = MAX_RESPONSE_BYTES
        self._changed()

    def _handle_response(self, frame: memoryview, *, alone: bool) -> None:
        if self._bare is not None:
            done, self._bare = self._bare, None
            done(bytes(frame))
            return
        if not self._in_flight:
            raise MalformedFrame("an answer to no request")
        sent = self._in_flight[0]
        response: Any = None
        if sent.template is not None:
            response = sent.template.read_answer(sent.correlation_id, frame)
        if response is None:
            response = _decode_response(sent, frame)
        self._in_flight.popleft()
        self.used_ms = now_ms = self._now()
        sent.done(NetworkAnswer(response, None, now_ms - sent.sent_ms, alone))

    def _end(self) -> None:
        if self.closed:
            return
        self.closed, self.open = True, False
        in_flight, self._in_flight = self._in_flight, deque()
        unanswered, self._unanswered = self._unanswered, []
        for sent in in_flight:
            sent.done(NetworkAnswer(failure=self.ending, latency_ms=self._now() - sent.sent_ms))
        for done in unanswered:
            done(NetworkAnswer(failure=self.ending))
        self._changed()


def make_tls_fault(error: ssl.SSLError) -> AuthenticationFailed:
    """What a failed handshake comes to."""
    return AuthenticationFailed(describe_handshake_fault(error), ErrorCode.NETWORK_EXCEPTION)


def _decode_response(sent: _InFlight, frame: memoryview) -> Any:
    """The response to that request. Raises: MalformedFrame."""
    correlation_id, response = decode_response(API[sent.key], sent.version, frame)
    if correlation_id != sent.correlation_id:
        raise MalformedFrame(f"an answer to request {correlation_id} instead of {sent.correlation_id}")
    return response
