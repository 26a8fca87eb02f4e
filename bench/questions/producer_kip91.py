"""Is each record reported within `delivery.timeout.ms`, whatever the broker does? (KIP-91)

    python bench/questions/producer_kip91.py 127.0.0.1:9092 --timeout 3000 --request-timeout 1000

Records are sent at a steady pace through a forwarder, which after half of them stalls (takes bytes, passes none on) or
is gone (hangs up, and refuses connections). For each record: when its future ended, after `send`.
The proposal's bound is `delivery.timeout.ms` from the batch's creation, so from `send` it is at most that, and the
loop's own delay more. Printed: the least and the most that a failed record waited, and how many were late.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from stepdown.bench.load.filled_topics import create_topic
from stepdown.config import HostPort
from stepdown.producer import Producer, ProducerError, RecordMetadata, Timeout
from stepdown.producer.clock import Clock
from stepdown.producer.injected_dependencies import Dependencies
from stepdown.producer.network.connections import Connections
from stepdown.producer.settings import ProducerSettings

PARTITIONS = 4
GRACE_MS = 250
"""How late a report may be for the loop's sake, on a busy machine."""


class Forwarder:
    """Passes bytes on to the broker, until it stalls or is gone."""

    def __init__(self, address: str) -> None:
        self._host, port = address.rsplit(":", 1)
        self._port = int(port)
        self._open = asyncio.Event()
        self._open.set()
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.address = HostPort("", 0)

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        self.address = HostPort(host, port)

    def stall(self) -> None:
        self._open.clear()

    def hang_up(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def close(self) -> None:
        self.hang_up()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        self._writers += [writer, far_writer]
        for source, target in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.get_running_loop().create_task(self._pass_on(source, target))
            self._tasks.add(task)

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                await self._open.wait()
                target.write(data)
        except ConnectionError:
            pass
        target.close()


def through(forwarder: Forwarder) -> Callable[[ProducerSettings, Clock, Callable[[], None]], Connections]:
    class Forwarded(Connections):
        """All brokers are behind the forwarder."""

        def ready(self, node_id: int, address: HostPort, now_ms: int) -> bool:
            return super().ready(node_id, forwarder.address, now_ms)

    return Forwarded


@dataclass(slots=True, kw_only=True)
class Ends:
    """Ages in ms at which records ended."""

    written: list[float] = field(default_factory=list)
    expired: list[float] = field(default_factory=list)
    other: list[ProducerError] = field(default_factory=list)

    def taker(self) -> Callable[[RecordMetadata, ProducerError | None], None]:
        sent = time.monotonic()

        def take(metadata: RecordMetadata, error: ProducerError | None) -> None:
            age_ms = (time.monotonic() - sent) * 1000
            if error is None:
                self.written.append(age_ms)
            elif isinstance(error, Timeout):
                self.expired.append(age_ms)
            else:
                self.other.append(error)

        return take


async def run(address: str, fault: str, asked: argparse.Namespace, settings: dict[str, Any]) -> Ends:
    topic, ends, forwarder = f"kip91-{uuid4().hex[:8]}", Ends(), Forwarder(address)
    await asyncio.to_thread(create_topic, address, topic, PARTITIONS)
    await forwarder.start()
    times = {
        "delivery_timeout_ms": asked.timeout,
        "request_timeout_ms": asked.request_timeout,
        "retry_backoff_ms": 50,
        "linger_ms": 5,
    }

    class ThroughForwarder(Producer):
        def _make_dependencies(self) -> Dependencies:
            return Dependencies(link=through(forwarder))

    producer = ThroughForwarder(address, **times, **settings)
    await producer.start()
    deliveries = []
    for number in range(asked.records):
        if number == asked.records // 2:
            await producer.flush()
            forwarder.stall() if fault == "stall" else forwarder.hang_up()
        deliveries.append(producer.send(topic, b"%d" % number, callback=ends.taker()))
        await asyncio.sleep(asked.pause / 1000)
    await asyncio.gather(*map(wait_until_ended, deliveries))
    await producer.close(0)
    await forwarder.close()
    return ends


async def wait_until_ended(delivery: Any) -> None:
    try:
        await delivery
    except ProducerError:
        return


async def compare(address: str, asked: argparse.Namespace) -> dict[tuple[str, str], Ends]:
    found = {}
    print(
        f"delivery.timeout.ms {asked.timeout}, request.timeout.ms {asked.request_timeout}; "
        f"load average {os.getloadavg()[0]:.1f}"
    )
    print("broker  idempotent  written  expired at ms (least, most)  proposal   late  otherwise")
    for fault in ("stall", "gone"):
        for idempotent in (False, True):
            ends = await run(address, fault, asked, {"enable_idempotence": idempotent})
            found[fault, f"idempotent: {idempotent}"] = ends
            print(_line(fault, idempotent, ends, asked.timeout), flush=True)
    return found


def _line(fault: str, idempotent: bool, ends: Ends, timeout_ms: int) -> str:
    late = sum(age > timeout_ms + GRACE_MS for age in ends.expired)
    span = f"{min(ends.expired):.0f}, {max(ends.expired):.0f}" if ends.expired else "none"
    return (
        f"{fault:7} {'yes' if idempotent else 'no':10} {len(ends.written):8}  {len(ends.expired):6}: "
        f"{span:20} {'<= ' + str(timeout_ms):>8} {late:6} {len(ends.other):10}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--timeout", type=int, default=3000)
    parser.add_argument("--request-timeout", type=int, default=1000)
    parser.add_argument("--records", type=int, default=400)
    parser.add_argument("--pause", type=float, default=5.0, help="ms between records")
    asked = parser.parse_args(arguments)
    asyncio.run(compare(asked.address, asked))


if __name__ == "__main__":
    main()
