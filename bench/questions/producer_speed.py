"""What does a record cost each producer? Ours, aiokafka, confluent-kafka and Java write 1 kB records to one broker.

    python bench/questions/producer_speed.py 127.0.0.1:9092 --records 100000 --rounds 5 [--java] [--latency]
    python bench/questions/producer_speed.py 127.0.0.1:9092 --size 100 --shape key-header     or bare, callback

The broker may be stepdown or Apache Kafka, in a process of its own. Each producer runs in a process of its own, one
after the other, in as many rounds as asked; medians count. CPU seconds are the producer's whole process, all threads,
without its start; Java's are its whole run less those of a run of one record. All have acks=all, no idempotence,
batch.size 16384 and linger 5 ms. `--latency` sends one record at a time at linger 0 instead, and compares p99; with
`--rate 500` a second, each measured from when it was due. The topic has to be there, and nobody else writes to
it: after each run its offsets tell whether all arrived.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Any

from stepdown.bench.servers.kafka import java
from stepdown.bench.servers.maven import user_store

SHAPE: dict[str, Any] = {
    "value": (bytes(range(256)) * 4)[:1000],
    "key": None,
    "headers": [],
    "callback": None,
    "rate": 0,
}
"""What is sent; `main` changes it by the arguments."""
BATCH_BYTES, LINGER_MS = 16384, 5
RECORDS_PER_TURN = 64
WARM_UP_RECORDS = 2000
JAVA_TOOLS = "org.apache.kafka:kafka-tools:3.9.1"
JAVA_MAIN = "org.apache.kafka.tools.ProducerPerformance"

# As the others do unless told otherwise.
SETTINGS: dict[str, Any] = {"enable.idempotence": False}

Write = Callable[[str, str, int, bool], Awaitable[list[float]]]


def due_times(count: int) -> Iterator[float]:
    """When each record is to be sent; 0: at once."""
    began, rate = time.perf_counter(), SHAPE["rate"]
    return (began + at / rate if rate else 0.0 for at in range(count))


async def stepdown(address: str, topic: str, count: int, latency: bool) -> list[float]:
    from stepdown.producer import Producer

    latencies = []
    async with Producer(address, linger_ms=0 if latency else LINGER_MS, batch_size=BATCH_BYTES, **SETTINGS) as producer:
        send = producer.send
        value, key, headers, callback = SHAPE["value"], SHAPE["key"], SHAPE["headers"], SHAPE["callback"]
        if latency:
            for due in due_times(count):
                if due:
                    await asyncio.sleep(due - time.perf_counter())
                started = due or time.perf_counter()
                await send(topic, value, key=key, headers=headers)
                latencies.append((time.perf_counter() - started) * 1000)
        else:
            for at in range(0, count, RECORDS_PER_TURN):
                for _ in range(min(RECORDS_PER_TURN, count - at)):
                    delivery = send(topic, value, key=key, headers=headers, callback=callback)
                await delivery.accepted()
                await asyncio.sleep(0)
            await producer.flush()
    return latencies


async def aiokafka(address: str, topic: str, count: int, latency: bool) -> list[float]:
    from aiokafka import AIOKafkaProducer

    linger_ms = 0 if latency else LINGER_MS
    producer = AIOKafkaProducer(bootstrap_servers=address, linger_ms=linger_ms, max_batch_size=BATCH_BYTES, acks="all")
    await producer.start()
    latencies = []
    try:
        send = producer.send
        value, key, headers, callback = SHAPE["value"], SHAPE["key"], SHAPE["headers"], SHAPE["callback"]
        if latency:
            for due in due_times(count):
                if due:
                    await asyncio.sleep(due - time.perf_counter())
                started = due or time.perf_counter()
                await (await send(topic, value, key=key, headers=headers))
                latencies.append((time.perf_counter() - started) * 1000)
        else:
            for _ in range(count):
                future = await send(topic, value, key=key, headers=headers)
                if callback is not None:
                    future.add_done_callback(callback)
            await producer.flush()
    finally:
        await producer.stop()
    return latencies


async def confluent(address: str, topic: str, count: int, latency: bool) -> list[float]:
    from confluent_kafka import Producer

    linger_ms = 0 if latency else LINGER_MS
    settings = {"bootstrap.servers": address, "linger.ms": linger_ms, "batch.size": BATCH_BYTES}
    producer = Producer(settings | {"acks": "all"})
    produce, poll = producer.produce, producer.poll
    more = {"key": SHAPE["key"], "headers": SHAPE["headers"] or None}
    if SHAPE["callback"] is not None:
        more["on_delivery"] = SHAPE["callback"]
    latencies = []
    for due in due_times(count):
        while time.perf_counter() < due:
            poll(max(0.0, due - time.perf_counter()))  # a negative time would be for ever
        started = due or time.perf_counter()
        while True:
            try:
                produce(topic, SHAPE["value"], **more)
                break
            except BufferError:
                poll(0.01)
        if latency:
            producer.flush()
            latencies.append((time.perf_counter() - started) * 1000)
        poll(0)
    producer.flush()
    return latencies


PRODUCERS: dict[str, Write] = {"stepdown": stepdown, "aiokafka": aiokafka, "confluent": confluent}


async def measure(name: str, address: str, topic: str, count: int, latency: bool) -> dict[str, float]:
    """What one run took, after a warm-up."""
    write = PRODUCERS[name]
    await write(address, topic, min(count, WARM_UP_RECORDS), latency)
    started, cpu = time.perf_counter(), time.process_time()
    latencies = sorted(await write(address, topic, count, latency))
    result = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu}
    if latencies:
        result |= {"p50_ms": latencies[len(latencies) // 2], "p99_ms": latencies[int(len(latencies) * 0.99)]}
    return result


def end_offsets(address: str, topic: str) -> int:
    """How many records the topic has ever got."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": address, "group.id": "none"})
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    ends = [consumer.get_watermark_offsets(TopicPartition(topic, index), timeout=10)[1] for index in partitions]
    consumer.close()
    return sum(ends)


