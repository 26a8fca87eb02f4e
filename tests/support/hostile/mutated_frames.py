"""Mutated requests of all APIs and versions, thrown at a broker: `python -m support.hostile.mutated_frames COUNT SEED`.

Run in tests/, by `make mutated-frames` against compiled modules with AddressSanitizer. A pool of requests that a broker
may accept, made from their declarations, is damaged again and again; connections pipeline eight frames each and read
what comes. Says how many frames went out, how many the broker has looked at (one that cannot be read closes its
connection, and what is behind it goes with it), the longest that a small request on another connection took, and how
the broker grew after the first tenth. Ends with an error when the broker has, or a trace is in its log.
"""

import asyncio
import json
import resource
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families
from stepdown.bench.load.admin_connection import frame_of
from stepdown.broker.handlers import SERVED
from stepdown.protocol.api import API
from stepdown.protocol.frame import encode_request
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from support.broker import Stepdown
from support.mutations import damaged_batch

from .generated import by_chance, damaged

PER_VERSION = 12
PIPELINED = 8
CONNECTIONS = 40
ANSWER_S = 0.5
STEPS = 50
DAMAGED_SHARE = 0.2
SETTINGS = {
    "num.partitions": "1",
    "log.segment.bytes": "1048576",
    "log.retention.bytes": "4194304",
    "log.retention.check.interval.ms": "5000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1",
    "group.coordinator.rebalance.protocols": "classic,consumer",
}


@dataclass(slots=True, kw_only=True)
class Found:
    """What a run has seen."""

    frames: int = 0
    looked_at: int = 0
    longest_ms: float = 0.0
    over_150_ms: int = 0
    baseline_bytes: int = 0
    growth_bytes: int = 0


def pool(random: Random) -> list[bytes]:
    """Valid frames of every API and version that is served."""
    frames = []
    for key, served in SERVED.items():
        spec = API[key]
        for version in range(served.first, served.last + 1):
            for _ in range(PER_VERSION):
                request = by_chance(random, spec.request, version, lambda: damaged_batch(random))
                with suppress(ValueError):
                    pieces = encode_request(spec, version, 1, "mutated", request)
                    frames.append(b"".join(bytes(piece) for piece in pieces))  # type: ignore[arg-type]
    return frames


async def throw(address: str, frames: list[bytes]) -> None:
    """Sends the frames down one connection and reads until the broker closes it, or says nothing for a while."""
    host, port = address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    with suppress(ConnectionError, TimeoutError):
        writer.write(b"".join(frames))
        writer.write_eof()
        while True:
            async with asyncio.timeout(ANSWER_S):
                if not await reader.read(1 << 16):
                    break
    writer.close()


def looked_at(server: Stepdown) -> int:
    """Requests that were answered, and those that closed their connection."""
    with urlopen(f"http://{server.http}/metrics", timeout=30) as page:
        families = text_string_to_metric_families(page.read().decode())
    samples = [sample for family in families for sample in family.samples]
    answered = sum(each.value for each in samples if each.name == "stepdown_requests_total")
    refused = (each for each in samples if each.name == "stepdown_connections_closed_total")
    return round(answered + sum(each.value for each in refused if each.labels["reason"] == "fault"))


def mutated(random: Random, frames: list[bytes]) -> bytes:
    """One of the pool, damaged or not: what its fields say is a mutation, too."""
    frame = random.choice(frames)
    return damaged(random, frame) if random.random() < DAMAGED_SHARE else frame


async def thrower(server: Stepdown, frames: list[bytes], random: Random, count: int, found: Found) -> None:
    for _ in range(count // PIPELINED):
        await throw(server.address, [mutated(random, frames) for _ in range(PIPELINED)])
        found.frames += PIPELINED


async def probe(server: Stepdown, found: Found) -> None:
    """A small request every 20 ms; what this process itself was late is no fault of the broker's."""
    host, port = server.address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    request = frame_of(ApiVersionsRequest(), 0)
    loop = asyncio.get_running_loop()
    while True:
        began = loop.time()
        writer.write(request)
        size = int.from_bytes(await reader.readexactly(4), "big")
        await reader.readexactly(size)
        took_ms = (loop.time() - began) * 1000
        found.longest_ms = max(found.longest_ms, took_ms)
        found.over_150_ms += took_ms > 150
        await asyncio.sleep(0.02)


async def run(server: Stepdown, count: int, seed: int) -> Found:
    """Throws so many frames, and looks now and then. Raises AssertionError when the broker fails."""
    random, found = Random(seed), Found()
    watching = asyncio.create_task(probe(server, found))
    for step in range(STEPS):
        frames = pool(random)
        throwers = (thrower(server, frames, random, count // STEPS // CONNECTIONS, found) for _ in range(CONNECTIONS))
        await asyncio.gather(*throwers)
        assert not server.has_ended, server.log[-5000:]
        assert not watching.done(), watching.exception()
        log = server.log
        at = log.find("Traceback")
        assert at < 0, log[max(0, at - 1000) : at + 4000]
        if step == STEPS // 10:
            found.baseline_bytes = server.usage.rss_bytes()
        found.looked_at = await asyncio.to_thread(looked_at, server)
        print(found, flush=True)
    found.growth_bytes = server.usage.rss_bytes() - found.baseline_bytes
    watching.cancel()
    return found


def main(count: int, seed: int, properties: Mapping[str, str] = SETTINGS) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        server = Stepdown(Path(folder), properties=properties)
        server.start()
        try:
            server.create_topic("t")
            found = asyncio.run(run(server, count, seed))
        finally:
            server.kill()
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
