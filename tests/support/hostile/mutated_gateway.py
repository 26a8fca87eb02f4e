"""Mutated requests of clients, and mutated answers of the cluster, on the two sides of a gateway:

    python -m support.hostile.mutated_gateway FRAMES SEED    # in tests/, by `make mutated-gateway`

Each client pipelines a few requests of any API and version, and sends a damaged one when those are answered; the
cluster damages one answer in four, or cuts it and falls silent. Clients that wait for what was cut are counted, and
hang up when no other is left: nobody waits for a deadline. Ends with an error when there is a trace in the log, when a
request is neither answered nor its connection closed, when something is held that no client holds, when a sound request
is not answered at the end, or when the process grew after the first tenth.
"""

import asyncio
import logging
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from socket import create_connection
from typing import Any

from stepdown.gateway.gateway import Gateway
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import encode_request
from stepdown.protocol.messages.metadata import MetadataRequest

from ..client import RawClient
from ..deadline import DEADLINE_S
from ..gateway import gateway_to
from ..mutations import damaged_batch
from ..running import until
from .generated import by_chance, damaged
from .mutating_cluster import TAKEN, MutatingCluster

SCHEMES = ("ports", "single")
PIPELINED = 4
AT_ONCE = 20
POOL_FRAMES = 40 * AT_ONCE * PIPELINED
"""For so many one pool is enough."""
SAMPLED = 60
"""Of the versions that Kafka 4.4 takes, in a pool; of those that it has no more, all."""
DAMAGE = 0.25
MOST_GROWTH_BYTES = 64 << 20


class Traces(logging.Handler):
    """Keeps what is logged with a trace."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or "Traceback" in record.getMessage():
            self.found.append(logging.Formatter().format(record))


@contextmanager
def no_traces() -> Iterator[None]:
    """Raises: AssertionError for a trace in the log."""
    traces = Traces()
    logging.getLogger().addHandler(traces)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(traces)
    assert not traces.found, traces.found[0]


@contextmanager
def only_to(port: int) -> Iterator[None]:
    """Damaged answers name brokers anywhere, some of which would keep a connection waiting for seconds: all but this
    port refuse."""
    loop = asyncio.get_running_loop()
    connect = loop.create_connection

    async def refuse_others(protocol: Any, host: Any = None, at: Any = None, **more: Any) -> Any:
        if host is not None and (host, at) != ("127.0.0.1", port):
            raise ConnectionRefusedError(f"{host}:{at} is not asked for")
        return await connect(protocol, host, at, **more)

    loop.create_connection = refuse_others  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        del loop.create_connection


def make_pool(random: Random) -> list[bytes]:
    """Sound requests of the versions that are translated, and of some others."""
    old = [(key, version) for key, taken in TAKEN.items() for version in range(taken.start)]
    others = [(key, version) for key, taken in TAKEN.items() for version in taken]
    frames = []
    for key, version in old + random.sample(others, SAMPLED):
        with suppress(ValueError, KeyError):
            frames.append(make_frame(random, key, version))
    return frames


def make_frame(random: Random, key: int, version: int) -> bytes:
    """Raises: ValueError, KeyError for what cannot be encoded."""
    spec = API[ApiKey(key)]
    request = by_chance(random, spec.request, version, lambda: damaged_batch(random))
    if getattr(request, "acks", 1) == 0:
        request = replace(request, acks=1)  # which has an answer
    return b"".join(map(bytes, encode_request(spec, version, random.randrange(1000), "mutated", request)))  # type: ignore[arg-type]


async def exchange(port: int, sound: Sequence[bytes], last: bytes, changed: asyncio.Event) -> None:
    """Sends sound requests, each of which is answered or closes the connection, and then one that is not."""
    reader, writer = await asyncio.open_connection(sock=create_connection(("127.0.0.1", port)))
    try:
        with suppress(OSError, asyncio.IncompleteReadError):
            writer.write(b"".join(sound))
            for _ in sound:
                await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            writer.write(last)
            writer.write_eof()
            while await reader.read(1 << 16):
                pass
    finally:
        writer.transport.abort()
        changed.set()


async def throw(port: int, batch: Sequence[Sequence[bytes]], random: Random, cluster: MutatingCluster) -> None:
    """Returns when each exchange has ended, those by themselves that wait for nothing that was cut."""
    exchanges = {
        asyncio.create_task(exchange(port, sound, damaged(random, last), cluster.changed)) for *sound, last in batch
    }
    try:
        async with asyncio.timeout(DEADLINE_S):
            while sum(not each.done() for each in exchanges) > cluster.stalled:
                cluster.changed.clear()
                await cluster.changed.wait()
    finally:
        for each in exchanges:
            each.cancel()
        ended = await asyncio.gather(*exchanges, return_exceptions=True)
    assert all(fault is None or isinstance(fault, asyncio.CancelledError) for fault in ended), ended
    await until(lambda: not cluster.stalled)


async def run(frames: int, seed: int, addresses: str) -> MutatingCluster:
    """Throws so many frames at a gateway with that scheme. Raises: AssertionError, TimeoutError when it fails."""
    random = Random(seed)
    cluster = MutatingCluster(random, damage=0.0)
    with no_traces():
        async with cluster.serve():
            gateway = gateway_to(f"127.0.0.1:{cluster.port}", addresses=addresses)
            assert not await gateway.start()
            try:
                await throw_all(gateway, cluster, frames, random)
                await check_at_rest(gateway, cluster)
            finally:
                await gateway.stop(drain_ms=0)
    return cluster


async def throw_all(gateway: Gateway, cluster: MutatingCluster, frames: int, random: Random) -> None:
    sent = baseline = 0
    pool: list[bytes] = []
    cluster.damage = DAMAGE
    with only_to(cluster.port):
        while sent < frames:
            if sent % POOL_FRAMES == 0:
                pool = make_pool(random)
                cluster.forget()
            batch = [random.choices(pool, k=PIPELINED) for _ in range(AT_ONCE)]
            await throw(gateway.address.port, batch, random, cluster)
            sent += AT_ONCE * PIPELINED
            if not baseline and sent >= frames // 10:
                baseline = resident_bytes()
    assert resident_bytes() - baseline < MOST_GROWTH_BYTES


async def check_at_rest(gateway: Gateway, cluster: MutatingCluster) -> None:
    """Nothing is held when all have gone, and others are served."""
    cluster.damage = 0.0
    await until(lambda: not gateway._answer_memory.in_use_bytes and not gateway._request_memory.in_use_bytes)
    await until(lambda: not sum(gateway._connections.values()))
    gateway.upstream.forget_all_versions()  # as at intervals: damaged answers may have named wrong ones
    assert not await gateway.cluster_watch.refresh_brokers()
    async with await RawClient.connect("127.0.0.1", gateway.address.port) as client:
        assert (await client.send(MetadataRequest(topics=()), 1)).brokers


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    logging.basicConfig(handlers=[logging.NullHandler()])
    for scheme in SCHEMES:
        done = asyncio.run(run(int(sys.argv[1]), int(sys.argv[2]), scheme))
        print(f"{scheme}: {sys.argv[1]} frames of clients, {done.answers} answers, {done.cut} of them cut", flush=True)
