"""One connection on the event loop: requests are pipelined, and answers are matched to them by correlation id.

`exchange_body` sends a request whose body is encoded already. Callers wait while too many written bytes have not been
sent.
"""

import asyncio
import inspect
from typing import Any, cast

from ..protocol.api import ApiSpec, spec_of_request
from ..protocol.errors import MalformedFrame
from ..protocol.frame import SIZE_BYTES, FrameParser, decode_response, encode_request, encode_request_head_and_body
from .connection import MAX_BYTES_BEFORE_LOGIN, MAX_RESPONSE_BYTES, TIMEOUT_S
from .security.login import LoginRequest, LoginStep, RawSaslToken, log_in
from .security.settings import SaslSettings
from .steps import await_steps
from .versions import VERSIONS_REQUEST, VersionRanges, ask_versions

MAX_INT32 = (1 << 31) - 1
MOST_BYTES_AT_ONCE = 64 * 1024
"""The largest answer that is decoded on the event loop: 20,000 access rules take 30 ms."""
CORRELATION_BYTES = 4
Frame = memoryview


class AsyncConnection(asyncio.Protocol):
    """Every method that waits raises OSError when the broker hangs up or is silent for `timeout_s`, and MalformedFrame
    when its answer is not Kafka's protocol. The connection is closed after either.

    `versions`: the API versions that the broker offers.
    """

    def __init__(self, client_id: str, timeout_s: float = TIMEOUT_S) -> None:
        self.versions: VersionRanges = {}
        self.closed = self._is_retired = False
        self._client_id, self._timeout_s = client_id, timeout_s
        self._correlation_id = 0
        self._parser = FrameParser(MAX_RESPONSE_BYTES)
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self._bare: asyncio.Future[Frame] | None = None
        self._writable = asyncio.Event()
        self._transport: asyncio.Transport | None = None

    @property
    def in_flight(self) -> int:
        """The number of requests without an answer."""
        return len(self._waiting)

    async def agree_on_versions(self, *, named: bool = False) -> int:
        """Asks which `versions` of each API the broker offers; returns the error code of its answer.

        `named`: the request names this software, which old brokers take for a token of a login.
        """
        answer = await await_steps(ask_versions(named=named), lambda version: self.exchange(VERSIONS_REQUEST, version))
        self.versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        return answer.error_code

    async def log_in(self, sasl: SaslSettings) -> int:
        """Logs in; returns for how many ms the login is valid, 0 for ever. Raises: AuthenticationFailed."""
        self._parser.max_bytes = MAX_BYTES_BEFORE_LOGIN
        lifetime_ms = await await_steps(log_in(sasl, self.versions), self._do_login_step)
        self._parser.max_bytes = MAX_RESPONSE_BYTES
        return lifetime_ms

    async def exchange(self, request: Any, version: int, timeout_s: float | None = None) -> Any:
        """Sends a request in that version and returns the response."""
        spec = spec_of_request(request)
        correlation_id = self._next_id()
        pieces = encode_request(spec, version, correlation_id, self._client_id, request)
        frame = await self._send(spec.name, correlation_id, pieces, timeout_s)
        try:
            if len(frame) <= MOST_BYTES_AT_ONCE:
                return decode_response(spec, version, frame)[1]
            return (await asyncio.to_thread(decode_response, spec, version, frame))[1]
        except MalformedFrame:
            self.close()
            raise

    async def exchange_body(
        self, spec: ApiSpec, version: int, body: bytes | memoryview, timeout_s: float | None = None
    ) -> Frame:
        """Sends an encoded request body; returns the answer's bytes after its correlation id, tags included."""
        correlation_id = self._next_id()
        pieces = encode_request_head_and_body(spec, version, correlation_id, self._client_id, body)
        return (await self._send(spec.name, correlation_id, pieces, timeout_s))[CORRELATION_BYTES:]

    def retire(self) -> None:
        """Closes the connection as soon as no request is in flight."""
        self._is_retired = True
        if not self._waiting:
            self.close()

    def close(self, why: Exception | None = None) -> None:
        """Closes the connection; requests in flight end with `why`."""
        if self._transport is not None:
            self._transport.abort()
        self._end(why or ConnectionResetError("the connection was closed"))

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self._writable.set()
        if self.closed:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._parser.feed(data)
        try:
            while not self.closed and (frame := self._parser.next_frame()) is not None:
                self._handle_answer(frame)
        except MalformedFrame as fault:
            self.close(fault)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc or ConnectionResetError("the broker closed the connection"))

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # inside

    def _next_id(self) -> int:
        self._correlation_id = (self._correlation_id + 1) & MAX_INT32
        return self._correlation_id

    async def _send(self, name: str, correlation_id: int, pieces: list[Any], timeout_s: float | None) -> Frame:
        if self.closed:
            raise ConnectionResetError(f"no connection for {name}")
        answered: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting[correlation_id] = answered
        try:
            return await self._write_and_await(pieces, answered, timeout_s)
        finally:
            del answered  # its exception refers to this frame

    async def _write_and_await(
        self, pieces: list[Any], answered: asyncio.Future[Frame], timeout_s: float | None
    ) -> Frame:
        try:
            async with asyncio.timeout(timeout_s or self._timeout_s):
                await self._writable.wait()
                if self._transport is not None and not self.closed:
                    self._transport.writelines(pieces)
                return await answered
        except TimeoutError:
            self.close(TimeoutError())
            raise
        finally:
            del answered

    async def _do_login_step(self, step: LoginStep) -> Any:
        if isinstance(step, LoginRequest):
            return await self.exchange(step.request, step.version)
        if isinstance(step, RawSaslToken):
            self._bare = asyncio.get_running_loop().create_future()
            sized = len(step.token).to_bytes(SIZE_BYTES, "big") + step.token
            return bytes(await self._write_and_await([sized], self._bare, None))
        token = step()
        return await token if inspect.isawaitable(token) else token

    def _handle_answer(self, frame: Frame) -> None:
        if self._bare is not None:
            answered, self._bare = self._bare, None
        elif len(frame) < CORRELATION_BYTES:
            raise MalformedFrame(f"a response of {len(frame)} bytes has no whole header")
        else:
            correlation_id = int.from_bytes(frame[:CORRELATION_BYTES], "big", signed=True)
            waiting = self._waiting.pop(correlation_id, None)
            if waiting is None:
                raise MalformedFrame(f"an answer to request {correlation_id}, which was not sent")
            answered = waiting
        if not answered.done():
            answered.set_result(frame)
        if self._is_retired:
            self.retire()

    def _end(self, why: Exception) -> None:
        self.closed = True
        self._writable.set()
        waiting, self._waiting = list(self._waiting.values()), {}
        for answered in (*waiting, *([self._bare] if self._bare is not None else [])):
            if not answered.done():
                answered.set_exception(why)
                answered.exception()  # nobody may wait for it any more
