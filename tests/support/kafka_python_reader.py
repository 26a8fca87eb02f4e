"""Run by itself, with an old kafka-python on the path: a member of a group reads, commits and leaves.

    python kafka_python_reader.py ADDRESS GROUP TOPIC COUNT SECONDS

Prints [[partition, offset], ...] as JSON.
"""

import json
import sys
import time

import kafka

POLL_MS = 200


def main(address: str, group: str, topic: str, count: int, seconds: float) -> None:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=address,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        fetch_max_wait_ms=50,
    )
    consumer.subscribe([topic])
    found: list[tuple[int, int]] = []
    end = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < end:
        for records in consumer.poll(timeout_ms=POLL_MS, max_records=count - len(found)).values():
            found += [(record.partition, record.offset) for record in records]
    following = {partition: offset + 1 for partition, offset in sorted(found)}
    consumer.commit(
        {
            kafka.TopicPartition(topic, partition): kafka.OffsetAndMetadata(offset, "")
            for partition, offset in following.items()
        }
    )
    consumer.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
