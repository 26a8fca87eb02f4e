"""Measures encoding and decoding of protocol messages, and whether the special way of building frozen values pays.

Prints microseconds per message and the ratio to kio, made from Kafka's message definitions too and with a
compiled reader, on the same bytes in the same run; then one value built our way against a plain frozen dataclass.

    python bench/questions/message_encoding.py
"""

import dataclasses
import timeit
from collections.abc import Callable
from io import BytesIO
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from stepdown.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from stepdown.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from stepdown.protocol.schema import decode, encode

RECORDS = bytes(1000)


def produce_request(count: int) -> ProduceRequest:
    data = tuple(PartitionProduceData(index=index, records=RECORDS) for index in range(count))
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(TopicProduceData(name="topic", partition_data=data),))


def produce_response(count: int) -> ProduceResponse:
    results = tuple(PartitionProduceResponse(index=index, base_offset=7) for index in range(count))
    return ProduceResponse(responses=(TopicProduceResponse(name="topic", partition_responses=results),))


def fetch_request(count: int) -> FetchRequest:
    asked = tuple(
        FetchPartition(partition=index, fetch_offset=7, partition_max_bytes=1 << 20) for index in range(count)
    )
    return FetchRequest(max_wait_ms=500, min_bytes=1, topics=(FetchTopic(topic="topic", partitions=asked),))


def fetch_response(count: int) -> FetchResponse:
    found = tuple(PartitionData(partition_index=index, high_watermark=9, records=RECORDS) for index in range(count))
    return FetchResponse(responses=(FetchableTopicResponse(topic="topic", partitions=found),))


CASES = (
    (produce_request, 0, load_request_schema, (3, 9)),
    (produce_response, 0, load_response_schema, (3, 9)),
    (fetch_request, 1, load_request_schema, (4, 12)),
    (fetch_response, 1, load_response_schema, (4, 12)),
)


def main() -> None:
    print(f"{'message':36}{'read':>10}{'vs kio':>10}{'write':>10}{'vs kio':>10}")
    for make, key, load, versions in CASES:
        for version in versions:
            for count in (1, 100):
                compare_codecs(
                    f"{make.__name__} v{version}, {count} partitions", make(count), version, load(key, version)
                )
    compare_values()


def compare_codecs(title: str, value: Any, version: int, theirs: Any) -> None:
    wire = b"".join(encode(value, version))  # type: ignore[arg-type]
    frame, cls = memoryview(wire), type(value)
    read_theirs, write_theirs = entity_reader(theirs), entity_writer(theirs)
    parsed, _ = read_theirs(wire, 0)
    read = microseconds(lambda: decode(cls, version, frame))
    write = microseconds(lambda: encode(value, version))
    kio_read = microseconds(lambda: read_theirs(wire, 0))
    kio_write = microseconds(lambda: write_theirs(BytesIO(), parsed))
    print(f"{title:36}{read:8.1f}us{kio_read / read:9.1f}x{write:8.1f}us{kio_write / write:9.1f}x")


def compare_values() -> None:
    plain = dataclasses.make_dataclass(
        "Plain",
        [(field.name, Any, field.default) for field in dataclasses.fields(PartitionData)],
        frozen=True,
        slots=True,
        kw_only=True,
    )
    ours = microseconds(lambda: PartitionData(partition_index=1, high_watermark=9))
    theirs = microseconds(lambda: plain(partition_index=1, high_watermark=9))
    print(f"one PartitionData: {ours:.2f} us; as a plain frozen dataclass {theirs / ours:.1f}x")


def microseconds(work: Callable[[], Any]) -> float:
    """The best of five runs of some 20 ms."""
    number = max(1, int(0.02 / max(timeit.timeit(work, number=3) / 3, 1e-7)))
    return min(timeit.repeat(work, number=number, repeat=5)) / number * 1e6


if __name__ == "__main__":
    main()
