"""Listening sockets and the connections that came through them."""

import asyncio
import contextlib
import logging
import os
import socket
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from ..config.keys.ip_address import address_forms
from .admission.descriptor_reserve import check_free_descriptors
from .admission.strangers import Strangers
from .answerer import Answerer
from .clock import Clock, Timer
from .connection import Connection
from .log_line_limit import LogLineLimit, repetition_text
from .peer import Peer

MOST_IDLE_CHECKS_MS = 10_000
ACCEPTS_A_TURN = 64
RETRY_MS = 1_000
SILENT_SETTING = "stepdown.max.connections.before.request"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """How many connections are allowed, and how long they may be idle.

    `connections`: in all. `at_listener`: by listener name. `per_ip`: from one address; `per_host` overrides it for some
    addresses. `silent`: without a request yet, or in their login.
    `send_buffer_bytes`, `receive_buffer_bytes`: -1 leaves the size to the operating system.
    """

    connections: int
    at_listener: Mapping[str, int]
    per_ip: int
    per_host: dict[str, int]
    silent: int
    idle_ms: int
    backlog: int
    send_buffer_bytes: int
    receive_buffer_bytes: int

    def most_connections_of(self, host: str) -> int:
        """How many connections an address may have, in any spelling of it."""
        own = (self.per_host[form] for form in address_forms(host) if form in self.per_host)
        return next(own, self.per_ip)


class ConnectionRates(Protocol):
    """Limits the rate of new connections. All durations are 0 while connections do not come too fast."""

    def refusal_delay_ms(self, address: str) -> int:
        """How long to wait before closing a connection from there; 0: it is counted and accepted."""
        ...

    def server_pause_ms(self) -> int:
        """Counts an accepted connection. Returns for how long no other one may be accepted."""
        ...

    def listener_pause_ms(self, listener: str) -> int:
        """The same for one listener."""
        ...


