"""Mutated requests of all APIs and versions, thrown at a broker:

    python -m support.hostile.mutated_frames COUNT SEED [NAME=VALUE…]

Run in tests/, by `make mutated-frames`, whose NAME=VALUE have the broker use compiled modules with AddressSanitizer. A
pool of requests that a broker may accept is made from their declarations, again and again; each connection pipelines a
few of them, of which the last is damaged: what lies behind a frame that cannot be read is not looked at. One pool goes
out undamaged before anything is measured, since the first use of a version makes its codec: some milliseconds each, and
three hundred connections in line would wait for all of them at once. Says how many frames went out, how many the broker
has looked at, of how many APIs and versions, the longest that a small request on another connection took, how long the
loop was held at most, and how the broker grew after the first tenth. Ends with an error when the broker has, or a trace
is in its log, which is kept then.
"""

import json
import os
import re
import resource
import select
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from time import monotonic, sleep
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families
from stepdown.bench.servers.admin_connection import frame_of
from stepdown.broker.handlers import SERVED
from stepdown.client.connection import parse_address
from stepdown.protocol.api import API
from stepdown.protocol.frame import encode_request
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from support.broker import Stepdown
from support.mutations import damaged_batch

from ..deadline import DEADLINE_S
from .client import asked, connected
from .generated import by_chance, damaged

PER_VERSION = 12
PIPELINED = 6
CONNECTIONS = 300
ANSWER_S = 1.0
FRAMES_A_STEP = 40_000
READ_BYTES = 1 << 16
SETTINGS = {
    "num.partitions": "1",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "log.segment.bytes": "1048576",
    "log.retention.bytes": "4194304",
    "log.retention.check.interval.ms": "5000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1",
    "group.coordinator.rebalance.protocols": "classic,consumer",
}
HELD = re.compile(r"the event loop was held for (\d+) ms")


@dataclass(slots=True, kw_only=True)
class Found:
    """What a run has seen."""

    frames: int = 0
    looked_at: int = 0
    probed: int = 0
    apis_and_versions: int = 0
    longest_ms: float = 0.0
    over_150_ms: int = 0
    loop_held_ms: int = 0
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


def pipelined(random: Random, frames: list[bytes]) -> bytes:
    """What one connection sends."""
    *whole, last = random.choices(frames, k=PIPELINED)
    return b"".join((*whole, damaged(random, last)))


def throw(address: str, sent: Iterator[bytes]) -> None:
    """Sends each down a connection of its own, many at a time; reads until the broker hangs up or is silent."""
    at, polled = parse_address(address), select.epoll()
    open_since: dict[int, tuple[socket.socket, float]] = {}
    buffer = bytearray(READ_BYTES)
    while True:
        while len(open_since) < CONNECTIONS and (data := next(sent, None)) is not None:
            sock = socket.create_connection(at)
            open_since[sock.fileno()] = sock, monotonic()
            polled.register(sock, select.EPOLLIN)
            with suppress(OSError):  # it may have hung up already
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
        if not open_since:
            return
        ended = [number for number, _ in polled.poll(0.1) if at_end(open_since[number][0], buffer)]
        silent_since = monotonic() - ANSWER_S
        ended += [number for number, (_, since) in open_since.items() if since < silent_since]
        for number in dict.fromkeys(ended):
            open_since.pop(number)[0].close()


def at_end(sock: socket.socket, buffer: bytearray) -> bool:
    """Reads what is there."""
    try:
        return not sock.recv_into(buffer)
    except OSError:
        return True


def look(server: Stepdown, found: Found) -> None:
    """Requests that were answered, and those that closed their connection."""
    with urlopen(f"http://{server.http}/metrics", timeout=DEADLINE_S) as page:
        families = text_string_to_metric_families(page.read().decode())
    samples = [sample for family in families for sample in family.samples]
    answered = [each for each in samples if each.name == "stepdown_requests_total" and each.value]
    refused = (each for each in samples if each.name == "stepdown_connections_closed_total")
    found.apis_and_versions = len({(each.labels["request"], each.labels["version"]) for each in answered})
    found.looked_at = round(
        sum(each.value for each in answered)
        + sum(each.value for each in refused if each.labels["reason"] == "fault")
        - found.probed
    )


def probe(address: str, found: Found) -> None:
    """A small request every 20 ms until the broker ends; what this process itself was late counts as well."""
    request = frame_of(ApiVersionsRequest(), 0)
    with suppress(OSError), connected(address) as sock:
        while True:
            began = monotonic()
            asked(sock, request)
            found.probed += 1
            took_ms = (monotonic() - began) * 1000
            found.longest_ms = max(found.longest_ms, took_ms)
            found.over_150_ms += took_ms > 150
            sleep(0.02)


class Log:
    """What the broker writes, read as it comes."""

    def __init__(self, server: Stepdown) -> None:
        self._server = server
        self._read_bytes = 0

    def check(self, found: Found) -> None:
        """Raises AssertionError when the broker fails."""
        with self._server.output.open("rb") as file:
            file.seek(self._read_bytes)
            new = file.read()
        self._read_bytes += len(new)
        text = new.decode(errors="replace")
        assert not self._server.has_ended, text[-5000:]
        at = text.find("Traceback")
        assert at < 0, text[max(0, at - 1000) : at + 4000]
        found.loop_held_ms = max(found.loop_held_ms, *map(int, HELD.findall(text)), 0)


def run(server: Stepdown, count: int, seed: int) -> Found:
    """Throws so many frames, and looks now and then. Raises AssertionError when the broker fails."""
    random, found, log = Random(seed), Found(), Log(server)
    warm = pool(random)
    throw(server.address, (b"".join(warm[at : at + PIPELINED]) for at in range(0, len(warm), PIPELINED)))
    log.check(Found())
    found.frames += len(warm)
    threading.Thread(target=probe, args=(server.address, found), daemon=True).start()
    while found.frames < count:
        frames = pool(random)
        connections = min(FRAMES_A_STEP, count - found.frames) // PIPELINED + 1
        throw(server.address, (pipelined(random, frames) for _ in range(connections)))
        found.frames += connections * PIPELINED
        log.check(found)
        look(server, found)
        if not found.baseline_bytes and found.frames >= count // 10:
            found.baseline_bytes = server.usage.rss_bytes()
        found.growth_bytes = server.usage.rss_bytes() - (found.baseline_bytes or server.usage.rss_bytes())
        print(json.dumps(asdict(found)), flush=True)
    return found


def main(count: int, seed: int, environment: Mapping[str, str], properties: Mapping[str, str] = SETTINGS) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        server = Stepdown(Path(folder), properties=properties)
        os.environ.update(environment)
        server.start()
        try:
            server.create_topic("t")
            run(server, count, seed)
        except BaseException:
            kept = Path(tempfile.gettempdir()) / f"mutated-frames-{seed}.log"
            shutil.copy(server.output, kept)
            print(f"the broker's log is kept: {kept}", file=sys.stderr)
            raise
        finally:
            server.kill()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), dict(each.split("=", 1) for each in sys.argv[3:]))
