"""kafka-python writes a record and reads it back; run by itself, an old one that is on the path does.

python kafka_python_round_trip.py TOPIC VALUE SETTINGS      settings of its constructors, as JSON
"""

import json
import sys

import kafka

DEADLINE_S = 120.0


def round_trip(topic: str, value: bytes, settings: dict[str, object]) -> None:
    """Raises AssertionError when something else is read."""
    producer = kafka.KafkaProducer(**settings)
    producer.send(topic, value, partition=0).get(DEADLINE_S)
    producer.close()
    consumer = kafka.KafkaConsumer(
        topic, auto_offset_reset="earliest", consumer_timeout_ms=int(DEADLINE_S * 1000), **settings
    )
    read = next(consumer).value
    consumer.close()
    assert read == value, f"read {len(read)} bytes that were not written"


def read_settings(text: str) -> dict[str, object]:
    """JSON has no tuples, which `api_version` has to be."""
    settings: dict[str, object] = json.loads(text)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


if __name__ == "__main__":
    round_trip(sys.argv[1], sys.argv[2].encode(), read_settings(sys.argv[3]))
