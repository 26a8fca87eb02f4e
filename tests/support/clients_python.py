"""kafka-python, aiokafka and confluent-kafka (librdkafka), as they are and pinned to old brokers' versions."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiokafka
import confluent_kafka
import kafka

from .clients import LARGEST_FETCH, Collected, Message, Received, Span, timestamp_or_none
from .deadline import DEADLINE_S

POLL_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaPython:
    """kafka-python 3, with `api_version` pinned or negotiated."""

    name: str
    fetch_versions: frozenset[int]
    read_magic: int
    write_magic: int
    codecs: tuple[str, ...]
    api_version: tuple[int, ...] | None = None
    null_headers: bool = False

    def produce(
        self, address: str, client_id: str, topic: str, partition: int, messages: Sequence[Message], codec: str
    ) -> None:
        producer = kafka.KafkaProducer(
            bootstrap_servers=address,
            client_id=client_id,
            api_version=self.api_version,
            acks="all",
            enable_idempotence=False,
            compression_type=None if codec == "none" else codec,
            max_request_size=LARGEST_FETCH,
            linger_ms=5,
        )
        try:
            sent = [
                producer.send(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=partition,
                    timestamp_ms=message.timestamp_ms,
                )
                for message in messages
            ]
            producer.flush(DEADLINE_S)
            for future in sent:
                future.get(DEADLINE_S)
        finally:
            producer.close(DEADLINE_S)

    def consume(
        self, address: str, client_id: str, spans: Sequence[Span], *, max_bytes: int = LARGEST_FETCH
    ) -> list[Received]:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=address,
            client_id=client_id,
            api_version=self.api_version,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=50,
            max_partition_fetch_bytes=max_bytes,
        )
        try:
            consumer.assign([kafka.TopicPartition(span.topic, span.partition) for span in spans])
            for span in spans:
                consumer.seek(kafka.TopicPartition(span.topic, span.partition), span.offset)
            return self._collect(consumer, spans)
        finally:
            consumer.close()

    def _collect(self, consumer: Any, spans: Sequence[Span]) -> list[Received]:
        collected = Collected(spans)
        end = time.monotonic() + DEADLINE_S
        while not collected.complete:
            if time.monotonic() > end:
                raise TimeoutError(f"{self.name}: missing {collected.missing}")
            for records in consumer.poll(timeout_ms=int(POLL_S * 1000)).values():
                for record in records:
                    collected.add(_received(record))
        return collected.records


@dataclass(frozen=True, slots=True, kw_only=True)
class AioKafka:
    """aiokafka, which negotiates versions."""

    name: str
    fetch_versions: frozenset[int]
    read_magic: int = 2
    write_magic: int = 2
    codecs: tuple[str, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
    null_headers: bool = True

    def produce(
        self, address: str, client_id: str, topic: str, partition: int, messages: Sequence[Message], codec: str
    ) -> None:
        asyncio.run(self._produce(address, client_id, topic, partition, messages, codec))

    async def _produce(
        self, address: str, client_id: str, topic: str, partition: int, messages: Sequence[Message], codec: str
    ) -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=address,
            client_id=client_id,
            acks="all",
            compression_type=None if codec == "none" else codec,
            max_request_size=LARGEST_FETCH,
        )
        async with producer:
            sent = [
                await producer.send(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=partition,
                    timestamp_ms=message.timestamp_ms,
                )
                for message in messages
            ]
            await asyncio.gather(*sent)

    def consume(
        self, address: str, client_id: str, spans: Sequence[Span], *, max_bytes: int = LARGEST_FETCH
    ) -> list[Received]:
        return asyncio.run(self._consume(address, client_id, spans, max_bytes))

    async def _consume(self, address: str, client_id: str, spans: Sequence[Span], max_bytes: int) -> list[Received]:
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=address,
            client_id=client_id,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=50,
            max_partition_fetch_bytes=max_bytes,
        )
        collected = Collected(spans)
        async with consumer, asyncio.timeout(DEADLINE_S):
            consumer.assign([aiokafka.TopicPartition(span.topic, span.partition) for span in spans])
            for span in spans:
                consumer.seek(aiokafka.TopicPartition(span.topic, span.partition), span.offset)
            while not collected.complete:
                for records in (await consumer.getmany(timeout_ms=int(POLL_S * 1000))).values():
                    for record in records:
                        collected.add(_received(record))
        return collected.records


@dataclass(frozen=True, slots=True, kw_only=True)
class Confluent:
    """confluent-kafka over librdkafka, with `broker.version.fallback` or negotiated."""

    name: str
    fetch_versions: frozenset[int]
    read_magic: int
    write_magic: int
    codecs: tuple[str, ...]
    fallback: str | None = None
    null_headers: bool = True

    def _settings(self, address: str, client_id: str) -> dict[str, Any]:
        settings: dict[str, Any] = {"bootstrap.servers": address, "client.id": client_id}
        if self.fallback is not None:
            settings |= {"api.version.request": "false", "broker.version.fallback": self.fallback, "log_level": 3}
        return settings

    def produce(
        self, address: str, client_id: str, topic: str, partition: int, messages: Sequence[Message], codec: str
    ) -> None:
        settings = {"acks": "all", "compression.type": codec, "message.max.bytes": LARGEST_FETCH, "linger.ms": 5}
        producer = confluent_kafka.Producer(self._settings(address, client_id) | settings)
        failed: list[object] = []
        for message in messages:
            producer.produce(
                topic,
                value=message.value,
                key=message.key,
                headers=list(message.headers) or None,
                partition=partition,
                timestamp=message.timestamp_ms or 0,
                on_delivery=lambda error, _: failed.append(error) if error is not None else None,
            )
        assert producer.flush(DEADLINE_S) == 0, "not all delivered"
        assert not failed, failed[:3]

    def consume(
        self, address: str, client_id: str, spans: Sequence[Span], *, max_bytes: int = LARGEST_FETCH
    ) -> list[Received]:
        settings = {
            "group.id": client_id,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 50,
            "fetch.message.max.bytes": max_bytes,
        }
        consumer = confluent_kafka.Consumer(self._settings(address, client_id) | settings)
        collected = Collected(spans)
        end = time.monotonic() + DEADLINE_S
        try:
            consumer.assign([confluent_kafka.TopicPartition(s.topic, s.partition, s.offset) for s in spans])
            while not collected.complete:
                if time.monotonic() > end:
                    raise TimeoutError(f"{self.name}: missing {collected.missing}")
                for message in consumer.consume(num_messages=500, timeout=POLL_S):
                    if message.error() is not None:
                        raise confluent_kafka.KafkaException(message.error())
                    collected.add(_from_librdkafka(message))
        finally:
            consumer.close()
        return collected.records


def _received(record: Any) -> Received:
    """Return a record of kafka-python or aiokafka, which look alike."""
    return Received(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        message=Message(
            key=record.key,
            value=record.value,
            headers=tuple((key, value) for key, value in record.headers or ()),
            timestamp_ms=timestamp_or_none(record.timestamp),
        ),
    )


def _from_librdkafka(message: Any) -> Received:
    kind, timestamp_ms = message.timestamp()
    return Received(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        message=Message(
            key=message.key(),
            value=message.value(),
            headers=tuple(message.headers() or ()),
            timestamp_ms=None if kind == confluent_kafka.TIMESTAMP_NOT_AVAILABLE else timestamp_or_none(timestamp_ms),
        ),
    )


ALL_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
OLD_CODECS = ALL_CODECS[:-1]
MODERN_FETCHES = frozenset(range(4, 18))

AIOKAFKA = AioKafka(name="aiokafka", fetch_versions=MODERN_FETCHES)
KAFKA_PYTHON = KafkaPython(
    name="kafka-python", fetch_versions=MODERN_FETCHES, read_magic=2, write_magic=2, codecs=ALL_CODECS
)
CONFLUENT = Confluent(name="confluent", fetch_versions=MODERN_FETCHES, read_magic=2, write_magic=2, codecs=ALL_CODECS)

PYTHON_CLIENTS = (
    KAFKA_PYTHON,
    KafkaPython(
        name="kafka-python-at-0.8.2",
        api_version=(0, 8, 2),
        fetch_versions=frozenset({0}),
        read_magic=0,
        write_magic=0,
        codecs=OLD_CODECS,
    ),
    KafkaPython(
        name="kafka-python-at-0.9",
        api_version=(0, 9),
        fetch_versions=frozenset({1}),
        read_magic=0,
        write_magic=0,
        codecs=OLD_CODECS,
    ),
    KafkaPython(
        name="kafka-python-at-0.10.1",
        api_version=(0, 10, 1),
        fetch_versions=frozenset({3}),
        read_magic=1,
        write_magic=1,
        codecs=OLD_CODECS,
    ),
    AIOKAFKA,
    CONFLUENT,
    Confluent(
        name="confluent-at-0.9",
        fallback="0.9.0.1",
        fetch_versions=frozenset({1}),
        read_magic=0,
        write_magic=0,
        codecs=OLD_CODECS,
    ),
)
