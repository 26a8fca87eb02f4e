"""The load side: a process of its own that sends prepared bytes and counts what comes back.

It must not be the bottleneck, so it parses nothing but each response's size (and the error code of a Produce
response), receives into one buffer that it keeps, and tells the CPU it used. Every lane is one connection. A lane sends
its requests in turn, `in_flight` of them ahead of the answers; a lane with a `stall` stops reading for a while inside
its first answer, as a client does that is busy or gone.

The parent sends a `LoadPlan` down a pipe, hears "ready" once the connections stand, says "go" when it has read the
server's CPU clock, and gets a `LoadResult`.
"""

import multiprocessing
import select
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from multiprocessing.connection import Connection as Pipe
from struct import Struct
from time import perf_counter, process_time

from .connection import host_and_port
from .failures import BenchFailed

BUFFER_BYTES = 256 * 1024
CONNECT_TIMEOUT_S = 60.0
SILENCE_S = 120.0
"""How long a load waits for the next byte before it gives up."""
_SIZE = Struct(">i")
_ERROR = Struct(">h")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """After `after_bytes` of its first answer a reader takes nothing for `seconds`."""

    after_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One connection. `error_at`: where an answer's error code stands, counted from its size field; None: unread.

    `pace_s`: the least time between two requests, so that a lane asks as often of a slow server as of a fast one.
    """

    requests: tuple[bytes, ...]
    in_flight: int = 1
    error_at: int | None = None
    stall: Stall | None = None
    pace_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """Ends after `seconds`, or after `responses` of each lane; what is in flight then is waited for and counted."""

    address: str
    lanes: tuple[Lane, ...]
    seconds: float | None = None
    responses: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """What came back. `seconds` end with the last byte, `latencies_s` go from sending to the answer's end."""

    responses: int
    received_bytes: int
    sent_bytes: int
    errors: int
    seconds: float
    cpu_seconds: float
    latencies_s: list[float] = field(repr=False)
    failure: str = ""

    def latency_ms(self, quantile: float) -> float:
        """The latency that `quantile` of the requests stayed within."""
        if not self.latencies_s:
            return 0.0
        ordered = sorted(self.latencies_s)
        return 1000 * ordered[min(len(ordered) - 1, int(quantile * len(ordered)))]


class LoadProcess:
    """A child process that runs plans, one at a time; also a context manager."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> "LoadProcess":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run(self, plan: LoadPlan) -> LoadResult:
        self.prepare(plan)
        self.go()
        return self.result()

    def prepare(self, plan: LoadPlan) -> None:
        """Returns when the connections stand. Raises: BenchFailed."""
        self._send(plan)
        answer = self._receive()
        if answer != "ready":
            raise BenchFailed(str(answer))

    def go(self) -> None:
        self._send("go")

    def result(self) -> LoadResult:
        """What came back, when it has. Raises: BenchFailed when the server hung up or fell silent."""
        result = self._receive()
        assert isinstance(result, LoadResult)
        if result.failure:
            raise BenchFailed(result.failure)
        return result

    def close(self) -> None:
        self._pipe.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _send(self, message: object) -> None:
        try:
            self._pipe.send(message)
        except OSError as fault:
            raise BenchFailed(f"the load process has ended: {fault}") from fault

    def _receive(self) -> object:
        try:
            return self._pipe.recv()
        except (EOFError, OSError) as fault:
            raise BenchFailed("the load process has ended") from fault


def _serve(pipe: Pipe) -> None:
    """The child: plan, ready, go, result, until the parent closes the pipe."""
    while True:
        try:
            plan = pipe.recv()
        except EOFError:
            return
        try:
            runner = _Runner(plan)
        except OSError as fault:
            pipe.send(f"cannot connect to {plan.address}: {fault}")
            continue
        pipe.send("ready")
        pipe.recv()
        pipe.send(runner.run())


class _Runner:
    """One plan's connections and counts, in one thread around epoll."""

    def __init__(self, plan: LoadPlan) -> None:
        self.plan = plan
        self.buffer = bytearray(BUFFER_BYTES)
        self.view = memoryview(self.buffer)
        self.poll = select.epoll()
        self.lanes = {lane.fd: lane for lane in (_Connection(self, each) for each in plan.lanes)}
        self.timers: dict[int, tuple[float, Callable[[], None]]] = {}
        self.end = 0.0

    def run(self) -> LoadResult:
        cpu, began = process_time(), perf_counter()
        self.end = began + (self.plan.seconds if self.plan.seconds is not None else float("inf"))
        failure = ""
        try:
            for lane in self.lanes.values():
                lane.begin()
            self._loop()
        except (OSError, BenchFailed) as fault:
            failure = str(fault)
        lanes = self.lanes.values()
        seconds = max((lane.last for lane in lanes), default=began) - began
        for lane in lanes:
            lane.sock.close()
        self.poll.close()
        return LoadResult(
            responses=sum(len(lane.latencies) for lane in lanes),
            received_bytes=sum(lane.received for lane in lanes),
            sent_bytes=sum(lane.sent for lane in lanes),
            errors=sum(lane.errors for lane in lanes),
            seconds=max(seconds, 1e-9),
            cpu_seconds=process_time() - cpu,
            latencies_s=[seconds for lane in lanes for seconds in lane.latencies],
            failure=failure,
        )

    def _loop(self) -> None:
        while self.timers or any(lane.waiting for lane in self.lanes.values()):
            wait_s = SILENCE_S
            if self.timers:
                wait_s = max(0.0, min(at for at, _ in self.timers.values()) - perf_counter())
            events = self.poll.poll(wait_s)
            if not events and not self.timers:
                raise BenchFailed(f"nothing came from {self.plan.address} for {SILENCE_S} s")
            for fd, _ in events:
                self.lanes[fd].readable()
            if self.timers:
                self._wake()

    def _wake(self) -> None:
        now = perf_counter()
        for fd in [fd for fd, (at, _) in self.timers.items() if at <= now]:
            self.timers.pop(fd)[1]()


