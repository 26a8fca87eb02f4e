"""The load generator: sends pre-encoded requests over many connections and counts responses, in one thread with epoll.

It must not be the bottleneck, so it parses nothing but each response's size (and the error code of a Produce
response), receives into one buffer that it keeps, and tells the CPU it used. Every load has one connection. It sends
its requests in turn, `in_flight` of them ahead of the answers; one with a `stall` stops reading for a while inside
its first answer, as a client does that is busy or gone.
"""

import select
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import cycle
from multiprocessing.connection import Connection as Pipe
from struct import Struct
from time import perf_counter, process_time, time

from ...client.connection import parse_address
from ...client.errors import describe_connect_fault
from ...protocol.messages.api_versions import ApiVersionsRequest
from ..failures import BenchFailure
from ..servers.admin_connection import frame_of
from .load_plan import ConnectionRequests, LoadPlan
from .result import LoadResult

BUFFER_BYTES = 256 * 1024
CONNECT_TIMEOUT_S = 60.0
SILENCE_S = 120.0
"""How long a load waits for the next byte before it gives up."""
_SIZE = Struct(">i")
_ERROR = Struct(">h")


def serve(pipe: Pipe) -> None:
    """The child: plan, ready, go, result, until the parent closes the pipe."""
    with suppress(EOFError, ConnectionError):  # of the pipe; those of the load are in its result
        while True:
            _run_plan(pipe)


def _run_plan(pipe: Pipe) -> None:
    plan = pipe.recv()
    try:
        runner = _LoadRunner(plan)
    except OSError as fault:
        pipe.send(f"cannot connect to {plan.address}: {describe_connect_fault(fault)}")
        return
    pipe.send("ready")
    pipe.recv()
    pipe.send(runner.run())


class _LoadRunner:
    """One plan's connections and counts, in one thread around epoll."""

    def __init__(self, plan: LoadPlan) -> None:
        self.plan = plan
        self.buffer = bytearray(BUFFER_BYTES)
        self.view = memoryview(self.buffer)
        self.poll = select.epoll()
        self.tls = ssl.create_default_context(cafile=plan.authority) if plan.authority else None
        if self.tls is not None:
            self.tls.check_hostname = False  # a namespace has an address of its own
        connections = [_LoadConnection(self, load) for load in plan.connections]
        self.connections = {each.fd: each for each in connections}
        self.timers: dict[int, tuple[float, Callable[[], None]]] = {}
        self.end = 0.0

    def run(self) -> LoadResult:
        cpu, began_at, began = process_time(), time(), perf_counter()
        self.end = began + (self.plan.seconds if self.plan.seconds is not None else float("inf"))
        failure = ""
        try:
            for connection in self.connections.values():
                connection.begin()
            self._poll_until_done()
        except BenchFailure as fault:
            failure = str(fault)
        except OSError as fault:
            failure = f"the connection to {self.plan.address} broke: {describe_connect_fault(fault)}"
        connections = self.connections.values()
        seconds = max((connection.last for connection in connections), default=began) - began
        for connection in connections:
            connection.sock.close()
        self.poll.close()
        return LoadResult(
            responses=sum(len(connection.latencies) for connection in connections),
            received_bytes=sum(connection.received for connection in connections),
            sent_bytes=sum(connection.sent for connection in connections),
            errors=sum(connection.errors for connection in connections),
            seconds=max(seconds, 1e-9),
            cpu_seconds=process_time() - cpu,
            latencies_s=[seconds for connection in connections for seconds in connection.latencies],
            ended_s=[at - began for connection in connections for at in connection.ended],
            answer_bytes=[size for connection in connections for size in connection.sizes],
            began_at=began_at,
            failure=failure,
        )

    def _poll_until_done(self) -> None:
        while self.timers or any(connection.waiting for connection in self.connections.values()):
            wait_s = SILENCE_S
            if self.timers:
                wait_s = max(0.0, min(at for at, _ in self.timers.values()) - perf_counter())
            events = self.poll.poll(wait_s)
            if not events and not self.timers:
                raise BenchFailure(f"nothing came from {self.plan.address} for {SILENCE_S} s")
            for fd, _ in events:
                self.connections[fd].readable()
            if self.timers:
                self._call_due_timers()

    def _call_due_timers(self) -> None:
        now = perf_counter()
        for fd in [fd for fd, (at, _) in self.timers.items() if at <= now]:
            self.timers.pop(fd)[1]()


