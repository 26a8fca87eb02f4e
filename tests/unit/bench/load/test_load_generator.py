"""The load: what it sends ahead, and how it counts what comes back in pieces."""

import socket
import threading
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from struct import pack

import pytest
from stepdown.bench.load.load_generator import serve
from stepdown.bench.load.load_plan import Asking, ConnectionRequests, LoadPlan, Stall
from stepdown.bench.load.result import LoadResult
from support.deadline import DEADLINE_S

REQUEST = pack(">i4s", 4, b"ping")
ASKING = Asking(kind="fetch", client="fetch-v2", partitions=1)
Serving = Callable[[socket.socket], None]


def answer(body: bytes) -> bytes:
    return pack(">i", len(body)) + body


def take(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (part := sock.recv(size - len(data))):
        data += part
    return data


@pytest.fixture
def listening() -> Iterator[Callable[[Serving], str]]:
    """Starts a server of one connection in a thread, and gives its address."""
    threads, listener = [], socket.create_server(("127.0.0.1", 0))

    def begin(serving: Serving) -> str:
        def run() -> None:
            sock, _ = listener.accept()
            with sock:
                serving(sock)

        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield begin
    listener.close()
    for thread in threads:
        thread.join(DEADLINE_S)


def play(plan: LoadPlan) -> object:
    """What a load answers to a plan; a text instead of "ready" is given back."""
    ours, theirs = Pipe()
    thread = threading.Thread(target=serve, args=(theirs,), daemon=True)
    thread.start()
    ours.send(plan)
    told = ours.recv()
    if told == "ready":
        ours.send("go")
        told = ours.recv()
    ours.close()
    thread.join(DEADLINE_S)
    return told


def played(plan: LoadPlan) -> LoadResult:
    result = play(plan)
    assert isinstance(result, LoadResult)
    return result


def plan_of(address: str, responses: int, *, in_flight: int = 1, error_at: int | None = None) -> LoadPlan:
    connection = ConnectionRequests(requests=(REQUEST,), in_flight=in_flight, error_at=error_at)
    return LoadPlan(address=address, connections=(connection,), asking=ASKING, responses=responses)


def test_answers_in_single_bytes_are_put_together(listening: Callable[[Serving], str]) -> None:
    def serving(sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for body in (b"", b"abc"):
            take(sock, len(REQUEST))
            for byte in answer(body):
                sock.send(bytes((byte,)))

    result = played(plan_of(listening(serving), 2))
    assert (result.responses, result.received_bytes, result.sent_bytes) == (2, 11, 2 * len(REQUEST))
    assert sorted(result.answer_bytes) == [4, 7]
    assert result.failure == ""


def test_answers_in_one_piece_are_told_apart(listening: Callable[[Serving], str]) -> None:
    def serving(sock: socket.socket) -> None:
        take(sock, 3 * len(REQUEST))
        sock.sendall(answer(b"a") + answer(b"bc") + answer(b""))

    result = played(plan_of(listening(serving), 3, in_flight=3))
    assert result.answer_bytes == [5, 6, 4]
    assert len(result.latencies_s) == len(result.ended_s) == 3


def test_a_large_answer_goes_through_the_kept_buffer(listening: Callable[[Serving], str]) -> None:
    size = 1_000_000

    def serving(sock: socket.socket) -> None:
        take(sock, len(REQUEST))
        sock.sendall(answer(bytes(size)))

    assert played(plan_of(listening(serving), 1)).answer_bytes == [size + 4]


def test_error_codes_are_counted(listening: Callable[[Serving], str]) -> None:
    def serving(sock: socket.socket) -> None:
        take(sock, 3 * len(REQUEST))
        sock.sendall(b"".join(answer(pack(">ihi", 1, code, 0)) for code in (0, 6, 0)))

    result = played(plan_of(listening(serving), 3, in_flight=3, error_at=8))
    assert (result.responses, result.errors) == (3, 1)


def test_no_more_is_in_flight_than_was_asked(listening: Callable[[Serving], str]) -> None:
    seen: list[int] = []

    def serving(sock: socket.socket) -> None:
        for _ in range(3):
            seen.append(len(take(sock, 2 * len(REQUEST))))
            sock.sendall(answer(b"") * 2)

    assert played(plan_of(listening(serving), 6, in_flight=2)).responses == 6
    assert seen == [2 * len(REQUEST)] * 3


def test_a_stalled_reader_takes_the_rest_later(listening: Callable[[Serving], str]) -> None:
    def serving(sock: socket.socket) -> None:
        take(sock, len(REQUEST))
        sock.sendall(answer(bytes(50_000)))

    connection = ConnectionRequests(requests=(REQUEST,), stall=Stall(after_bytes=1000, seconds=0.05))
    result = played(LoadPlan(address=listening(serving), connections=(connection,), asking=ASKING, responses=1))
    assert (result.responses, result.received_bytes) == (1, 50_004)
    assert result.seconds >= 0.05


def test_a_server_that_hangs_up_is_a_failure(listening: Callable[[Serving], str]) -> None:
    result = played(plan_of(listening(lambda sock: None), 1))
    assert result.failure != ""


def test_nobody_there_is_told() -> None:
    assert str(play(plan_of("127.0.0.1:1", 1))).startswith("cannot connect to 127.0.0.1:1")


def test_a_broker_that_dies_is_named_in_the_systems_words(listening: Callable[[Serving], str]) -> None:
    """`[Errno 104] Connection reset by peer` was all that was said."""

    def serving(sock: socket.socket) -> None:
        take(sock, len(REQUEST))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))  # its close is a reset

    address = listening(serving)
    assert played(plan_of(address, 1)).failure == f"the connection to {address} broke: Connection reset by peer"
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        there = f"127.0.0.1:{nobody.getsockname()[1]}"
        assert play(plan_of(there, 1)) == f"cannot connect to {there}: Connection refused"