class _Connection:
    """A lane at work. `waiting` holds the sending time of each request that is not answered, oldest first."""

    def __init__(self, runner: _Runner, lane: Lane) -> None:
        self.runner = runner
        self.lane = lane
        self.sock = _connect(runner.plan.address)
        self.fd = self.sock.fileno()
        self.waiting: list[float] = []
        self.latencies: list[float] = []
        self.received = self.sent = self.errors = 0
        self.last = 0.0
        self._begun = 0
        self._sent_at = 0.0
        self._requests = cycle(lane.requests)
        self._left = 0
        self._carry = b""
        self._stall = lane.stall
        runner.poll.register(self.fd, select.EPOLLIN)

    def begin(self) -> None:
        self._send(self.lane.in_flight)

    def readable(self) -> None:
        """Takes what is there, notes the answers that end in it, sends as many requests."""
        held, view = len(self._carry), self.runner.view
        if held:
            view[:held] = self._carry
        room = len(view) if self._stall is None else min(len(view), held + self._stall.after_bytes)
        received = self.sock.recv_into(view[held:room])
        if not received:
            raise BenchFailed(f"{self.runner.plan.address} hung up on a reader")
        self.received += received
        done = self._take(held + received)
        if self._stall is not None and self.received >= self._stall.after_bytes:
            self._pause(self._stall.seconds)
            self._stall = None
        if done:
            self._answered(done)

    def _take(self, end: int) -> int:
        """How many answers end in the first `end` bytes of the buffer; what is left of a head is carried over."""
        buffer, error_at = self.runner.buffer, self.lane.error_at
        at = done = 0
        while True:
            if self._left:
                taken = min(self._left, end - at)
                self._left -= taken
                at += taken
                if self._left:
                    break
                done += 1
            if end - at < (_SIZE.size if error_at is None else error_at + _ERROR.size):
                break
            if error_at is not None and _ERROR.unpack_from(buffer, at + error_at)[0]:
                self.errors += 1
            self._left = _SIZE.unpack_from(buffer, at)[0] + _SIZE.size
        self._carry = bytes(buffer[at:end])
        return done

    def _answered(self, count: int) -> None:
        self.last = now = perf_counter()
        for began in self.waiting[:count]:
            self.latencies.append(now - began)
        del self.waiting[:count]
        if now >= self.runner.end:
            return
        due = self._sent_at + self.lane.pace_s
        if due > now:
            self.runner.timers[self.fd] = due, partial(self._send, count)
        else:
            self._send(count)

    def _pause(self, seconds: float) -> None:
        """Takes nothing for a while."""
        poll, fd = self.runner.poll, self.fd
        poll.unregister(fd)
        self.runner.timers[fd] = perf_counter() + seconds, partial(poll.register, fd, select.EPOLLIN)

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


def _connect(address: str) -> socket.socket:
    sock = socket.create_connection(host_and_port(address), CONNECT_TIMEOUT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.settimeout(None)
    return sock


def latencies_of(results: Sequence[LoadResult]) -> list[float]:
    """All latencies of loads that ran side by side."""
    return [seconds for result in results for seconds in result.latencies_s]
