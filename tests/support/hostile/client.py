"""Clients as processes of their own: `python -m support.hostile.client KIND ADDRESS [ARGUMENT]`, run in tests/.

An attack says "begun" once its bytes are on their way, and goes on until it is killed; a connection that is closed is
opened again. `probe` sends small requests on a connection of its own, and now and then on a new one, for as many
seconds as it is told. `members` are 10 groups of one, which say at the end of their input what their heartbeats were
answered.
"""

import json
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from itertools import count, repeat

from stepdown.bench.servers.admin_connection import Connection, frame_of
from stepdown.client.connection import parse_address
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.heartbeat import HeartbeatRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

from ..deadline import DEADLINE_S
from . import attacks

SESSION_MS = 6_000
GROUPS = 10
HELD_CONNECTIONS = 40
SLOW_CONNECTIONS = 500
UNREAD_CONNECTIONS = 300
PAUSE_S = 0.002
NEW_CONNECTION_EVERY = 50


def begun() -> None:
    print("begun", flush=True)


def connected(address: str) -> socket.socket:
    sock = socket.create_connection(parse_address(address), DEADLINE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def drain(sock: socket.socket) -> None:
    with suppress(OSError):
        while sock.recv(1 << 20):
            pass


def pipeline(address: str, data: bytes) -> None:
    """Sends it again and again, reading the answers."""
    pipeline_quietly(address, data, begun)


def pipeline_quietly(address: str, data: bytes, ready: Callable[[], None]) -> None:
    """As `pipeline`; `ready` is called before."""
    ready()
    while True:
        with connected(address) as sock:
            reader = threading.Thread(target=drain, args=(sock,), daemon=True)
            reader.start()
            with suppress(OSError):
                while reader.is_alive():
                    sock.sendall(data)


def one_by_one(address: str, requests: Iterable[bytes]) -> None:
    """Sends a request, reads its answer, and then the next."""
    waiting = iter(requests)
    sock = connected(address)
    begun()
    for data in waiting:
        try:
            sock.sendall(data)
            skip_answer(sock)
        except OSError:
            sock.close()
            sock = connected(address)


def skip_answer(sock: socket.socket) -> None:
    """Raises OSError when the broker hangs up instead."""
    left = struct.unpack(">i", received(sock, 4))[0]
    while left:
        got = len(sock.recv(min(left, 1 << 20)))
        if not got:
            raise ConnectionResetError
        left -= got


def received(sock: socket.socket, size: int) -> bytes:
    data = sock.recv(size, socket.MSG_WAITALL)
    if len(data) < size:
        raise ConnectionResetError
    return data


def half_frames(address: str, connections: int, announced: int, sent: int) -> None:
    """Each of the connections sends a part of a frame and no more, but a byte now and then."""
    on_each(connections, half_frame, address, half_frame_of(announced, sent))


def on_each(connections: int, work: Callable[..., None], *args: object) -> None:
    """Does the work on so many connections at once, each in a thread, for ever."""
    threads = [threading.Thread(target=work, args=args, daemon=True) for _ in range(connections)]
    for thread in threads:
        thread.start()
    begun()
    for thread in threads:
        thread.join()


def half_frame_of(announced: int, sent: int) -> bytes:
    """The beginning of a Produce that never comes whole."""
    return struct.pack(">i", announced) + bytes(sent)


def half_frame(address: str, part: bytes, ready: Callable[[], None] = lambda: None) -> None:
    """Calls `ready` each time that the part is sent."""
    while True:
        with suppress(OSError), connected(address) as sock:
            sock.sendall(part)
            ready()
            while not select.select([sock], [], [], 1)[0]:
                sock.sendall(b"\0")


def not_read(address: str, request: bytes, connections: int) -> None:
    """Each of the connections asks and reads nothing; again when it is closed."""
    on_each(connections, unread, address, request)


def unread(address: str, request: bytes) -> None:
    while True:
        with suppress(OSError), socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.connect(parse_address(address))
            sock.sendall(request)
            closed = select.poll()
            closed.register(sock, select.POLLHUP | select.POLLERR)
            closed.poll()


def joining(address: str) -> None:
    """Ever new members of one group."""
    request = attacks.join_with_protocols()
    begun()
    with ExitStack() as opened:
        while True:
            with suppress(OSError):
                opened.enter_context(connected(address)).sendall(request)
            time.sleep(0.02)


def parked(address: str) -> None:
    """Ten fetches wait; then records come, to one partition after the other."""
    for _ in range(10):
        threading.Thread(target=one_by_one_quietly, args=(address, repeat(attacks.parked_fetch())), daemon=True).start()
    time.sleep(3)
    one_by_one(address, (attacks.produce_to(number % attacks.WIDE_PARTITIONS) for number in count()))


def one_by_one_quietly(address: str, requests: Iterable[bytes]) -> None:
    with connected(address) as sock:
        for data in requests:
            sock.sendall(data)
            skip_answer(sock)


def scrapes(address: str, *, reading: bool) -> None:
    """60 at once ask for /metrics, again and again, or once and do not read."""
    asked = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    begun()
    while True:
        socks = [connected(address) for _ in range(60)]
        for sock in socks:
            with suppress(OSError):
                sock.sendall(asked)
        if not reading:
            time.sleep(3600)
        for sock in socks:
            drain(sock)
            sock.close()


ATTACKS: dict[str, Callable[[str], None]] = {
    "pipelined_api_versions": lambda at: pipeline(at, attacks.pipelined_api_versions()),
    "pipelined_metadata": lambda at: pipeline(at, attacks.pipelined_metadata()),
    "pipelined_produce": lambda at: pipeline(at, attacks.pipelined_produce()),
    "the_broker_1000_times": lambda at: one_by_one(at, repeat(attacks.the_broker_named_again(1_000))),
    "the_broker_20000_times": lambda at: one_by_one(at, repeat(attacks.the_broker_named_again(20_000))),
    "tagged_fields_in_the_header": lambda at: one_by_one(at, repeat(attacks.tagged_fields_in_the_header())),
    "tagged_fields_in_the_body": lambda at: one_by_one(at, repeat(attacks.tagged_fields_in_the_body())),
    "many_names": lambda at: one_by_one(at, repeat(attacks.many_names())),
    "names_within_the_limit": lambda at: one_by_one(at, repeat(attacks.many_names(90_000))),
    "many_coordinators": lambda at: one_by_one(at, repeat(attacks.many_coordinators())),
    "many_offsets_fetched": lambda at: one_by_one(at, repeat(attacks.many_offsets_fetched())),
    "many_offsets_listed": lambda at: one_by_one(at, repeat(attacks.many_offsets_listed())),
    "coordinators_within_the_limit": lambda at: one_by_one(at, repeat(attacks.many_coordinators(90_000))),
    "offsets_fetched_within_the_limit": lambda at: one_by_one(at, repeat(attacks.many_offsets_fetched(90_000))),
    "offsets_listed_within_the_limit": lambda at: one_by_one(at, repeat(attacks.many_offsets_listed(90_000))),
    "one_offset_fetched_again": lambda at: one_by_one(at, repeat(attacks.one_offset_fetched_again())),
    "fetch_sessions": lambda at: one_by_one(at, repeat(attacks.fetch_with_a_session())),
    "joins_with_protocols": joining,
    "metadata_not_read": lambda at: not_read(at, attacks.all_topics(), UNREAD_CONNECTIONS),
    "expressions": lambda at: one_by_one(at, attacks.expressions()),
    "parked_fetches": parked,
    "half_frames": lambda at: half_frames(at, HELD_CONNECTIONS, 100_000_000, 50_000_000),
    "small_half_frames": lambda at: half_frames(at, SLOW_CONNECTIONS, 31_000, 30_000),
    "slow_frames": lambda at: half_frames(at, SLOW_CONNECTIONS, 1_000_000, 300_000),
    "scrapes": lambda at: scrapes(at, reading=True),
    "scrapes_not_read": lambda at: scrapes(at, reading=False),
    "old_messages_of_the_wrong_kind": lambda at: one_by_one(at, repeat(attacks.old_messages_of_the_wrong_kind())),
    "old_fetches_of_small_batches": lambda at: one_by_one(at, repeat(attacks.old_fetch_of_small_batches())),
    "batches_that_open_wide": lambda at: one_by_one(at, repeat(attacks.batches_that_open_wide())),
}


def probe(address: str, seconds: float) -> list[float]:
    """The milliseconds that each small request took, of one at least: to connect may take longer than all the time that
    there is, as the kernel repeats what a full queue has dropped after one and three seconds.
    """
    request, waits = frame_of(ApiVersionsRequest(), 0), []
    end = time.monotonic() + seconds
    with connected(address) as sock:
        while not waits or time.monotonic() < end:
            began = time.monotonic()
            if len(waits) % NEW_CONNECTION_EVERY:
                asked(sock, request)
            else:
                with connected(address) as fresh:
                    asked(fresh, request)
            waits.append((time.monotonic() - began) * 1000)
            time.sleep(PAUSE_S)
    return waits


def asked(sock: socket.socket, request: bytes) -> None:
    sock.sendall(request)
    skip_answer(sock)


def members(address: str) -> set[int]:
    """The error codes of all heartbeats until standard input ends."""
    codes: set[int] = set()
    with Connection(address) as connection:
        beats = [joined(connection, f"members-{number}") for number in range(GROUPS)]
        begun()
        while not select.select([sys.stdin], [], [], 1)[0]:
            codes |= {connection.call(beat, 0).error_code for beat in beats}
    return codes


def joined(connection: Connection, group: str) -> HeartbeatRequest:
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
    join = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=SESSION_MS,
        member_id="",
        protocol_type="consumer",
        protocols=(protocol,),
    )
    while (answer := connection.call(join, 2)).error_code:
        connection.call(FindCoordinatorRequest(key=group), 0)  # Kafka makes the topic of coordinators for who asks
        time.sleep(0.2)
    member = {"group_id": group, "generation_id": answer.generation_id, "member_id": answer.member_id}
    mine = SyncGroupRequestAssignment(member_id=answer.member_id, assignment=b"all")
    connection.call(SyncGroupRequest(**member, assignments=(mine,)), 0)
    return HeartbeatRequest(**member)


if __name__ == "__main__":
    kind, where = sys.argv[1:3]
    if kind == "probe":
        print(json.dumps(probe(where, float(sys.argv[3]))))
    elif kind == "members":
        print(json.dumps(sorted(members(where))))
    else:
        ATTACKS[kind](where)