def bind(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """A socket that is bound to `host:port` (port 0: any free one) and does not listen yet. `is_shared`: other
    processes of this user may bind it as well. Raises: OSError.
    """
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = found[0]
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(address)
    except OSError:
        sock.close()
        raise
    return sock


@contextlib.contextmanager
def address_in_bind_errors(host: str, port: int, option: str = "") -> Iterator[None]:
    """Adds the address, and the option that names it, to errors of `bind`. Raises: OSError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror if isinstance(error, socket.gaierror) or not error.errno else os.strerror(error.errno)
        where = f"{host}:{port}{option and f' ({option})'}"
        raise OSError(error.errno, f"cannot listen on {where}: {reason}") from error


def bind_without_name(name: str, host: str, port: int) -> socket.socket:
    """Same as `bind`, ignoring the listener's name."""
    return bind(host, port)


class Server:
    """Accepts connections on any number of listeners and serves each by a task of its own.

    `bind` returns the socket of a listener for its name, host and port.
    """

    def __init__(
        self,
        limits: Callable[[], ConnectionLimits],
        clock: Clock,
        connect: Callable[[socket.socket, Peer], tuple[Connection, Answerer]],
        on_closed: Callable[[str], None],
        rates: ConnectionRates,
        bind: Callable[[str, str, int], socket.socket] = bind_without_name,
    ) -> None:
        self._bind = bind
        self._limits_now = limits
        self._clock = clock
        self._connect = connect
        self._on_closed = on_closed
        self._rates = rates
        self._refused: set[socket.socket] = set()  # closed after their delay
        self._pause_end_ms = 0
        self._listeners: dict[socket.socket, str] = {}
        self._open: dict[Connection, asyncio.Task[None]] = {}
        self._strangers = Strangers()
        self._per_host: Tally[str] = Tally()
        self._per_listener: Tally[str] = Tally()
        self._too_fast_until_ms: dict[str, int] = {}
        self._paused: dict[str, Timer] = {}  # listeners that accept nothing for a while
        self._sweep: Timer | None = None
        self._retry: Timer | None = None
        self._lines = LogLineLimit(clock)
        self._is_full = False

    @property
    def _limits(self) -> ConnectionLimits:
        """The current limits: they may change at runtime."""
        return self._limits_now()

    @property
    def connection_count(self) -> int:
        return len(self._open)

    def peer_of(self, task: "asyncio.Task[None] | None") -> Peer | None:
        """The peer of the connection that the task serves, or None; may be called from any thread."""
        return next((connection.peer for connection, each in list(self._open.items()) if each is task), None)

    def listen(self, name: str, host: str, port: int) -> tuple[str, int]:
        """Starts accepting on `host:port` (port 0: any free one); returns host and port. Raises: OSError."""
        sock = self._bind(name, host, port)
        try:
            if self._limits.receive_buffer_bytes > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._limits.receive_buffer_bytes)
            sock.setblocking(False)
            sock.listen(max(self._limits.backlog, socket.SOMAXCONN))
        except OSError:
            sock.close()
            raise
        self._listeners[sock] = name
        if not self._is_full:
            asyncio.get_running_loop().add_reader(sock.fileno(), self._accept, sock, name)
        if self._sweep is None:
            self._schedule_sweep()
        taken = sock.getsockname()
        return taken[0], taken[1]

    def stop_listening(self, name: str) -> None:
        """Closes the listeners of that name, so that new connections are refused; open ones stay."""
        for sock in [each for each, listener in self._listeners.items() if listener == name]:
            asyncio.get_running_loop().remove_reader(sock.fileno())
            del self._listeners[sock]
            sock.close()

    def stop_accepting(self) -> None:
        """Closes all listeners; open connections stay."""
        self._stop_watching()
        for sock in self._listeners:
            sock.close()
        self._listeners.clear()
        for refused in self._refused:
            refused.close()
        for held in self._paused.values():
            held.cancel()
        self._paused.clear()

    def _watch_for_connections(self) -> None:
        for sock, name in self._listeners.items():
            asyncio.get_running_loop().add_reader(sock.fileno(), self._accept, sock, name)

    def _stop_watching(self) -> None:
        for sock in self._listeners:
            asyncio.get_running_loop().remove_reader(sock.fileno())
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _ms_until_accept(self, name: str) -> int:
        """How long a listener accepts nothing, since it has too many connections or got them too fast."""
        if self._per_listener[name] >= self._limits.at_listener[name]:
            return RETRY_MS
        return max(0, self._too_fast_until_ms.get(name, 0) - self._clock.monotonic_ms())

    def _pause_listener(self, listener: socket.socket, name: str, duration_ms: int) -> None:
        """Same as `_pause`, for one listener; `_accept` checks again whenever it is called."""
        asyncio.get_running_loop().remove_reader(listener.fileno())
        if name not in self._paused:
            self._paused[name] = self._clock.call_later(duration_ms, lambda: self._resume_listener(name))

    def _resume_listener(self, name: str) -> None:
        held = self._paused.pop(name, None)
        if held is not None:
            held.cancel()
            if not self._is_full:
                self._watch_for_connections()

    def _pause(self, duration_ms: int = RETRY_MS) -> None:
        """Stops accepting for a while: new connections wait in the kernel's backlog, or the loop would spin."""
        if not self._is_full:
            self._is_full = True
            self._stop_watching()
            self._retry = self._clock.call_later(duration_ms, self._resume)

    def _pause_for_rate(self, duration_ms: int) -> None:
        """Same as `_pause`, but nothing ends the pause early."""
        self._pause_end_ms = self._clock.monotonic_ms() + duration_ms
        self._pause(duration_ms)

    def _resume(self) -> None:
        if self._is_full and self._clock.monotonic_ms() >= self._pause_end_ms:
            self._is_full = False
            self._stop_watching()
            self._watch_for_connections()

    async def drain(self, grace_ms: int) -> None:
        """Lets requests in flight be answered for at most `grace_ms`, then closes all connections."""
        self.stop_accepting()
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in list(self._open):
            connection.drain()
        tasks = list(self._open.values())
        if tasks:
            late = asyncio.Event()
            timer = self._clock.call_later(grace_ms, late.set)
            everyone = asyncio.ensure_future(asyncio.wait(tasks))
            too_late = asyncio.ensure_future(late.wait())
            await asyncio.wait((everyone, too_late), return_when=asyncio.FIRST_COMPLETED)
            timer.cancel()
            too_late.cancel()
            everyone.cancel()
        for connection, task in list(self._open.items()):
            connection.close()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def abort(self) -> None:
        """Closes the listeners, resets every connection and cancels requests in flight."""
        self.stop_accepting()
        for connection, task in list(self._open.items()):
            connection.abort()
            task.cancel()

    def _accept(self, listener: socket.socket, name: str) -> None:
        for _ in range(ACCEPTS_A_TURN):
            if len(self._open) + len(self._refused) >= self._limits.connections:
                self._pause()
                return
            wait_ms = self._ms_until_accept(name)
            if wait_ms:
                self._pause_listener(listener, name, wait_ms)
                return
            try:
                check_free_descriptors(listener.fileno())
                sock, address = listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as fault:
                self._log_accept_failure(name, fault)
                self._pause()
                return
            peer = Peer(host=address[0], port=address[1], listener=name)
            refusal_delay_ms = self._rates.refusal_delay_ms(peer.host)
            if refusal_delay_ms:
                self._refuse(sock, peer, refusal_delay_ms)
                continue
            self.add_connection(sock, peer)
            too_fast_ms = self._rates.listener_pause_ms(name)
            if too_fast_ms:
                self._too_fast_until_ms[name] = self._clock.monotonic_ms() + too_fast_ms
            pause_ms = self._rates.server_pause_ms()
            if pause_ms:
                self._pause_for_rate(pause_ms)
                return

    def _log_accept_failure(self, name: str, fault: OSError) -> None:
        left_out = self._lines.try_to_log(name)
        if left_out is not None:
            advice = "raise the limit of open files or lower max.connections"
            log.error("cannot accept on %s%s: %s; %s", name, repetition_text(left_out), fault, advice)

    def _refuse(self, sock: socket.socket, peer: Peer, refusal_delay_ms: int) -> None:
        """Closes the connection after a delay: without one, the client would reconnect immediately."""
        log.debug("refusing %s in %d ms: connections from there come faster than their quota", peer, refusal_delay_ms)
        self._refused.add(sock)
        self._clock.call_later(refusal_delay_ms, lambda: self._close_refused_socket(sock))

    def _close_refused_socket(self, sock: socket.socket) -> None:
        self._refused.discard(sock)
        sock.close()
        self._resume()

    def add_connection(self, sock: socket.socket, peer: Peer) -> None:
        """Serves an accepted connection, or closes it if its address has too many."""
        allowed = self._limits.most_connections_of(peer.host)
        if self._per_host[peer.host] >= allowed:
            left_out = self._lines.try_to_log(peer.host)
            if left_out is not None:
                told = "refusing %s%s: it has %d connections, max.connections.per.ip is %d"
                log.warning(told, peer, repetition_text(left_out), allowed, allowed)
            sock.close()
            return
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if self._limits.send_buffer_bytes > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._limits.send_buffer_bytes)
        loop = asyncio.get_running_loop()
        connection, answerer = self._connect(sock, peer)
        self._per_host[peer.host] += 1
        self._per_listener[peer.listener] += 1
        self._open[connection] = loop.create_task(self._serve(connection, answerer))
        self._strangers.add(connection)
        self._close_surplus_strangers()

    def _close_surplus_strangers(self) -> None:
        """Closes connections without a request yet, or in their login, if there are too many."""
        for closed in self._strangers.remove_surplus(self._limits.silent):
            left_out = self._lines.try_to_log(SILENT_SETTING)
            if left_out is not None:
                log.warning(
                    "closing %s%s: %d connections have sent no request yet or are in their login; of the address "
                    "that has most, the ones idle longest are closed first; see %s",
                    *(closed.peer, repetition_text(left_out), self._limits.silent, SILENT_SETTING),
                )
            closed.close()

    async def _serve(self, connection: Connection, answerer: Answerer) -> None:
        host = connection.peer.host
        try:
            self._on_closed(await connection.serve(answerer))
        finally:
            connection.close()
            connection.peer.on_leave = None  # breaks the cycle between the peer and its answerer
            del self._open[connection]
            self._strangers.discard(connection)
            self._per_listener[connection.peer.listener] -= 1
            self._resume_listener(connection.peer.listener)
            self._per_host[host] -= 1
            if not self._per_host[host]:
                del self._per_host[host]
            self._resume()

    def _schedule_sweep(self) -> None:
        if self._limits.idle_ms < 0:
            return  # connections may be idle for ever, as in Kafka
        interval_ms = min(MOST_IDLE_CHECKS_MS, max(1, self._limits.idle_ms // 4))
        self._sweep = self._clock.sweep_later(interval_ms, self._close_idle)

    def _close_idle(self) -> None:
        oldest_ms = self._clock.monotonic_ms() - self._limits.idle_ms
        for connection in list(self._open):
            connection.note_progress()
            if connection.last_active_ms < oldest_ms and not connection.has_unanswered_request:
                connection.close()
        self._schedule_sweep()
