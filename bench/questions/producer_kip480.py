"""Measures the sticky partitioner against round robin at a steady record rate (KIP-480).

    python bench/questions/producer_kip480.py 127.0.0.1:9092 --partitions 1 2 4 8 16 32 64 --linger 0 1000 --seconds 5

For each count of partitions and each linger, without and with keys: p50 and p99 of the time from `send` to the
acknowledgement, batches a record, how full batches are, and the producer's CPU time a record. All partitioners run in
one process, one after the other. The broker may be stepdown or Apache Kafka; topics are made, one for each count.

KIP-480 measured with 16 partitions and linger 1000 ms: p99 204 ms sticking, 1017 ms before.
"""

import argparse
import asyncio
import os
import time
from dataclasses import dataclass
from statistics import quantiles
from typing import Any
from uuid import uuid4

from stepdown.bench.load.filled_topics import create_topic
from stepdown.producer import Producer, ProducerError, RecordMetadata

PROPOSAL = {("sticky", 16, 1000): 204.0, ("round-robin", 16, 1000): 1017.0}
"""(partitioner, partitions, linger) to the proposal's p99 in ms, where it says one."""

PARTITIONERS = ("sticky", "round-robin", "built-in")
TICK_S = 0.01
BATCH_BYTES = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    partitioner: str
    partitions: int
    linger_ms: int
    keyed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Latencies in ms, batches for each record, bytes of a batch in hundredths of `batch.size`, CPU in µs a record."""

    p50_ms: float
    p99_ms: float
    batches_a_record: float
    fill_percent: float
    cpu_us: float


def topic_of(run: str, partitions: int) -> str:
    return f"kip480-{run}-{partitions}"


async def measure(address: str, run: str, case: Case, asked: argparse.Namespace) -> Found:
    latencies: list[float] = []
    failures: list[ProducerError] = []
    settings: dict[str, Any] = {} if case.partitioner == "built-in" else {"partitioner": case.partitioner}
    topic, value = topic_of(run, case.partitions), bytes(asked.record_bytes)
    async with Producer(address, linger_ms=case.linger_ms, batch_size=BATCH_BYTES, **settings) as producer:
        for partition in range(case.partitions):
            await producer.send(topic, b"", partition=partition)
        sent_before = producer.meters.series["batch_bytes"].total_count
        bytes_before = producer.meters.series["batch_bytes"].total
        started, cpu = time.perf_counter(), time.process_time()
        number = 0
        while (now := time.perf_counter()) - started < asked.seconds:
            for _ in range(int((now - started) * asked.rate) - number):
                key = b"key-%d" % (number % asked.keys) if case.keyed else None
                producer.send(topic, value, key=key, callback=_timer(now, latencies, failures))
                number += 1
            await asyncio.sleep(TICK_S)
        await producer.flush()
        cpu = time.process_time() - cpu
        batches = producer.meters.series["batch_bytes"].total_count - sent_before
        size = producer.meters.series["batch_bytes"].total - bytes_before
    if failures:
        raise failures[0]
    cuts = quantiles(latencies, n=100)
    return Found(
        p50_ms=cuts[49],
        p99_ms=cuts[98],
        batches_a_record=batches / number,
        fill_percent=100 * size / batches / BATCH_BYTES,
        cpu_us=cpu / number * 1e6,
    )


def _timer(sent: float, latencies: list[float], failures: list[ProducerError]):  # type: ignore[no-untyped-def]
    def ended(metadata: RecordMetadata, error: ProducerError | None) -> None:
        latencies.append((time.perf_counter() - sent) * 1000)
        if error is not None:
            failures.append(error)

    return ended


async def compare(address: str, asked: argparse.Namespace) -> dict[Case, Found]:
    """Prints a line for each case as it ends."""
    run, found = uuid4().hex[:8], {}
    for count in asked.partitions:
        await asyncio.to_thread(create_topic, address, topic_of(run, count), count)
    print(f"{asked.rate} records/s of {asked.record_bytes} bytes; load average {os.getloadavg()[0]:.1f}")
    print("keys linger parts partitioner      p50 ms    p99 ms  proposal  batches/record   fill  CPU µs/record")
    for keyed in (False, True):
        for linger_ms in asked.linger:
            for partitions in asked.partitions:
                for name in PARTITIONERS:
                    case = Case(partitioner=name, partitions=partitions, linger_ms=linger_ms, keyed=keyed)
                    found[case] = await measure(address, run, case, asked)
                    print(_line(case, found[case]), flush=True)
    return found


def _line(case: Case, found: Found) -> str:
    told = None if case.keyed else PROPOSAL.get((case.partitioner, case.partitions, case.linger_ms))
    return (
        f"{'yes' if case.keyed else 'no':4} {case.linger_ms:6} {case.partitions:5} {case.partitioner:12} "
        f"{found.p50_ms:10.1f} {found.p99_ms:9.1f} {told or '':>9} {found.batches_a_record:15.3f} "
        f"{found.fill_percent:5.0f}% {found.cpu_us:14.0f}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--partitions", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--linger", type=int, nargs="+", default=[0, 1000])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rate", type=int, default=400)
    parser.add_argument("--record-bytes", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=1000)
    asked = parser.parse_args(arguments)
    asyncio.run(compare(asked.address, asked))


if __name__ == "__main__":
    main()