class _LoadConnection:
    """`waiting` holds the sending time of each request that is not answered, oldest first."""

    def __init__(self, runner: _LoadRunner, load: ConnectionRequests) -> None:
        self.runner = runner
        self.load = load
        self.sock = _connect(runner.plan.address, runner.tls)
        self.fd = self.sock.fileno()
        self.waiting: list[float] = []
        self.latencies: list[float] = []
        self.ended: list[float] = []
        self.sizes: list[int] = []
        self.received = self.sent = self.errors = 0
        self.last = 0.0
        self._begun = 0
        self._sent_at = 0.0
        self._requests = cycle(load.requests)
        self._left = self._size = 0
        self._carry = b""
        self._stall = load.stall
        runner.poll.register(self.fd, select.EPOLLIN)

    def begin(self) -> None:
        self._send(self.load.in_flight)

    def readable(self) -> None:
        """Takes what is there, and what TLS has opened already, which the kernel does not know."""
        self._read()
        if isinstance(self.sock, ssl.SSLSocket):
            while self.sock.pending() and self.fd not in self.runner.timers:
                self._read()

    def _read(self) -> None:
        """Notes the answers that end in what is there, sends as many requests."""
        held, view = len(self._carry), self.runner.view
        if held:
            view[:held] = self._carry
        room = len(view) if self._stall is None else min(len(view), held + self._stall.after_bytes)
        received = self.sock.recv_into(view[held:room])
        if not received:
            raise BenchFailure(f"{self.runner.plan.address} hung up on a reader")
        self.received += received
        done = self._count_answers(held + received)
        if self._stall is not None and self.received >= self._stall.after_bytes:
            self._pause(self._stall.seconds)
            self._stall = None
        if done:
            self._take_answers(done)

    def _count_answers(self, end: int) -> int:
        """How many answers end in the first `end` bytes of the buffer; an incomplete head at the end is kept."""
        buffer, error_at = self.runner.buffer, self.load.error_at
        at = done = 0
        while True:
            if self._left:
                taken = min(self._left, end - at)
                self._left -= taken
                at += taken
                if self._left:
                    break
                done += 1
                self.sizes.append(self._size)
            if end - at < (_SIZE.size if error_at is None else error_at + _ERROR.size):
                break
            if error_at is not None and _ERROR.unpack_from(buffer, at + error_at)[0]:
                self.errors += 1
            self._left = self._size = _SIZE.unpack_from(buffer, at)[0] + _SIZE.size
        self._carry = bytes(buffer[at:end])
        return done

    def _take_answers(self, count: int) -> None:
        self.last = now = perf_counter()
        for began in self.waiting[:count]:
            self.latencies.append(now - began)
            self.ended.append(now)
        del self.waiting[:count]
        if now >= self.runner.end:
            return
        due = self._sent_at + self.load.pace_s
        if due > now:
            self.runner.timers[self.fd] = due, partial(self._send, count)
        else:
            self._send(count)

    def _pause(self, seconds: float) -> None:
        """Takes nothing for a while."""
        self.runner.poll.unregister(self.fd)
        self.runner.timers[self.fd] = perf_counter() + seconds, self._resume

    def _resume(self) -> None:
        self.runner.poll.register(self.fd, select.EPOLLIN)
        if isinstance(self.sock, ssl.SSLSocket) and self.sock.pending():
            self.readable()

    def _send(self, count: int) -> None:
        most = self.runner.plan.responses
        if most is not None:
            count = min(count, most - self._begun)
        if count <= 0:
            return
        self._begun += count
        data = b"".join(next(self._requests) for _ in range(count)) if count > 1 else next(self._requests)
        self._sent_at = perf_counter()
        self.waiting += [self._sent_at] * count
        self.sent += len(data)
        self.sock.sendall(data)


def _connect(address: str, tls: ssl.SSLContext | None) -> socket.socket:
    sock = socket.create_connection(parse_address(address), CONNECT_TIMEOUT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if tls is not None:
        sock = tls.wrap_socket(sock)
        _receive_session_tickets(sock)
    sock.settimeout(None)
    return sock


def _receive_session_tickets(sock: socket.socket) -> None:
    """Asks for ApiVersions so that TLS 1.3 tickets arrive now; later they would wake the connection for nothing."""
    sock.sendall(frame_of(ApiVersionsRequest(), 0))
    left = _SIZE.unpack(_receive(sock, _SIZE.size))[0]
    _receive(sock, left)


def _receive(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise ConnectionResetError("the server hung up before the load began")
        data += part
    return data
