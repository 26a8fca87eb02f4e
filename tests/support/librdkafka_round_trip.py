"""confluent-kafka writes a record and reads it back: `python librdkafka_round_trip.py TOPIC VALUE SETTINGS` (JSON)."""

import json
import sys
from typing import Any

import confluent_kafka

DEADLINE_S = 120.0


def round_trip(topic: str, value: bytes, settings: dict[str, Any]) -> None:
    """Raises AssertionError when something else is read."""
    producer = confluent_kafka.Producer(settings)
    producer.produce(topic, value)
    assert producer.flush(DEADLINE_S) == 0
    consumer = confluent_kafka.Consumer(settings | {"group.id": "g", "auto.offset.reset": "earliest"})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    message = consumer.poll(DEADLINE_S)
    assert message is not None and message.error() is None
    consumer.close()
    assert message.value() == value


if __name__ == "__main__":
    round_trip(sys.argv[1], sys.argv[2].encode(), json.loads(sys.argv[3]))
