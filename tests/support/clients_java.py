"""Kafka's own Java clients, each generation compiled against its own jars and driven through a JVM that stays up.

Payload of `Client.produce`: properties (int32 count, string pairs), int32 count, records; the answer is an int64
offset each. A record: topic, int32 partition, int64 timestamp, key, value, int32 headers (string, blob).
Payload of `Reader.consume`: properties, int32 count of (topic, int32 partition, int64 offset, int32 records). The
answer is records with an int64 offset after the partition.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .clients import LARGEST_FETCH, Message, Received, Span, timestamp_or_none
from .clients_raw import Reader, blob, string
from .deadline import DEADLINE_S
from .java_oracle import JavaOracle, java_oracle_for


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaClient:
    """A version of kafka-clients; `room` are the folders of its driver, `also` jars that it needs beside it."""

    name: str
    coordinates: str
    room: str
    fetch_versions: frozenset[int]
    read_magic: int
    write_magic: int
    codecs: tuple[str, ...]
    null_headers: bool = True
    also: tuple[str, ...] = ()

    @property
    def oracle(self) -> JavaOracle:
        """The JVM that runs it."""
        return java_oracle_for(self.room, self.coordinates, *self.also)

    def produce(
        self,
        address: str,
        client_id: str,
        topic: str,
        partition: int,
        messages: Sequence[Message],
        codec: str,
        **more: str,
    ) -> None:
        """Write the messages in order; `more` are settings with `_` for `.`, e.g. `enable_idempotence="false"`."""
        settings = {
            "bootstrap.servers": address,
            "client.id": client_id,
            "acks": "all",
            "compression.type": codec,
            "linger.ms": "5",
            "max.request.size": str(LARGEST_FETCH),
        } | {key.replace("_", "."): value for key, value in more.items()}
        records = b"".join(record(topic, partition, message) for message in messages)
        payload = properties(settings) + struct.pack(">i", len(messages)) + records
        self.oracle.call("Client.produce", payload, timeout_s=DEADLINE_S)

    def consume(
        self, address: str, client_id: str, spans: Sequence[Span], *, max_bytes: int = LARGEST_FETCH, **more: str
    ) -> list[Received]:
        """As `Client` says; `more` are settings as for `produce`."""
        settings = {
            "bootstrap.servers": address,
            "client.id": client_id,
            "group.id": client_id,
            "enable.auto.commit": "false",
            "auto.offset.reset": "none",
            "fetch.max.wait.ms": "50",
            "max.partition.fetch.bytes": str(max_bytes),
        } | {key.replace("_", "."): value for key, value in more.items()}
        wanted = b"".join(
            string(span.topic) + struct.pack(">iqi", span.partition, span.offset, span.count) for span in spans
        )
        payload = properties(settings) + struct.pack(">i", len(spans)) + wanted
        reader = Reader(self.oracle.call("Reader.consume", payload, timeout_s=DEADLINE_S))
        received = []
        while reader.at < len(reader.data):
            received.append(_received(reader))
        return received


def properties(settings: Mapping[str, str]) -> bytes:
    pairs = (string(key) + string(value) for key, value in settings.items())
    return struct.pack(">i", len(settings)) + b"".join(pairs)


def record(topic: str, partition: int, message: Message) -> bytes:
    timestamp = -1 if message.timestamp_ms is None else message.timestamp_ms
    headers = b"".join(string(key) + blob(value) for key, value in message.headers)
    return (
        string(topic)
        + struct.pack(">iq", partition, timestamp)
        + blob(message.key)
        + blob(message.value)
        + struct.pack(">i", len(message.headers))
        + headers
    )


def _received(reader: Reader) -> Received:
    topic, partition, offset = reader.string() or "", reader.take("i"), reader.take("q")
    timestamp = reader.take("q")
    key, value = reader.blob(), reader.blob()
    headers = tuple((reader.string() or "", reader.blob()) for _ in range(reader.take("i")))
    message = Message(key=key, value=value, headers=headers, timestamp_ms=timestamp_or_none(timestamp))
    return Received(topic=topic, partition=partition, offset=offset, message=message)


MODERN = "client+client_consumer+client_3_9"
ALL_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
OLD_CODECS = ALL_CODECS[:-1]
NEWEST_FETCHES = (15, 17, 18)
"""What a gateway with one address offers, Kafka 3.9 and Kafka 4.4."""


def _client(name: str, room: str, fetch_version: int, magic: int, codecs: tuple[str, ...]) -> JavaClient:
    """Return a version of kafka-clients of which this is the newest Fetch version."""
    return JavaClient(
        name=f"java-{name}",
        coordinates=f"org.apache.kafka:kafka-clients:{name}",
        room=room,
        fetch_versions=frozenset(min(fetch_version, offered) for offered in NEWEST_FETCHES),
        read_magic=magic,
        write_magic=magic,
        codecs=codecs,
    )


JAVA_3_9 = _client("3.9.1", MODERN, 17, 2, ALL_CODECS)
JAVA_0_10_2 = _client("0.10.2.2", "client+client_consumer+client_0_10", 3, 1, OLD_CODECS)
SCALA_0_8_2 = JavaClient(
    name="scala-0.8.2.2",
    coordinates="org.apache.kafka:kafka_2.11:0.8.2.2",
    room="client+client_0_8",
    fetch_versions=frozenset({0}),
    read_magic=0,
    write_magic=0,
    codecs=OLD_CODECS,
)
# What applications of each generation still run; the first and the last of those that interop drives fully are above.
OTHER_GENERATIONS = (
    SCALA_0_8_2,
    _client("0.9.0.1", "client+client_consumer+client_0_9", 1, 0, OLD_CODECS),
    _client("0.10.0.1", "client+client_consumer+client_0_10", 2, 1, OLD_CODECS),
    _client("0.10.1.1", "client+client_consumer+client_0_10", 3, 1, OLD_CODECS),
    _client("1.1.1", "client+client_consumer+client_1_1", 7, 2, OLD_CODECS),
    _client("2.8.2", MODERN, 12, 2, ALL_CODECS),
    _client("4.4.0", MODERN, 18, 2, ALL_CODECS),
)
# Beside those, to learn whether they work at all.
MORE_GENERATIONS = (
    _client("0.11.0.3", "client+client_consumer+client_1_1", 5, 2, OLD_CODECS),
    _client("1.0.2", "client+client_consumer+client_1_1", 6, 2, OLD_CODECS),
    _client("2.0.1", MODERN, 8, 2, OLD_CODECS),
    _client("2.4.1", MODERN, 11, 2, ALL_CODECS),
    _client("3.0.2", MODERN, 12, 2, ALL_CODECS),
    _client("3.6.2", MODERN, 15, 2, ALL_CODECS),
    _client("4.0.0", MODERN, 17, 2, ALL_CODECS),
)
