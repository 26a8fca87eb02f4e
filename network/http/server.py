"""A small HTTP/1.1 server for scrapes and probes: h11 reads and writes the protocol, this module moves the bytes.

h11 and not a web framework: three GET paths do not earn 20 MB of resident memory (docs/decisions/http.md).
"""

import asyncio
import contextlib
import errno
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from types import MappingProxyType
from typing import Protocol

import h11

from ..admission.descriptor_reserve import RESERVED_FROM_HTTP, check_free_descriptors
from ..turn import Turns

READ_BYTES = 16 * 1024
WRITE_BYTES = 64 * 1024
MOST_CONNECTIONS = 64
MOST_BODY_BYTES = 64 * 1024
READING = (b"GET", b"HEAD")
HEAD_PIECE_BYTES = 512
MOST_HEAD_LINES = 128
"""Lines of a request before its body, 6 µs each; checked after each piece that is read."""
EVENTS_A_TURN = 16
"""Events of h11 in a turn, about 20 µs each: the buffer may hold thousands."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The answer for a path."""

    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK
    headers: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A request for a page. `query`: the text after the question mark. `peer`: the client's address. `method`: GET,
    HEAD, or POST; only POST has a `body`.
    """

    path: str
    query: str
    headers: Sequence[tuple[bytes, bytes]]
    peer: str
    method: str = "GET"
    body: bytes = b""


class Guard(Protocol):
    """Decides who may see pages."""

    async def find_refusal(self, request: PageRequest) -> Page | None:
        """Returns the answer to a client that may not see the page, perhaps after a delay; None if it may."""


class FallbackPages(Guard, Protocol):
    """Answers requests for paths that have no page of their own."""

    async def answer(self, request: PageRequest) -> Page | None:
        """Returns None if there is nothing at its path."""


MakePage = Callable[[], Awaitable[Page]]
NO_PAGES: Mapping[str, MakePage] = MappingProxyType({})


class HttpServer:
    """Answers GET and HEAD on a fixed set of paths; each page is made when it is asked for.

    `guarded_pages` are only for clients that `guard` accepts. `fallback` answers all other paths, POST included.
    """

    def __init__(
        self,
        pages: Mapping[str, MakePage],
        guarded_pages: Mapping[str, MakePage] = NO_PAGES,
        guard: Guard | None = None,
        *,
        fallback: FallbackPages | None = None,
        idle_s: float = 75.0,
    ) -> None:
        self._pages = {**pages, **(guarded_pages if guard is not None else NO_PAGES)}
        self._guards = dict.fromkeys(guarded_pages, guard)
        self._fallback = fallback
        self._idle_s = idle_s
        self._turns = Turns()
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._waiting: dict[
            asyncio.StreamWriter, asyncio.Timeout
        ] = {}  # wait for a request or a login; the longest wait first
        self._sending: dict[asyncio.StreamWriter, None] = {}  # send an answer; the longest first

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Starts listening (port 0: any free one); returns host and port. Raises: OSError."""
        self._server = await asyncio.start_server(self._serve, host or None, port, limit=READ_BYTES)
        if not self._server.sockets:  # asyncio skips addresses for which it gets no socket
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        taken = self._server.sockets[0].getsockname()
        return taken[0], taken[1]

    async def stop(self) -> None:
        """Stops listening and closes all connections."""
        if self._server is not None:
            self._server.close()
            for writer in tuple(self._open):
                writer.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (
            len(self._open) >= MOST_CONNECTIONS or _has_no_descriptors_left(writer)
        ) and not self._close_longest_waiting():
            writer.close()
            return
        self._open.add(writer)
        try:
            with contextlib.suppress(OSError, TimeoutError):
                await self._answer_all(h11.Connection(h11.SERVER), reader, writer)
        finally:
            self._open.discard(writer)
            self._waiting.pop(writer, None)
            self._sending.pop(writer, None)
            writer.close()

    def _close_longest_waiting(self) -> bool:
        """Closes the connection that has been idle, or in the middle of a request, for longest; if there is none, the
        one that has been reading its answer for longest. Returns False if all answers are still being made.

        Idle connections must not keep a liveness probe out.
        """
        longest = next(iter(self._waiting or self._sending), None)
        if longest is None:
            return False
        wait = self._waiting.pop(longest, None)
        if wait is not None and not wait.expired():
            wait.reschedule(0)
        self._sending.pop(longest, None)
        self._open.discard(longest)
        longest.transport.abort()  # drops what it has not read
        return True

    async def _answer_all(
        self, protocol: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            await self._answer_requests(protocol, reader, writer)
        except h11.RemoteProtocolError as fault:
            _write_refusal(protocol, writer, fault)

    async def _answer_requests(
        self, protocol: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Raises: h11.RemoteProtocolError."""
        peername = writer.get_extra_info("peername")
        peer = str(peername[0]) if peername else ""
        while True:
            async with asyncio.timeout(self._idle_s) as wait:
                self._waiting[writer] = wait
                request, body = await self._receive_request(protocol, reader)
                refusal = request and await self._find_refusal(request, peer)
                self._waiting.pop(writer, None)
            if request is None:
                return
            page = refusal or await self._make_page_for(request, body, peer)
            length = str(len(page.body))
            headers = [("content-type", page.content_type), ("content-length", length), *page.headers]
            self._sending[writer] = None
            writer.write(protocol.send(h11.Response(status_code=page.status, headers=headers)) or b"")
            async with asyncio.timeout(self._idle_s):
                await self._send_body(protocol, writer, b"" if request.method == b"HEAD" else page.body)
            self._sending.pop(writer, None)
            if protocol.our_state is h11.MUST_CLOSE or protocol.their_state is not h11.DONE:
                return
            protocol.start_next_cycle()

    async def _send_body(self, protocol: h11.Connection, writer: asyncio.StreamWriter, body: bytes) -> None:
        """Sends the body in pieces: little is buffered for a slow reader, and the loop goes on after each."""
        for at in range(0, len(body), WRITE_BYTES):
            writer.write(protocol.send(h11.Data(data=body[at : at + WRITE_BYTES])) or b"")
            await writer.drain()
            await self._turns.wait()
        writer.write(protocol.send(h11.EndOfMessage()) or b"")
        await writer.drain()
        await self._turns.wait()  # also after an answer without a body, so that pipelined HEADs do not hold the loop

    async def _receive_request(
        self, protocol: h11.Connection, reader: asyncio.StreamReader
    ) -> tuple[h11.Request | None, bytes]:
        """Returns the next request, None if the client has closed, and its body.

        Raises: h11.RemoteProtocolError, also for more than `MOST_HEAD_LINES` or `MOST_BODY_BYTES`.
        """
        request: h11.Request | None = None
        body = bytearray()
        head_lines = 0
        for number in count(1):
            if number % EVENTS_A_TURN == 0:
                await self._turns.wait()
            event = protocol.next_event()
            if event is h11.NEED_DATA:
                if request is None and head_lines > MOST_HEAD_LINES:
                    raise h11.RemoteProtocolError("too many headers", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
                data = await reader.read(HEAD_PIECE_BYTES if request is None else READ_BYTES)
                head_lines += data.count(b"\n")
                protocol.receive_data(data)
                await self._turns.wait()
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > MOST_BODY_BYTES:
                    raise h11.RemoteProtocolError("the body is too long", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            elif isinstance(event, h11.EndOfMessage):
                return request, bytes(body)
            elif isinstance(event, h11.ConnectionClosed):
                break
        return None, b""

    async def _find_refusal(self, request: h11.Request, peer: str) -> Page | None:
        """The answer to a client that may not see the page; None if it may."""
        path = _path_of(request)
        guard = self._guards.get(path) if path in self._pages else self._fallback
        return None if guard is None else await guard.find_refusal(_make_page_request(request, b"", peer))

    async def _make_page_for(self, request: h11.Request, body: bytes, peer: str) -> Page:
        make = self._pages.get(_path_of(request))
        if make is None and self._fallback is not None and request.method in (*READING, b"POST"):
            page = await self._fallback.answer(_make_page_request(request, body, peer))
            if page is not None:
                return page
        if request.method not in READING:
            return Page(body=b"only GET and HEAD\n", status=HTTPStatus.METHOD_NOT_ALLOWED)
        if make is None:
            there = ", ".join((*(("/",) if self._fallback is not None else ()), *self._pages))
            return Page(body=f"nothing at this path; there is {there}\n".encode(), status=HTTPStatus.NOT_FOUND)
        return await make()


def _write_refusal(protocol: h11.Connection, writer: asyncio.StreamWriter, fault: h11.RemoteProtocolError) -> None:
    """Answers in HTTP that the request is malformed or too large: a Kafka client may use the wrong port."""
    if protocol.our_state in (h11.IDLE, h11.SEND_RESPONSE):
        headers = [("content-length", "0"), ("connection", "close")]
        writer.write(protocol.send(h11.Response(status_code=fault.error_status_hint, headers=headers)) or b"")


def _path_of(request: h11.Request) -> str:
    return request.target.split(b"?")[0].decode("ascii", "replace")


def _make_page_request(request: h11.Request, body: bytes, peer: str) -> PageRequest:
    return PageRequest(
        path=_path_of(request),
        query=request.target.partition(b"?")[2].decode("ascii", "replace"),
        headers=list(request.headers),
        peer=peer,
        method=request.method.decode("ascii", "replace"),
        body=body,
    )


def _has_no_descriptors_left(writer: asyncio.StreamWriter) -> bool:
    """Whether no descriptor is left for another connection."""
    try:
        check_free_descriptors(writer.get_extra_info("socket").fileno(), RESERVED_FROM_HTTP)
    except OSError:
        return True
    return False
