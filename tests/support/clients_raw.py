"""A client of a few lines that writes Kafka's wire format by hand, so that a test owes nothing to stepdown's codecs.

It speaks the old, fixed layouts only (never flexible versions): ApiVersions v0, Metadata v1, CreateTopics v0, Produce
v0-v3, Fetch v0-v4, ListOffsets v0-v1, IncrementalAlterConfigs v0. `Raw.exchange` sends any bytes.
"""

import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .deadline import DEADLINE_S

API_INCREMENTAL_ALTER_CONFIGS = 44
API_PRODUCE, API_FETCH, API_LIST_OFFSETS, API_METADATA, API_VERSIONS, API_CREATE_TOPICS = 0, 1, 2, 3, 18, 19
POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchAsk:
    """One partition of a fetch request; `max_bytes` is its own limit."""

    topic: str
    partition: int = 0
    offset: int = 0
    max_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchAnswer:
    """One partition of a fetch response; `records` is None where the length on the wire was -1.

    `last_stable_offset` and `aborted`, pairs of (producer id, first offset), are answered from v4 on.
    """

    topic: str
    partition: int
    error: int
    high_watermark: int
    records: bytes | None
    last_stable_offset: int = -1
    aborted: tuple[tuple[int, int], ...] | None = None


@dataclass(slots=True)
class Reader:
    """Reads big-endian fields from the front of `data`."""

    data: bytes
    at: int = field(default=0)

    def take(self, layout: str) -> int:
        (value,) = struct.unpack_from(">" + layout, self.data, self.at)
        self.at += struct.calcsize(">" + layout)
        assert isinstance(value, int)
        return value

    def raw(self, size: int) -> bytes:
        value = self.data[self.at : self.at + size]
        assert len(value) == size, f"{size} bytes asked, {len(value)} left"
        self.at += size
        return value

    def string(self) -> str | None:
        size = self.take("h")
        return None if size < 0 else self.raw(size).decode()

    def blob(self) -> bytes | None:
        size = self.take("i")
        return None if size < 0 else self.raw(size)


def wait_until(condition: Callable[[], object], what: str, *, timeout_s: float = DEADLINE_S) -> None:
    """Return when `condition()` is true, asking again every 50 ms.

    Raises:
        AssertionError: it did not become true in time.
    """
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"not within {timeout_s} s: {what}"
        time.sleep(POLL_S)


