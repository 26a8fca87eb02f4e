"""An honest producer and an honest consumer: `python -m support.hostile.honest KIND ADDRESS SECONDS`, run in tests/.

Each has one connection. The producer keeps ten batches on their way, acks=1 (librdkafka sets no limit to them); the
consumer reads the topic from its end of now. After so many seconds a line says how many records that were a second.
"""

import sys
from collections.abc import Callable
from time import monotonic

from stepdown.bench.servers.admin_connection import Connection, frame_of
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import decode_response
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record

from .client import begun, connected, received

TOPIC = "honest"
IN_FLIGHT = 10
RECORDS_A_BATCH = 100
PRODUCE_VERSION, FETCH_VERSION = 7, 11


def produce(address: str, seconds: float, topic: str = TOPIC, ready: Callable[[], None] = begun) -> float:
    """Records a second that were acknowledged. `ready` is called once the first are on their way."""
    records = [
        Record(offset=number, timestamp=1, key=None, value=bytes(150), headers=()) for number in range(RECORDS_A_BATCH)
    ]
    data = PartitionProduceData(index=0, records=build_batch(records, magic=2))
    sent = TopicProduceData(name=topic, partition_data=(data,))
    request = frame_of(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=(sent,)), PRODUCE_VERSION)
    with connected(address) as sock:
        sock.sendall(request * IN_FLIGHT)
        ready()
        began, answers = monotonic(), 0
        while (took_s := monotonic() - began) < seconds:
            answer = memoryview(received(sock, int.from_bytes(received(sock, 4), "big")))
            _, response = decode_response(API[ApiKey.PRODUCE], PRODUCE_VERSION, answer)
            assert response.responses[0].partition_responses[0].error_code == 0
            answers += 1
            sock.sendall(request)
    return answers * RECORDS_A_BATCH / took_s


def consume(address: str, seconds: float) -> float:
    """Records a second that were read."""
    with Connection(address) as connection:
        asked = ListOffsetsTopic(name=TOPIC, partitions=(ListOffsetsPartition(partition_index=0, timestamp=-1),))
        end = connection.call(ListOffsetsRequest(replica_id=-1, topics=(asked,)), 2).topics[0].partitions[0].offset
        begun()
        began, first = monotonic(), end
        while (took_s := monotonic() - began) < seconds:
            partition = FetchPartition(partition=0, fetch_offset=end, partition_max_bytes=1 << 20)
            request = FetchRequest(
                replica_id=-1, max_wait_ms=500, min_bytes=1, topics=(FetchTopic(topic=TOPIC, partitions=(partition,)),)
            )
            answer = connection.call(request, FETCH_VERSION).responses[0].partitions[0]
            assert answer.error_code == 0, f"error {answer.error_code} at offset {end}"
            for batch in iter_batches(memoryview(answer.records or b"")):
                end = batch.last_offset + 1
    return (end - first) / took_s


if __name__ == "__main__":
    print({"produce": produce, "consume": consume}[sys.argv[1]](sys.argv[2], float(sys.argv[3])))
