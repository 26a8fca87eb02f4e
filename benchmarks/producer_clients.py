"""What does a record cost each producer? Ours, aiokafka and confluent-kafka write 1 kB records to one broker in turn.

    python benchmarks/producer_clients.py 127.0.0.1:9092 --records 100000

The broker may be stepdown or Apache Kafka, in a process of its own. CPU seconds are this process's. The topic is made
by asking for it unless it is there. `--latency` sends one record at a time at linger 0 instead.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiokafka
import confluent_kafka
from stepdown.producer import Producer

VALUE = bytes(range(256)) * 4
VALUE_BYTES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one producer took."""

    name: str
    records: int
    seconds: float
    cpu_seconds: float
    latencies_ms: list[float]

    def __str__(self) -> str:
        text = f"{self.name:10} {self.records / self.seconds:10,.0f} records/s"
        text += f" {self.records / self.cpu_seconds:10,.0f} records per CPU second"
        if self.latencies_ms:
            ordered = sorted(self.latencies_ms)
            text += f"  p50 {ordered[len(ordered) // 2]:.2f} ms  p99 {ordered[int(len(ordered) * 0.99)]:.2f} ms"
        return text


async def ours(address: str, topic: str, count: int, latency: bool) -> list[float]:
    async with Producer(address, linger_ms=0 if latency else 5, enable_idempotence=False) as producer:
        return await _drive(lambda: producer.send(topic, VALUE[:VALUE_BYTES]), producer.flush, count, latency)


async def _drive(
    send: Callable[[], Awaitable[object]], flush: Callable[[], Awaitable[None]], count: int, latency: bool
) -> list[float]:
    latencies = []
    for index in range(count):
        started = time.perf_counter()
        delivery = send()
        if latency:
            await delivery
            latencies.append((time.perf_counter() - started) * 1000)
        elif index % 64 == 0:
            await delivery.accepted()  # type: ignore[attr-defined]  # a Delivery
            await asyncio.sleep(0)
    await flush()
    return latencies


async def theirs(address: str, topic: str, count: int, latency: bool) -> list[float]:
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=address, linger_ms=0 if latency else 5, acks="all")
    await producer.start()
    latencies = []
    try:
        for _ in range(count):
            started = time.perf_counter()
            future = await producer.send(topic, VALUE[:VALUE_BYTES])
            if latency:
                await future
                latencies.append((time.perf_counter() - started) * 1000)
        await producer.flush()
    finally:
        await producer.stop()
    return latencies


async def librdkafka(address: str, topic: str, count: int, latency: bool) -> list[float]:
    settings = {"bootstrap.servers": address, "linger.ms": 0 if latency else 5, "batch.size": 16384, "acks": "all"}
    producer = confluent_kafka.Producer(settings)
    latencies = []
    for _ in range(count):
        started = time.perf_counter()
        while True:
            try:
                producer.produce(topic, VALUE[:VALUE_BYTES])
                break
            except BufferError:
                producer.poll(0.01)
        if latency:
            producer.flush()
            latencies.append((time.perf_counter() - started) * 1000)
        producer.poll(0)
    producer.flush()
    return latencies


PRODUCERS = {"stepdown": ours, "aiokafka": theirs, "confluent": librdkafka}


async def measure(name: str, address: str, topic: str, count: int, latency: bool) -> Measured:
    await PRODUCERS[name](address, topic, min(count, 500), latency)
    started, cpu = time.perf_counter(), time.process_time()
    latencies = await PRODUCERS[name](address, topic, count, latency)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return Measured(name=name, records=count, seconds=seconds, cpu_seconds=cpu, latencies_ms=latencies)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--topic", default="producer-clients")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--latency", action="store_true")
    asked = parser.parse_args()
    measured = [
        asyncio.run(measure(name, asked.address, asked.topic, asked.records, asked.latency)) for name in PRODUCERS
    ]
    for one in measured:
        print(one)
    by_name = {one.name: one.records / one.cpu_seconds for one in measured}
    for peer in ("aiokafka", "confluent"):
        print(f"per CPU second: {by_name['stepdown'] / by_name[peer]:.2f} times {peer}")


if __name__ == "__main__":
    main()