def create_topic(address: str, name: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
    """Create a topic and return when each partition has a leader that answers."""
    with Raw(address) as client:
        error = client.create_topic(name, partitions=partitions, configs=configs)
        assert error == 0, f"CreateTopics {name}: error {error}"
        wait_until(lambda: client.partitions_answer(name, partitions), f"{name} has leaders")


def string(value: str | None) -> bytes:
    if value is None:
        return struct.pack(">h", -1)
    text = value.encode()
    return struct.pack(">h", len(text)) + text


def blob(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


def request(api_key: int, api_version: int, body: bytes, *, correlation_id: int = 1, client_id: str = "raw") -> bytes:
    """Return a framed request with header v1."""
    head = struct.pack(">hhi", api_key, api_version, correlation_id) + string(client_id)
    return struct.pack(">i", len(head) + len(body)) + head + body


def fetch_request(
    version: int,
    asks: Sequence[FetchAsk],
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 0x7FFFFFFF,
    isolation: int = 0,
    client_id: str = "raw",
) -> bytes:
    """Return a framed Fetch request, v0 to v4; neighbours of one topic are grouped, their order is kept."""
    body = struct.pack(">iii", -1, max_wait_ms, min_bytes)
    if version >= 3:
        body += struct.pack(">i", max_bytes)
    if version >= 4:
        body += struct.pack(">b", isolation)
    groups: list[list[FetchAsk]] = []
    for ask in asks:
        if groups and groups[-1][0].topic == ask.topic:
            groups[-1].append(ask)
        else:
            groups.append([ask])
    body += struct.pack(">i", len(groups))
    for group in groups:
        body += string(group[0].topic) + struct.pack(">i", len(group))
        body += b"".join(struct.pack(">iqi", ask.partition, ask.offset, ask.max_bytes) for ask in group)
    return request(API_FETCH, version, body, client_id=client_id)


def read_fetch_response(version: int, body: bytes) -> list[FetchAnswer]:
    """Return the partitions of a fetch response body (after the correlation id), v0 to v4."""
    reader = Reader(body)
    if version >= 1:
        reader.take("i")
    answers = []
    for _ in range(reader.take("i")):
        topic = reader.string() or ""
        for _ in range(reader.take("i")):
            partition, error, high_watermark = reader.take("i"), reader.take("h"), reader.take("q")
            last_stable_offset, aborted = _transactions(reader) if version >= 4 else (-1, None)
            answers.append(
                FetchAnswer(
                    topic=topic,
                    partition=partition,
                    error=error,
                    high_watermark=high_watermark,
                    records=reader.blob(),
                    last_stable_offset=last_stable_offset,
                    aborted=aborted,
                )
            )
    assert reader.at == len(body), "bytes after the response"
    return answers


def _transactions(reader: Reader) -> tuple[int, tuple[tuple[int, int], ...] | None]:
    last_stable_offset, count = reader.take("q"), reader.take("i")
    if count < 0:
        return last_stable_offset, None
    return last_stable_offset, tuple((reader.take("q"), reader.take("q")) for _ in range(count))


class Raw:
    """One blocking connection."""

    def __init__(self, address: str, *, timeout_s: float = DEADLINE_S) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=timeout_s)

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def send(self, frame: bytes) -> None:
        self._socket.sendall(frame)

    def receive(self) -> bytes:
        """Return the next response without its size.

        Raises:
            EOFError: the broker closed the connection.
        """
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def exchange(self, frame: bytes) -> bytes:
        """Return the response body, after the correlation id, which has to be the request's."""
        self.send(frame)
        answer = self.receive()
        assert answer[:4] == frame[8:12], "the answer belongs to another request"
        return answer[4:]

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(min(size - len(data), 1 << 20))
            if not part:
                raise EOFError(f"connection closed after {len(data)} of {size} bytes")
            data += part
        return bytes(data)

    def api_versions(self) -> dict[int, tuple[int, int]]:
        """Return {api key: (min version, max version)} as ApiVersions v0 tells."""
        reader = Reader(self.exchange(request(API_VERSIONS, 0, b"")))
        assert reader.take("h") == 0
        return {reader.take("h"): (reader.take("h"), reader.take("h")) for _ in range(reader.take("i"))}

    def brokers(self) -> list[str]:
        """Return the host:port of the live brokers (Metadata v1, no topics)."""
        reader = Reader(self.exchange(request(API_METADATA, 1, struct.pack(">i", 0))))
        found = []
        for _ in range(reader.take("i")):
            reader.take("i")
            host, port = reader.string(), reader.take("i")
            reader.string()
            found.append(f"{host}:{port}")
        return found

    def create_topic(self, name: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> int:
        """Return the error code of creating a topic with one replica (CreateTopics v0)."""
        pairs = (configs or {}).items()
        body = struct.pack(">i", 1) + string(name) + struct.pack(">ihii", partitions, 1, 0, len(pairs))
        body += b"".join(string(key) + string(value) for key, value in pairs) + struct.pack(">i", 10_000)
        reader = Reader(self.exchange(request(API_CREATE_TOPICS, 0, body)))
        assert reader.take("i") == 1
        reader.string()
        return reader.take("h")

    def partitions_answer(self, topic: str, partitions: int) -> bool:
        """True when each partition has a leader here that answers ListOffsets."""
        return all(self.list_offsets(topic, partition)[0] == 0 for partition in range(partitions))

    def fetch(self, version: int, asks: Sequence[FetchAsk], **options: int) -> list[FetchAnswer]:
        """Return the answer to a Fetch of v0 to v4; `options` as `fetch_request` takes them."""
        return read_fetch_response(version, self.exchange(fetch_request(version, asks, **options)))  # type: ignore[arg-type]

    def set_topic_config(self, topic: str, configs: dict[str, str]) -> int:
        """Return the error code of setting these configs of a topic (IncrementalAlterConfigs v0)."""
        body = struct.pack(">ib", 1, 2) + string(topic) + struct.pack(">i", len(configs))
        body += b"".join(string(key) + b"\0" + string(value) for key, value in configs.items()) + b"\0"
        reader = Reader(self.exchange(request(API_INCREMENTAL_ALTER_CONFIGS, 0, body)))
        reader.take("i")
        assert reader.take("i") == 1
        return reader.take("h")

    def segment_offsets(self, topic: str, partition: int = 0, *, timestamp: int = -1, most: int = 100) -> list[int]:
        """Return the offsets that ListOffsets v0 finds before a timestamp (-1 latest, -2 earliest), newest first."""
        body = struct.pack(">ii", -1, 1) + string(topic) + struct.pack(">iiqi", 1, partition, timestamp, most)
        reader = Reader(self.exchange(request(API_LIST_OFFSETS, 0, body)))
        reader.take("i"), reader.string(), reader.take("i"), reader.take("i")
        assert reader.take("h") == 0
        return [reader.take("q") for _ in range(reader.take("i"))]

    def produce(
        self, version: int, topic: str, records: bytes, *, partition: int = 0, acks: int = -1
    ) -> tuple[int, int]:
        """Return (error code, base offset) of a Produce of v0 to v3 with one partition."""
        body = string(None) if version >= 3 else b""
        body += struct.pack(">hii", acks, 30_000, 1) + string(topic) + struct.pack(">ii", 1, partition) + blob(records)
        reader = Reader(self.exchange(request(API_PRODUCE, version, body)))
        assert reader.take("i") == 1
        reader.string()
        assert (reader.take("i"), reader.take("i")) == (1, partition)
        return reader.take("h"), reader.take("q")

    def end_offset(self, topic: str, partition: int = 0, *, timestamp: int = -1) -> int:
        """Return the end offset (-1), the start offset (-2) or the offset for a timestamp (ListOffsets v1)."""
        error, offset = self.list_offsets(topic, partition, timestamp=timestamp)
        assert error == 0, f"ListOffsets of {topic}-{partition}: error {error}"
        return offset

    def list_offsets(self, topic: str, partition: int = 0, *, timestamp: int = -1) -> tuple[int, int]:
        """Return (error code, offset) as `end_offset` means it."""
        body = struct.pack(">ii", -1, 1) + string(topic) + struct.pack(">iiq", 1, partition, timestamp)
        reader = Reader(self.exchange(request(API_LIST_OFFSETS, 1, body)))
        reader.take("i"), reader.string(), reader.take("i"), reader.take("i")
        error = reader.take("h")
        reader.take("q")
        return error, reader.take("q")
