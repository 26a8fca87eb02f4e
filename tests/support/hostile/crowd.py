"""A thousand connections of all kinds at once: `python -m support.hostile.crowd KIND ADDRESS SEED`, run in tests/.

| connections | what they do |
|---|---|
| idle | have asked one thing and ask nothing more |
| slow senders | a part of a large request, and a byte a second; again when they are closed |
| stalled readers | ask for a megabyte in the newest version, or in one that has to be converted, and read nothing |
| pipelining | send small requests as fast as they are answered; in a crowd of `equals`, honest producers instead |
| malformed | a damaged request a second, each on a new connection |

Says "begun" when all are there, and goes on until it is killed.
"""

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from math import inf
from random import Random
from time import sleep

from stepdown.bench.servers.admin_connection import frame_of
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic

from . import attacks
from .client import asked, begun, connected, drain, half_frame, half_frame_of, pipeline_quietly
from .generated import damaged
from .honest import produce
from .mutated_frames import pool

IDLE = 600
SLOW = 150
STALLED_OLD = STALLED_NEW = 100
MALFORMED = 44
PIPELINING: tuple[Callable[[], bytes], ...] = (
    attacks.pipelined_api_versions,
    attacks.pipelined_api_versions,
    attacks.pipelined_api_versions,
    attacks.pipelined_metadata,
    attacks.pipelined_metadata,
    attacks.pipelined_produce,
)
"""Those that always have a request waiting; the others want next to nothing of the broker's time."""

CONNECTIONS = IDLE + SLOW + STALLED_OLD + STALLED_NEW + MALFORMED + len(PIPELINING)
OLD_VERSION, NEW_VERSION = 2, 11
SLOW_FRAME_BYTES, SLOW_SENT_BYTES = 1_000_000, 50_000
STACK_BYTES = 128 * 1024


def idle(address: str, ready: Callable[[], None]) -> None:
    sock = connected(address)
    asked(sock, frame_of(ApiVersionsRequest(), 0))
    ready()
    drain(sock)


def stalled(address: str, version: int, ready: Callable[[], None]) -> None:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topic = FetchTopic(topic=attacks.TOPIC, partitions=(partition,))
    request = frame_of(FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=1, topics=(topic,)), version)
    while True:
        with suppress(OSError), connected(address) as sock:
            sock.sendall(request * 4)
            ready()
            while True:
                sleep(60)
                sock.sendall(request)


def malformed(address: str, random: Random, frames: list[bytes], ready: Callable[[], None]) -> None:
    ready()
    while True:
        with suppress(OSError), connected(address) as sock:
            sock.sendall(damaged(random, random.choice(frames)))
            sock.settimeout(1)
            drain(sock)
        sleep(1)


def main(kind: str, address: str, seed: int) -> None:
    random = Random(seed)
    frames = pool(random)
    here = threading.Semaphore(0)
    part = half_frame_of(SLOW_FRAME_BYTES, SLOW_SENT_BYTES)
    threading.stack_size(STACK_BYTES)

    def several(count: int, target: Callable[..., None], *arguments: object) -> None:
        for _ in range(count):
            threading.Thread(target=target, args=(address, *arguments, here.release), daemon=True).start()

    several(IDLE, idle)
    several(STALLED_OLD, stalled, OLD_VERSION)
    several(STALLED_NEW, stalled, NEW_VERSION)
    several(SLOW, half_frame, part)
    for _ in range(MALFORMED):
        several(1, malformed, Random(random.random()), frames)
    for make in PIPELINING:
        if kind == "equals":
            several(1, produce, inf, attacks.TOPIC)
        else:
            several(1, pipeline_quietly, make())
    for _ in range(CONNECTIONS):
        here.acquire()
    begun()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