def checked(name: str, asked: argparse.Namespace) -> dict[str, float]:
    """What one run took, all of whose records arrived."""
    before = end_offsets(asked.address, asked.topic)
    result = in_a_process(name, asked)
    arrived, sent = (
        end_offsets(asked.address, asked.topic) - before,
        asked.records + min(asked.records, WARM_UP_RECORDS),
    )
    if arrived != sent:
        raise SystemExit(f"{arrived} of {sent} records of {name} arrived")
    return result


def in_a_process(name: str, asked: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, __file__, asked.address, "--topic", asked.topic, "--records", str(asked.records)]
    command += ["--size", str(asked.size), "--shape", asked.shape, "--rate", str(asked.rate), "--only", name]
    command += ["--latency"] if asked.latency else []
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def run_java(asked: argparse.Namespace) -> dict[str, float]:
    """Kafka's own load tool; of one record first, for what the JVM's start takes."""
    start = _java_seconds(asked, 1)
    whole = _java_seconds(asked, asked.records)
    return {"seconds": whole[0] - start[0], "cpu_seconds": whole[1] - start[1]}


def _java_seconds(asked: argparse.Namespace, records: int) -> tuple[float, float]:
    jars = user_store().class_path(JAVA_TOOLS, "org.slf4j:slf4j-nop:1.7.36")
    arguments = ["--topic", asked.topic, "--num-records", str(records), "--record-size", str(asked.size)]
    arguments += ["--throughput", "-1", "--producer-props", f"bootstrap.servers={asked.address}", "acks=all"]
    arguments += [f"batch.size={BATCH_BYTES}", f"linger.ms={LINGER_MS}", "enable.idempotence=false"]
    before, started = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(java(jars, JAVA_MAIN, *arguments, heap="512m"), capture_output=True, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, cpu


def report(found: dict[str, list[dict[str, float]]], records: int) -> None:
    """Prints a line a producer, and our figures as multiples of each peer's, by medians of the rounds."""
    middle = {name: {key: median(run[key] for run in runs) for key in runs[0]} for name, runs in found.items()}
    for name, taken in middle.items():
        text = f"{name:10} {records / taken['seconds']:10,.0f} records/s"
        text += f" {records / taken['cpu_seconds']:10,.0f} records per CPU second"
        if "p99_ms" in taken:
            text += f"  p50 {taken['p50_ms']:.2f} ms  p99 {taken['p99_ms']:.2f} ms"
        print(text)
    ours = middle["stepdown"]
    for name, theirs in middle.items():
        if name != "stepdown":
            text = f"per CPU second: {theirs['cpu_seconds'] / ours['cpu_seconds']:.2f} times {name}"
            if "p99_ms" in theirs:
                text += f"; p99: {ours['p99_ms'] / theirs['p99_ms']:.2f} times {name}'s"
            print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--topic", default="producer-speed")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", action="store_true")
    parser.add_argument("--rate", type=int, default=0, help="with --latency: records a second, 0 for as they go")
    parser.add_argument("--size", type=int, default=1000, help="bytes of a value")
    parser.add_argument("--shape", choices=["bare", "key-header", "callback"], default="bare")
    parser.add_argument("--java", action="store_true")
    parser.add_argument("--only", choices=PRODUCERS, help="one producer in this process; prints JSON")
    asked = parser.parse_args()
    SHAPE["rate"] = asked.rate
    SHAPE["value"] = (bytes(range(256)) * (asked.size // 256 + 1))[: asked.size]
    if asked.shape == "key-header":
        SHAPE.update(key=b"key-0123456789", headers=[("trace", b"0123456789abcdef")])
    elif asked.shape == "callback":
        SHAPE["callback"] = lambda *_: None
    if asked.only:
        print(json.dumps(asyncio.run(measure(asked.only, asked.address, asked.topic, asked.records, asked.latency))))
        return
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(asked.rounds):
        for name in PRODUCERS:
            found.setdefault(name, []).append(checked(name, asked))
        if asked.java and not asked.latency:
            found.setdefault("java", []).append(run_java(asked))
    print(f"medians of {asked.rounds} rounds of {asked.records:,} records; load average {os.getloadavg()[0]:.1f}")
    report(found, asked.records)


if __name__ == "__main__":
    main()
